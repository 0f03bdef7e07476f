"""Reducer: requests of MCP servers during a call."""

from __future__ import annotations

from dataclasses import replace

from atelier_desk.domain.events.run import InputRequired, InputSent, QuestionAnswered, RunEvent, SampledForServer
from atelier_desk.domain.question import ACCEPT, QuestionStatus, UserQuestion
from atelier_desk.engine.run.reducer.handler_registry import evolve, on, with_call
from atelier_desk.engine.run.reducer.state import CallInput, CallState, RunState


@on(InputRequired)
def _input_required(state: RunState, body: InputRequired, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    if call is None:
        return state
    return with_call(
        state, _waiting(call, CallInput(body.server, body.state, body.round, body.answers, body.keys, note=body.note))
    )


@on(InputSent)
def _input_sent(state: RunState, body: InputSent, event: RunEvent) -> RunState:
    call = state.call(body.call_id)
    return (
        with_call(state, replace(call, status="started", started_at=event.time, cut_off=False))
        if call is not None
        else state
    )


@on(SampledForServer)
def _sampled(state: RunState, body: SampledForServer, event: RunEvent) -> RunState:
    state = evolve(state, usage=state.usage + body.usage)
    call = state.call(body.call_id)
    if call is None or call.input is None or body.key not in call.input.samplings:
        return state
    left = {key: sampling for key, sampling in call.input.samplings.items() if key != body.key}
    answers = {**call.input.answers, body.key: body.answer}
    return with_call(state, replace(call, input=replace(call.input, answers=answers, samplings=left)))


def answered(state: RunState, asked: UserQuestion, body: QuestionAnswered) -> RunState:
    """Store a person's answer to a server's request until the call is repeated."""
    call, asker = state.call(asked.call_id), asked.spec.asker
    if call is None or call.input is None or asker is None or asker.live or asker.key not in call.input.open:
        return state
    given = asked.model_copy(
        update={"status": body.status, "selected_options": body.selected_options, "text_response": body.text_response}
    )
    remaining = replace(call.input, open=tuple(key for key in call.input.open if key != asker.key))
    if asked.spec.sampling is None:
        remaining = replace(remaining, answers={**remaining.answers, asker.key: given.elicited})
    elif body.status is QuestionStatus.ANSWERED and ACCEPT in body.selected_options:
        remaining = replace(remaining, samplings={**remaining.samplings, asker.key: asked.spec.sampling})
    else:
        remaining = replace(remaining, refused="sampling")
    return with_call(state, _waiting(call, remaining))


def _waiting(call: CallState, given: CallInput) -> CallState:
    waits = bool(given.open) and not given.refused
    return replace(call, status="waiting" if waits else "ready", waits_for="user" if waits else "", input=given)
