"""Requests of MCP servers during a call: questions to the person, and approved requests to the run's model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta

from atelier_desk.domain import limits
from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import AtelierError, ConflictError, LimitError
from atelier_desk.domain.events.run import (
    EventBody,
    InputRequired,
    LimitReached,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    RunPaused,
    SampledForServer,
)
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, FinishReason, Role
from atelier_desk.domain.question import QuestionSpec, QuestionStatus, Sampling, UserQuestion
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.costs.month_budget import Hold
from atelier_desk.engine.journal.journal import Follow, RunHandle, nothing_follows
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import CallState, RunState
from atelier_desk.engine.run.request.reply_processing import ReceivedReply
from atelier_desk.engine.run.tool_result_events import call_finished
from atelier_desk.llm.network.inactivity_timeout import watched
from atelier_desk.llm.token_and_cost_estimates import at_most, estimate, highest_input_price
from atelier_desk.policy import budget
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_
from atelier_desk.tools.calls.outcomes import ServerAsks, ToolResult
from atelier_desk.tools.calls.stable_record_ids import stable_id

log = logging.getLogger(__name__)

MOST_ROUNDS = 20
"""Maximum number of request rounds per call."""
LONGEST_STATE = 256 * 1024
"""Maximum stored characters of a server's state."""
_REASONS = {FinishReason.LENGTH: "maxTokens", FinishReason.STOP: "endTurn"}


def required(state: RunState, call_id: str, tool: str, asks: ServerAsks, now: datetime) -> list[EventBody]:
    """Return the events with which a call waits for its server's requests; one that exceeds the maximum is refused."""
    call = state.call(call_id)
    asked_before = call.input.round if call is not None and call.input is not None else 0
    wrong = ""
    if asked_before >= MOST_ROUNDS:
        wrong = (
            f"The MCP server {asks.server} asked {MOST_ROUNDS} times in one call and was given up. Go on without it, "
            f"or ask the user."
        )
    elif len(asks.state or "") > LONGEST_STATE:
        wrong = (
            f"The MCP server {asks.server} wants more kept for this call than can be ({LONGEST_STATE} characters). "
            f"The call was ended."
        )
    if wrong:
        return [call_finished(call_id, tool, ToolResult.failure(wrong, "asks_too_much"))]
    round_ = asked_before + 1
    named = f"{state.run_id}:{call_id}:{round_}"
    # Their times preserve the server's order.
    questions = [
        _question(
            state, call_id, spec, stable_id(f"{named}:{number}", "question"), now + timedelta(microseconds=number)
        )
        for number, spec in enumerate(asks.questions)
    ]
    keys = tuple(spec.asker.key for spec in asks.questions if spec.asker is not None)
    answers = {key: dict(answer) for key, answer in asks.answers.items()}
    body = InputRequired(
        call_id=call_id, server=asks.server, state=asks.state, answers=answers, keys=keys, round=round_, note=asks.note
    )
    return [body, *(QuestionAsked(question=question) for question in questions)]


def lost(state: RunState) -> list[EventBody]:
    """Return events that close requests of lost sessions, and their calls."""
    bodies: list[EventBody] = []
    for question in state.questions:
        asker, call = question.spec.asker, state.call(question.call_id)
        if asker is None or not asker.live or call is None:
            continue
        bodies.append(
            QuestionAnswered(question_id=question.id, call_id=question.call_id, status=QuestionStatus.SKIPPED)
        )
        if call.status == "started":
            why = ToolResult.failure(SESSION_LOST.format(server=asker.server), "session_lost")
            bodies.append(call_finished(question.call_id, call.intent.tool if call.intent else call.call.name, why))
    return list({body.model_dump_json(): body for body in bodies}.values())


SESSION_LOST = (
    "Atelier ended while the MCP server {server} waited for an answer of the user. Its session is gone and with it "
    "the call; what the call "
    "did before is unknown. Make the call again if it is safe to repeat: the user is asked anew."
)


def _question(state: RunState, call_id: str, spec: QuestionSpec, id: str, now: datetime) -> UserQuestion:
    return UserQuestion(
        id=id,
        workflow_id=state.workflow_id,
        run_id=state.run_id,
        call_id=call_id,
        agent_id=state.agent_id,
        agent_name=state.agent.name,
        lineage=state.lineage,
        spec=spec,
        timeout_s=state.agent.question_timeout_s,
        created_at=now,
    )


class CallRequestBroker:
    """Answers the server of a running call; see ``tools.calls.context.ServerRequests``."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, call_id: str) -> None:
        self._env, self._handle, self._call_id = env, handle, call_id

    @property
    def model(self) -> str:
        return self._handle.current.agent.model

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        state = self._handle.current
        question = _question(state, self._call_id, spec, new_id(), self._env.clock.now())
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_event(event: StreamEvent) -> None:
            if (
                event.chunk_type is ChunkType.USER_QUESTION_COMPLETE
                and event.data.get("question_id") == question.id
                and not over.done()
            ):
                over.set_result(None)

        def decide(now: RunState) -> list[EventBody]:
            call = now.call(self._call_id)
            if now.status.final or now.pause is not None or call is None or call.status != "started":
                raise ConflictError(N_("The call has ended, so its question was not asked."))
            if len(now.questions) >= limits.QUESTION_PENDING:  # concurrent questions all found room before
                raise LimitError(
                    N_("{count} questions are already waiting; no more can be asked."), count=len(now.questions)
                )
            return [QuestionAsked(question=question)]

        unsubscribe = self._env.bus.subscribe(on_event, state.workflow_id)
        try:
            await self._env.journal.append_if(self._handle, decide)
            await over
        except asyncio.CancelledError:
            # Nobody waits for it any more: withdrawn by its server, or by the end of the call.
            background_tasks.start(self._withdraw(question), "taking back of a server's question")
            raise
        finally:
            unsubscribe()
        return await self._env.repos.questions.get(question.id)

    async def _withdraw(self, question: UserQuestion) -> None:
        closing = QuestionAnswered(question_id=question.id, call_id=question.call_id, status=QuestionStatus.SKIPPED)
        try:
            await self._env.journal.append_if(
                self._handle, lambda now: [closing] if any(each.id == question.id for each in now.questions) else None
            )
        except Exception as error:
            log.info("a question of a server was not taken back: %s", type(error).__name__)

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, object]:
        sampled = await sample(self._env, self._handle, self._call_id, server, sampling)
        if isinstance(sampled, budget.ReachedLimit):
            raise LimitError(N_("The limits of this run do not allow another request to a model."), code="limit")
        return sampled.answer


async def sample_for_call(env: RunEnvironment, handle: RunHandle, call: CallState, key: str, follow: Follow) -> None:
    """Make the model request of a call's server; without room for it the run pauses at its limit."""
    given = call.input
    assert given is not None
    tool = call.intent.tool if call.intent else call.call.name
    try:
        sampled = await sample(env, handle, call.call.id, given.server, given.samplings[key], key, follow)
    except AtelierError as error:
        why = f"The MCP server {given.server} wanted to ask a model for this call, and that failed: {error}"
        await env.journal.append(
            handle, call_finished(call.call.id, tool, ToolResult.failure(why, error.code)), follow=follow
        )
        return
    if isinstance(sampled, budget.ReachedLimit):
        reached = LimitReached(**asdict(sampled))
        held: list[EventBody] = [reached, RunPaused(reason=PauseReason.LIMIT)]
        await env.journal.append_if(handle, lambda now: None if now.status.final or now.pause is not None else held)


async def sample(
    env: RunEnvironment,
    handle: RunHandle,
    call_id: str,
    server: str,
    sampling: Sampling,
    key: str = "",
    follow: Follow = nothing_follows,
) -> SampledForServer | budget.ReachedLimit:
    """Ask the run's model for a server, and commit its answer. It sees nothing of the run's conversation and has no
    tools.

    Raises:
        AtelierError: the model cannot be asked.
    """
    state = handle.current
    opened = await env.gateway.open(state.agent, state.language)
    if opened.dialect is ToolDialect.GUIDED:
        raise LimitError(
            N_("The starter model cannot answer requests from MCP servers. Choose another model."), code="guided"
        )
    system = [ChatMessage(role=Role.SYSTEM, content=sampling.system)] if sampling.system else []
    messages = (*system, *(ChatMessage(role=Role(each.role), content=each.text) for each in sampling.messages))
    prompt_tokens = estimate("".join(message.content for message in messages)) + 20
    prices = (highest_input_price(opened.info), opened.info.price_output or 0.0)
    wanted = min(sampling.max_tokens, state.agent.max_tokens)
    await env.month.prepare()
    hold = Hold()
    known = env.month.priced(opened.info)
    room = env.month.reserve(
        state, prompt_tokens=prompt_tokens, reply_tokens=wanted, prices=prices, priced=known, hold=hold
    )
    if isinstance(room, budget.ReachedLimit):
        return room
    request = ChatRequest(
        model=state.agent.model,
        messages=messages,
        temperature=min(max(sampling.temperature, 0.0), 2.0)
        if sampling.temperature is not None
        else state.agent.temperature,
        max_tokens=room,
        stop=sampling.stop,
        enable_thinking=False,
        context_window=opened.window,
    )
    began, received = env.clock.monotonic(), ReceivedReply(room)

    def sampled(key: str) -> SampledForServer:
        reply = received.reply
        return SampledForServer(
            call_id=call_id,
            server=server,
            key=key,
            text=sanitized(reply.content),
            stop_reason=_REASONS.get(reply.finish_reason, "endTurn"),
            provider=opened.info.provider,
            model=reply.model or state.agent.model,
            usage=received.usage(prompt_tokens, opened.info),
            duration_ms=round((env.clock.monotonic() - began) * 1000),
        )

    await env.sent.send(hold, opened.info.provider, state.agent.model, at_most(prompt_tokens, room, opened.info), state)
    try:
        await received.read(
            watched(opened.plain.stream(request), env.clock, env.in_force.applied.inactivity_s),
            lambda: env.month.check_again(hold),
        )
    except BaseException as error:
        if received.charged(error):
            # It costs the same: otherwise a server that withdraws its requests would exceed the run's limits unnoticed.
            background_tasks.start(_note(env, handle, hold, sampled("")), "cost of a server's request")
        else:
            await env.sent.refused(hold)
        raise
    answer = sampled(key)
    await env.sent.settle(env.journal, handle, hold, answer, follow=follow)
    return answer


async def _note(env: RunEnvironment, handle: RunHandle, hold: Hold, spent: SampledForServer) -> None:
    """Record the cost of a request without a result."""
    try:
        await env.sent.settle(env.journal, handle, hold, spent)
    except AtelierError as error:
        log.info("what a request of a server cost was not kept: %s", type(error).__name__)
