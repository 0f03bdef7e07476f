"""The pure decision: ``next_step(state)`` returns the next step from the state only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from atelier_desk.domain import final_answer_schema
from atelier_desk.domain.events.run import (
    ChildFinished,
    EventBody,
    Injected,
    InputSent,
    LimitReached,
    LoopDetected,
    PauseReason,
    QuestionAnswered,
    RunPaused,
)
from atelier_desk.domain.model_messages import FinishReason
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.sub_agent import ChildState, ChildStatus, TeamCall
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine.run import sub_agent_state
from atelier_desk.engine.run.reducer.conversation_entries import EntryKind
from atelier_desk.engine.run.reducer.handler_registry import runnable_calls
from atelier_desk.engine.run.reducer.reduce import ARE_YOU_DONE
from atelier_desk.engine.run.reducer.state import CallState, Ending, RunState
from atelier_desk.engine.run.request import prompt_texts
from atelier_desk.engine.run.tool_result_events import call_finished, noting_edits
from atelier_desk.policy import budget, loop_guard
from atelier_desk.presentation.run_notices import FIX_ANSWER
from atelier_desk.tools.calls.outcomes import ToolResult
from atelier_desk.tools.calls.result_limits import capped
from atelier_desk.tools.teams.subagent_results import compose, wall_ms

INCOMPLETE_NOTES = {
    FinishReason.LENGTH: "This report was cut off at the model's limit of length.",
    FinishReason.CONTENT_FILTER: "This report was withheld or cut off by the model server's content filter.",
    FinishReason.EMPTY: "The agent ended with an empty reply.",
    FinishReason.REPETITION: "This report was stopped: the agent repeated the same passage again and again.",
}
"""Texts for a sub-agent's parent about an incomplete last reply."""
NO_SAMPLING = (
    "The MCP server {server} wanted to ask a model for this call, and the user did not allow it. The call was ended. "
    "Go on without it, or ask the user."
)
REST_HINT = "Ask the sub-agents for shorter reports."


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send the conversation to the model."""

    with_tools: bool = True


@dataclass(frozen=True, slots=True)
class BeginCalls:
    """Commit the intents of the first of these planned calls, or ask a person for approval."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Run these calls, whose intents are committed without anything in between."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class SampleForServer:
    """Make a model request for a call's server, as approved by a person."""

    call_id: str
    key: str


@dataclass(frozen=True, slots=True)
class RecoverCalls:
    """Handle calls without a result whose process is gone: repeat idempotent ones, close the others."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """Commit these events, which follow from the state only."""

    bodies: tuple[EventBody, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until someone acts; costs nothing and survives a restart."""

    reason: Literal["user", "approval", "children", "parent", "paused", "failed"]


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Done:
    """The run has ended."""


@dataclass(frozen=True, slots=True)
class StartChildren:
    """Start these planned sub-agents."""

    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerChildren:
    """Tell these sub-agents, who wait for an answer the run cannot give any more, to decide themselves."""

    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StopChildren:
    """The run is to end: stop everything below it."""


Work = CallModel | BeginCalls | RunCalls | SampleForServer | RecoverCalls
Step = Work | Append | StartChildren | AnswerChildren | StopChildren | Wait | Finish | Done


def next_step(state: RunState) -> Step:
    """Return what the driver must do now. Total: every state has exactly one next step."""
    if state.failed:
        return Wait("failed")
    if state.status.final:
        return Done()
    if state.pause is not None:
        return Wait("paused")
    started = tuple(call for call in state.calls if call.status == "started")
    if started:
        cut_off = tuple(call for call in started if call.cut_off)
        return RecoverCalls(cut_off) if cut_off else RunCalls(started)
    ready = next((call for call in state.calls if call.status == "ready"), None)
    if ready is not None:
        return _with_input(state, ready)
    runnable = runnable_calls(state)
    if runnable and state.ending is None:
        return _gate(state, BeginCalls(runnable))
    children = _children_step(state)
    if children is not None:
        return children
    waiting = _waiting(state)
    if waiting is not None:
        return waiting
    if state.ending is not None:
        return StopChildren() if state.working_children or state.plans else _finish(state, state.ending)
    loop = _loop_step(state)
    if loop is not None:
        return loop
    asking = tuple(child for child in state.children if child.status is ChildStatus.ASKING)
    if any(not child.question_told for child in asking) and not state.final_only:
        return Append((Injected(reason=sub_agent_state.CHILD_ASKS, content=prompt_texts.child_questions(asking)),))
    if state.needs_model:
        # A final answer is based on everything available; after it nobody is asked any more.
        last = _reports(state) if state.final_only else None
        return last or _gate(state, CallModel(with_tools=not (state.final_only or state.form_only)))
    return _last_steps(state, asking)


def _with_input(state: RunState, call: CallState) -> Step:
    """Return the step for a call whose server got all answers, or will not get them."""
    given = call.input
    assert given is not None
    if given.refused:
        others = (each for each in state.questions if each.call_id == call.call.id)
        closed = (
            QuestionAnswered(question_id=each.id, call_id=each.call_id, status=QuestionStatus.SKIPPED)
            for each in others
        )
        why = ToolResult.failure(NO_SAMPLING.format(server=given.server), "declined")
        return Append((*closed, call_finished(call.call.id, call.intent.tool if call.intent else call.call.name, why)))
    if given.samplings:
        return _gate(state, SampleForServer(call.call.id, next(iter(given.samplings))))
    return Append((InputSent(call_id=call.call.id, server=given.server),))


def _last_steps(state: RunState, asking: tuple[ChildState, ...]) -> Step:
    """The agent has finished: wait for and report what is still open, then end the run."""
    open_tasks = [mark.name for mark in state.open_tasks]
    # A guided model cannot reason about its plan, and its user created the tasks on purpose.
    if open_tasks and not state.asked_done and state.dialect != "guided":
        return Append((Injected(reason=ARE_YOU_DONE, content=_are_you_done(open_tasks)),))
    if asking:
        return AnswerChildren(tuple(child.id for child in asking))
    if state.working_children:
        return Wait("children")
    return _reports(state) or _finish(state, Ending(status=RunStatus.COMPLETED, result=_last_reply(state)))


def _finish(state: RunState, ending: Ending) -> Append | Finish:
    """End the run; before that, ask the model once to correct an answer that does not match the schema."""
    schema = state.agent.answer_schema
    if schema is None or ending.status is not RunStatus.COMPLETED:
        return Finish(replace(ending, result=_reported(state, ending.result)))
    answer = ending.result or _last_reply(state)
    problem = final_answer_schema.schema_mismatch(schema, answer)
    if not problem:
        return Finish(replace(ending, result=final_answer_schema.bare(answer)))
    # What a filter blocked once it blocks again.
    if not state.form_asked and state.finish is not FinishReason.CONTENT_FILTER:
        return Append(
            (
                Injected(
                    reason=FIX_ANSWER, content=prompt_texts.fix_answer(problem, cut=state.finish is FinishReason.LENGTH)
                ),
            )
        )
    return Finish(replace(ending, result=_reported(state, answer, problem), misfit=problem))


def _reports(state: RunState) -> Append | None:
    """Return a note with reports of sub-agents that the model does not know yet."""
    untold = [child for child in state.children if child.status.over and not child.told]
    return (
        Append((Injected(reason=sub_agent_state.CHILD_REPORTS, content=prompt_texts.child_reports(untold)),))
        if untold
        else None
    )


def _children_step(state: RunState) -> Step | None:
    """Return steps due to sub-agents: start those whose stage has come, and finish calls that wait for them."""
    if state.ending is None:
        never = sub_agent_state.skippable(state)
        if never:
            return Append(tuple(ChildFinished(child_id=child.id, status=ChildStatus.NOT_RUN) for child in never))
        ready = sub_agent_state.startable(state)
        if ready:
            return StartChildren(tuple(child.id for child in ready))
    done = next(
        (
            c
            for c in state.calls
            if c.status == "waiting" and c.waits_for == "children" and sub_agent_state.settled(state, c)
        ),
        None,
    )
    if done is None:
        return None
    intent = done.intent
    arguments = intent.arguments if intent else done.call.arguments
    children = sub_agent_state.awaited(state, done)
    result = compose(done.kind or TeamCall.JOIN, arguments, children)
    result = capped(noting_edits(result, arguments) if done.edited else result, REST_HINT)
    sources = {each.url: each for child in children for each in child.sources}
    tool = intent.tool if intent else done.call.name
    return Append(
        (call_finished(done.call.id, tool, result, parts=tuple(sources.values()), duration_ms=wall_ms(children)),)
    )


def _waiting(state: RunState) -> Wait | None:
    """Return whom the run waits for in the middle of its calls."""
    waits = {call.waits_for for call in state.calls if call.status == "waiting"}
    if "user" in waits:
        return Wait("user")
    if any(call.status == "asked" for call in state.calls):
        return Wait("approval")
    if "parent" in waits:
        return Wait("parent")
    return Wait("children") if waits else None


def _gate(state: RunState, step: CallModel | SampleForServer | BeginCalls) -> Step:
    """Let a step with costs proceed only within the limits, and in stepping mode only on request."""
    if state.mode is RunMode.STEPPING and state.steps is not None and state.steps <= 0:
        return Append((RunPaused(reason=PauseReason.STEP),))
    if isinstance(step, CallModel) and state.final_only:
        return step
    if isinstance(step, CallModel | SampleForServer):
        reached = budget.before_model(state.agent, state.raised_limits, state.spent)
    else:
        reached = budget.before_calls(state.agent, state.raised_limits, state.spent)
    if reached is None:
        return step
    return Append(
        (LimitReached(limit=reached.limit, value=reached.value, cap=reached.cap), RunPaused(reason=PauseReason.LIMIT))
    )


def _loop_step(state: RunState) -> Append | None:
    if not state.entries or state.entries[-1].kind is not EntryKind.RESULT or len(state.entries) == state.loop_checked:
        return None
    verdict = loop_guard.verdict(state.recent, state.loop_warned, newest=len(state.calls))
    if verdict is None:
        return None
    results = [entry for entry in state.entries if entry.kind is EntryKind.RESULT]
    tool = results[-1 - verdict.index].tool if verdict.index < len(results) else results[-1].tool
    detected = LoopDetected(tool=tool, count=verdict.count, action=verdict.action, digest=verdict.digest)
    if verdict.action == "pause":
        return Append((detected, RunPaused(reason=PauseReason.LOOP)))
    warning = (
        f"You have called {tool} {verdict.count} times with the same arguments and got the same result. Calling it "
        f"again will not change "
        "anything. Try something else, or answer with what you have."
    )
    return Append((detected, Injected(reason="loop_warning", content=warning)))


def _are_you_done(names: list[str]) -> str:
    listed = "; ".join(names[:10])
    return (
        f"These tasks of yours are still open: {listed}. Are you done? If so, close or delete them and give your "
        f"final reply."
    )


def _last_reply(state: RunState) -> str:
    return next((entry.text for entry in reversed(state.entries) if entry.kind is EntryKind.REPLY), "")


def _reported(state: RunState, said: str, misfit: str = "") -> str:
    """Return the report of a run, with its problems for the parent, which must not take it for complete."""
    if state.parent_run_id is None:
        return said
    notes = [] if state.finish.complete else [INCOMPLETE_NOTES[state.finish]]
    notes += [f"This report does not have the form asked for: {misfit}"] if misfit else []
    return "\n\n".join(filter(None, (said, *(f"[{note}]" for note in notes))))
