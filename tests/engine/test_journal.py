"""The journal: what is published live is what a replay gives, for every type of event."""

from __future__ import annotations

import pytest

from app.domain.chat import ChatReply, ImagePart, ToolCall, Usage
from app.domain.errors import ConflictError, ProviderError
from app.domain.events import (
    CallStatus,
    ContextCompacted,
    EventBody,
    Injected,
    LimitKind,
    LimitReached,
    LoopDetected,
    ModelReplied,
    ModelRetried,
    OutputShown,
    PauseReason,
    QuestionAnswered,
    QuestionAsked,
    ReplyInterrupted,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
    UserMessage,
    WindowLearned,
    event_body_adapter,
)
from app.domain.question import QuestionOption, QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from app.domain.task import Task
from app.domain.workflow import RunMode, RunStatus
from app.engine.journal import RunHandle, run_events
from app.llm.secrets import remember
from tests.engine.conftest import Opener, Recorder
from tests.engine.test_runs import agent

KEY = "sk-very-secret-key-0123456789"


def every_event(workflow_id: str, run_id: str) -> list[EventBody]:
    calls = tuple(ToolCall(id=id, name="t", arguments={"n": 2**60, "f": 1.0, "none": None, "l": [1, {"é": "ü"}]}) for id in ("a", "b"))
    spec = QuestionSpec(
        question="Which?", question_type=QuestionType.MIXED, options=(QuestionOption(id="x", label="X"),), context="c", text_placeholder="p"
    )
    question = UserQuestion(id=f"{run_id}q", workflow_id=workflow_id, run_id=run_id, call_id="b", spec=spec)
    task = Task(workflow_id=workflow_id, run_id=run_id, name="a task")
    usage = Usage(tokens_input=7, tokens_output=3, cost=0.1)
    return [
        RunStarted(agent=agent(), correlation_id=run_id),
        UserMessage(content="hello", images=(ImagePart(media_type="image/png", data="AAAA"),)),
        ModelRetried(attempt=1, delay_s=0.5, reason="busy"),
        ReplyInterrupted(content="half", reasoning="why", reason="overflow"),
        WindowLearned(context_window=4096),
        ContextCompacted(method="summary", dropped=(2,), summary="s", tokens_before=9, tokens_after=4, usage=usage),
        ModelReplied(reply=ChatReply(content="", reasoning="r", tool_calls=calls), usage=usage, context_tokens=10, context_window=4096),
        ToolCallStarted(call_id="a", tool="t", arguments=calls[0].arguments, via="invoke_tool", server="s", idempotent=True),
        OutputShown(call_id="a", content="shown", output_type="report"),
        *(TaskChanged(action=action, task=task) for action in ("create", "update", "complete", "delete")),
        ToolCallFinished(
            call_id="a", tool="t", status=CallStatus.ERROR, result={"success": False, "x": [1.5, 2**60]}, error="e", duration_ms=3
        ),
        ToolCallStarted(call_id="b", tool="ask"),
        QuestionAsked(question=question),
        RunPaused(reason=PauseReason.USER),
        RunResumed(raise_limits={LimitKind.COST: 1.0}, mode=RunMode.STEPPING, steps=3),
        QuestionAnswered(question_id=question.id, call_id="b", status=QuestionStatus.ANSWERED, selected_options=("x",), text_response="t"),
        ToolCallFinished(call_id="b", tool="ask", result={"success": True}, text="{}"),
        LoopDetected(tool="t", count=3, action="warn", digest="d"),
        Injected(reason="loop_warning", content="stop it"),
        LimitReached(limit=LimitKind.COST, value=2.0, cap=1.0),
        RunPaused(reason=PauseReason.LIMIT),
        RunResumed(),
        RunFailed(code="unreachable", message="no answer"),
        RunResumed(),
        RunFinished(status=RunStatus.ABANDONED, summary="gave up", result="r", error="e"),
    ]


async def test_replay_gives_what_was_published_for_every_type_of_event(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        seen = Recorder(atelier)
        workflow = await atelier.workflows.create()
        for run_id in ("one", "two"):
            handle = RunHandle(run_id=run_id, workflow_id=workflow.id)
            bodies = every_event(workflow.id, run_id)
            for body in bodies:
                await atelier.journal.append(handle, body)
            assert [event.body for event in await run_events(atelier.repos, run_id)] == bodies
            await atelier.tasks.create(workflow.id, "by hand")
        types = {body.type for body in every_event(workflow.id, "r")}
        assert types == set(event_body_adapter.json_schema()["discriminator"]["mapping"])
        durable = [event for event in seen.events if event.durable]
        assert [event.seq for event in durable] == list(range(1, len(durable) + 1))
        assert [event.wire() for event in durable] == [event.wire() async for event in atelier.runs.replay(workflow.id)]


async def test_nothing_is_appended_to_a_run_that_is_over(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create()
        handle = RunHandle(run_id="r", workflow_id=workflow.id)
        await atelier.journal.append(handle, RunStarted(agent=agent()), RunFinished(status=RunStatus.COMPLETED))
        with pytest.raises(ConflictError):
            await atelier.journal.append(handle, UserMessage(content="late"))
        assert len(await run_events(atelier.repos, "r")) == 2


async def test_key_in_a_servers_answer_reaches_no_event(open_atelier: Opener) -> None:
    remember(KEY)
    error = ProviderError("The server says: {said}", said=f"invalid key {KEY}", code="auth")
    async with open_atelier([error, ValueError(f"sent {KEY}")]) as atelier:
        for _ in range(2):
            events = [event async for event in atelier.run("hello", agent=agent())]
            assert events[-1].data["status"] == "error"
            assert KEY not in str([event.wire() for event in events])
            assert KEY not in str(await run_events(atelier.repos, events[0].run_id))
