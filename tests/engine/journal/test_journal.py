"""The journal: for every type of event, a replay gives what was published live."""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import (
    Ancestor,
    ApprovalKind,
    ApprovalPolicy,
    ApprovalRequest,
    ApprovalScope,
    ApprovalStatus,
)
from atelier_desk.domain.errors import ConflictError, ProviderError, StorageError
from atelier_desk.domain.events.run import (
    ApprovalAskedAgain,
    ApprovalDecided,
    ApprovalRequested,
    CallStatus,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildrenJoined,
    ChildrenPlanned,
    ChildStarted,
    CompactionUndone,
    ContextCompacted,
    EntryPinned,
    EventBody,
    ImagesRejected,
    Injected,
    InputRequired,
    InputSent,
    LimitKind,
    LimitReached,
    LimitsRaised,
    LoopDetected,
    MediaPaid,
    MemoryExtractionDone,
    ModelReplied,
    ModelRetried,
    OutputShown,
    ParentAnswered,
    ParentAsked,
    PauseReason,
    PictureDescribed,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    QueuedSent,
    ReplyCutOff,
    RequestLost,
    RightsNarrowed,
    RunFailed,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    SampledForServer,
    ServersLacking,
    TaskChanged,
    TitleGenerated,
    ToolCallFinished,
    ToolCallStarted,
    ToolsRefused,
    UserMessage,
    WindowLearned,
    event_body_adapter,
)
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.model_messages import ChatReply, ImagePart, TextFile, Usage
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.question import QuestionOption, QuestionSpec, QuestionStatus, QuestionType, UserQuestion
from atelier_desk.domain.sub_agent import ChildPlan, ChildStatus, Spending, TeamCall
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import MOST_FOLLOWING, RunHandle, run_events
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.secrets import remember
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, Recorder, create_workflow, send_and_wait
from tests.engine.runs.sample_runs import agent
from tests.helpers.scripted_teams import calculate
from tests.helpers.tool_calls import tool_call

KEY = "sk-very-secret-key-0123456789"


def every_event(workflow_id: str, run_id: str) -> list[EventBody]:
    calls = tuple(tool_call("t", id, n=2**60, f=1.0, none=None, l=[1, {"é": "ü"}]) for id in ("a", "b"))
    spec = QuestionSpec(
        question="Which?",
        question_type=QuestionType.MIXED,
        options=(QuestionOption(id="x", label="X"),),
        context="c",
        text_placeholder="p",
    )
    question = UserQuestion(id=f"{run_id}q", workflow_id=workflow_id, run_id=run_id, call_id="b", spec=spec)
    task = Task(workflow_id=workflow_id, run_id=run_id, name="a task")
    usage = Usage(tokens_input=7, tokens_output=3, cost=0.1)
    return [
        RunStarted(
            agent=agent(),
            correlation_id=run_id,
            title="a title",
            max_depth=2,
            approvals=ApprovalPolicy(risks={"t": "high"}),
            workspace=("/w",),
        ),
        UserMessage(
            content="hello",
            images=(ImagePart(media_type="image/png", data="AAAA"),),
            files=(TextFile(name="n.md", text="# é"),),
        ),
        ModelRetried(attempt=1, delay_s=0.5, reason="busy"),
        ReplyCutOff(content="half", reasoning="why", reason="overflow"),
        WindowLearned(context_window=4096),
        ContextCompacted(method="summary", dropped=(2,), summary="s", tokens_before=9, tokens_after=4, usage=usage),
        EntryPinned(origin=f"{run_id}:6"),
        EntryPinned(origin=f"{run_id}:6", pinned=False),
        CompactionUndone(origin=f"{run_id}:6"),
        TitleGenerated(title="A name", usage=Usage(tokens_input=3, tokens_output=1)),
        MemoryExtractionDone(count=1, usage=Usage(tokens_input=3, tokens_output=1)),
        ToolsRefused(reason="no tools here"),
        ImagesRejected(reason="no pictures here"),
        ModelReplied(
            reply=ChatReply(content="", reasoning="r", tool_calls=calls),
            usage=usage,
            context_tokens=10,
            context_window=4096,
        ),
        ToolCallStarted(
            call_id="a", tool="t", arguments=calls[0].arguments, via="invoke_tool", server="s", idempotent=True
        ),
        OutputShown(call_id="a", content="shown", output_type="report"),
        *(TaskChanged(action=action, task=task) for action in ("create", "update", "complete", "delete")),
        ToolCallFinished(
            call_id="a",
            tool="t",
            status=CallStatus.ERROR,
            result={"success": False, "x": [1.5, 2**60]},
            error="e",
            duration_ms=3,
        ),
        ToolCallStarted(call_id="b", tool="ask"),
        QuestionAsked(question=question),
        RunPaused(reason=PauseReason.USER),
        RunResumed(raise_limits={LimitKind.COST: 1.0}, mode=RunMode.STEPPING, steps=3),
        QuestionAnswered(
            question_id=question.id,
            call_id="b",
            status=QuestionStatus.ANSWERED,
            selected_options=("x",),
            text_response="t",
        ),
        ToolCallFinished(call_id="b", tool="ask", result={"success": True}, text="{}"),
        *team_events(workflow_id, run_id, usage),
        *server_events(usage),
        UserMessage(message_id=f"{run_id}-waits", content="later"),
        UserMessage(message_id=f"{run_id}-too", content="much later"),
        QueueChanged(order=(f"{run_id}-too", f"{run_id}-waits"), edited={f"{run_id}-too": "sooner"}),
        QueuedSent(message_id=f"{run_id}-too"),
        LoopDetected(tool="t", count=3, action="warn", digest="d"),
        ServersLacking(problems=(ServerProblem(server="s", code="failed", detail="it ended"),)),
        Injected(reason="loop_warning", content="stop it"),
        LimitReached(limit=LimitKind.COST, value=2.0, cap=1.0),
        RunPaused(reason=PauseReason.LIMIT),
        RunResumed(),
        RightsNarrowed(
            rules=(PermissionRule(text="read_file(.env)", action=Action.DENY),), folders=("/x",), withdrawn=("r",)
        ),
        RunFailed(code="unreachable", message="no answer"),
        RunResumed(),
        RunFinished(status=RunStatus.ABANDONED, summary="gave up", result="r", error="e"),
    ]


def server_events(usage: Usage) -> list[EventBody]:
    """A reply whose call is repeated with the answers its server asked for."""
    return [
        ModelReplied(reply=ChatReply(tool_calls=(tool_call("t", "server"),)), usage=usage),
        ToolCallStarted(call_id="server", tool="t", server="s"),
        InputRequired(
            call_id="server", server="s", state="opaque", answers={"roots": {"roots": []}}, round=2, note="n"
        ),
        SampledForServer(call_id="server", server="s", key="k", text="t", model="m", usage=usage, duration_ms=3),
        PictureDescribed(call_id="server", provider="p", model="m", usage=usage, duration_ms=3),
        MediaPaid(call_id="server", provider="p", model="m", usage=usage),
        RequestLost(provider="p", model="m", usage=usage),
        InputSent(call_id="server", server="s"),
        ToolCallFinished(call_id="server", tool="t", result={"success": True}, text="{}"),
    ]


def team_events(workflow_id: str, run_id: str, usage: Usage) -> list[EventBody]:
    """A reply with calls that need approval, start sub-agents, and ask the parent."""
    calls = tuple(tool_call("t", id, n=1) for id in ("edited", "refused", "several", "later", "up"))
    plans = tuple(
        ChildPlan(
            id=f"{run_id}-{name}",
            name=name,
            agent=agent(name=name),
            prompt="Do.",
            stage=stage,
            title="Do.",
            withheld=("MemoryTool",),
        )
        for stage, name in enumerate(("first", "second", "third"))
    )
    first, second, third = (plan.id for plan in plans)
    edited, refused = (
        ApprovalRequest(
            id=f"{run_id}{id}", workflow_id=workflow_id, run_id=run_id, root_run_id="root", call_id=id, tool="t",
            kind=ApprovalKind.SUB_AGENT, reason="manual", arguments={"n": 2**60}, details={"tools": ["a"]},
            lineage=(Ancestor(run_id="root", agent_name="Root"),),
        )
        for id in ("edited", "refused")
    )  # fmt: skip
    spent = Spending(usage=usage, tool_calls=2, seconds=1.5)
    rule = PermissionRule(text="t", action=Action.ALLOW)
    return [
        ModelReplied(
            reply=ChatReply(content="five calls", tool_calls=calls),
            usage=usage,
            frame="f",
            with_tools=False,
            based_on=3,
        ),
        ApprovalRequested(approval=edited),
        ApprovalRequested(approval=refused),
        ApprovalAskedAgain(approval_id=edited.id, call_id="edited"),
        ApprovalDecided(
            approval_id=edited.id,
            call_id="edited",
            status=ApprovalStatus.APPROVED,
            arguments={"n": 3},
            scope=ApprovalScope.ALWAYS,
            rules=(rule,),
        ),
        ApprovalDecided(
            approval_id=refused.id, call_id="refused", status=ApprovalStatus.REJECTED, note="no", decided_by="timeout"
        ),
        ToolCallFinished(call_id="refused", tool="t", status=CallStatus.ERROR, code="rejected", error="no"),
        ToolCallStarted(call_id="edited", tool="t", arguments={"n": 3}),
        ToolCallFinished(call_id="edited", tool="t", result={"success": True}, text="{}"),
        ToolCallStarted(call_id="several", tool="plan_actions"),
        ChildrenPlanned(call_id="several", kind=TeamCall.PLAN, children=plans, stop_on_error=True),
        ChildStarted(child_id=first, share=Budget(max_cost=1.5, max_tokens=100)),
        ChildAsked(child_id=first, message="Which?"),
        LimitsRaised(child_id=first, raise_limits={LimitKind.TOKENS: 50}),
        ToolCallFinished(
            call_id="several", tool="plan_actions", result={"success": True, "status": "waiting_for_you"}, text="{}"
        ),
        ChildAnswered(child_id=first, text="This.", by="user"),
        ToolCallStarted(call_id="later", tool="SpawnAgentTool"),
        ChildrenJoined(call_id="later", kind=TeamCall.JOIN, child_ids=(first, second, third)),
        ChildFinished(child_id=first, status=ChildStatus.COMPLETED, report="r", spent=spent, duration_ms=7),
        ChildStarted(child_id=second),
        ChildFinished(child_id=second, status=ChildStatus.ERROR, error="broke", report="half", spent=spent),
        ChildFinished(child_id=third, status=ChildStatus.NOT_RUN),
        ToolCallFinished(call_id="later", tool="SpawnAgentTool", result={"success": True}, text="{}"),
        ToolCallStarted(call_id="up", tool="wait_parent"),
        ParentAsked(call_id="up", message="May I?"),
        ParentAnswered(call_id="up", text="You may.", by="engine"),
        ToolCallFinished(call_id="up", tool="wait_parent", result={"success": True}, text="{}"),
    ]


async def test_replay_gives_what_was_published_for_every_type_of_event(atelier: Atelier) -> None:
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


async def test_nothing_is_appended_to_a_finished_run(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create()
    handle = RunHandle(run_id="r", workflow_id=workflow.id)
    await atelier.journal.append(handle, RunStarted(agent=agent()), RunFinished(status=RunStatus.COMPLETED))
    with pytest.raises(ConflictError):
        await atelier.journal.append(handle, UserMessage(content="late"))
    assert len(await run_events(atelier.repos, "r")) == 2


def commits_of(atelier: Atelier) -> list[list[str]]:
    """The event types of each commit from now on."""
    store = atelier.repos.journal.commit
    seen: list[list[str]] = []

    async def counted(commit: Commit) -> None:
        seen.append([event.body.type for event in commit.events])
        await store(commit)

    atelier.repos.journal.commit = counted  # type: ignore[method-assign]
    return seen


async def test_follow_up_events_are_in_the_same_commit(open_atelier: Opener) -> None:
    calls = [[calculate("c1", "1+1"), calculate("c2", "2+2")], [calculate("c3", "3+3")], "done"]
    async with open_atelier(calls) as atelier:
        seen = commits_of(atelier)
        events = [event async for event in atelier.run("count", agent=agent())]
        assert [types for types in seen if types] == [
            ["run_started", "user_message"],
            ["model_replied", "tool_call_started", "tool_call_started"],
            ["tool_call_finished"],
            ["tool_call_finished"],
            ["model_replied", "tool_call_started"],
            ["tool_call_finished"],
            ["model_replied", "run_finished"],
        ]
        stored = await run_events(atelier.repos, events[0].run_id)
        # A copy of the workflow can still be cut between a reply and its follow-up events.
        replied, finished = stored[-2:]
        assert replied.commit != finished.commit
        assert stored[0].commit == stored[1].commit
        durable = [event.wire() for event in events if event.durable]
        assert durable == [event.wire() async for event in atelier.runs.replay(events[0].workflow_id)]


async def test_follow_up_events_are_computed_repeatedly_but_not_endlessly(atelier: Atelier) -> None:
    seen = commits_of(atelier)
    workflow = await atelier.workflows.create()
    handle = RunHandle(run_id="r", workflow_id=workflow.id)
    state = await atelier.journal.append(
        handle, RunStarted(agent=agent()), follow=lambda now: [Injected(reason="test", content=str(now.last_seq))]
    )
    assert [types for types in seen if types] == [["run_started", *["injected"] * MOST_FOLLOWING]]
    assert [entry.text for entry in state.entries] == [str(seq) for seq in range(1, MOST_FOLLOWING + 1)]


async def test_nothing_is_stored_when_follow_up_events_cannot_be_computed(open_atelier: Opener) -> None:
    def broken(now: RunState) -> list[EventBody]:
        raise ValueError("no idea")

    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create()
        handle = RunHandle(run_id="r", workflow_id=workflow.id)
        await atelier.journal.append(handle, RunStarted(agent=agent()))
        with pytest.raises(ValueError, match="no idea"):
            await atelier.journal.append(handle, UserMessage(content="hello"), follow=broken)
        assert handle.current.last_seq == 1
        assert len(await run_events(atelier.repos, "r")) == 1


async def test_numbers_continue_after_a_commit_stored_despite_an_error(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create()
    handle = RunHandle(run_id="r", workflow_id=workflow.id)
    await atelier.journal.append(handle, RunStarted(agent=agent()))
    store = atelier.repos.journal.commit

    async def unsure(commit: Commit) -> None:
        atelier.repos.journal.commit = store  # type: ignore[method-assign]
        await store(commit)
        raise StorageError("The connection is gone.", code="io")

    atelier.repos.journal.commit = unsure  # type: ignore[method-assign]
    with pytest.raises(StorageError):
        await atelier.journal.append(handle, UserMessage(content="one"))
    await atelier.journal.append(handle, UserMessage(content="two"))
    assert [event.seq for event in await run_events(atelier.repos, "r")] == [1, 2, 3]
    shown = [event async for event in atelier.runs.replay(workflow.id)]
    assert [event.seq for event in shown] == list(range(1, len(shown) + 1))
    assert (await atelier.repos.workflows.get(workflow.id)).stream_seq == len(shown)


async def test_a_workflow_deleted_during_a_commit_keeps_its_order(atelier: Atelier) -> None:
    """The next writer waits for that commit, and continues its numbers."""
    workflow = await atelier.workflows.create()
    one, two = (RunHandle(run_id=run_id, workflow_id=workflow.id) for run_id in ("one", "two"))
    store, reached, let_go = atelier.repos.journal.commit, asyncio.Event(), asyncio.Event()

    async def held(commit: Commit) -> None:
        if not reached.is_set():
            reached.set()
            await let_go.wait()
        await store(commit)

    atelier.repos.journal.commit = held  # type: ignore[method-assign]
    first = asyncio.create_task(atelier.journal.append(one, RunStarted(agent=agent()), UserMessage(content="one")))
    await reached.wait()
    atelier.journal.forget(workflow.id)
    second = asyncio.create_task(atelier.journal.append(two, RunStarted(agent=agent()), UserMessage(content="two")))
    for _turn in range(50):
        await asyncio.sleep(0)
    assert not second.done()
    let_go.set()
    await asyncio.gather(first, second)
    shown = [event async for event in atelier.runs.replay(workflow.id)]
    assert [event.seq for event in shown] == list(range(1, len(shown) + 1))
    assert [event.run_id for event in shown] == sorted((event.run_id for event in shown), key=["one", "two"].index)


async def test_a_fault_point_is_reached_for_every_event_type_of_a_commit(open_atelier: Opener) -> None:
    points: list[str] = []
    async with open_atelier(["done"], fault=points.append) as atelier:
        await send_and_wait(atelier, await create_workflow(atelier), "hello", agent=agent())
    types = ("run_started", "user_message"), ("model_replied", "run_finished")
    assert points == [f"{when}_commit:{type}" for pair in types for when in ("before", "after") for type in pair]


async def test_a_key_in_a_servers_answer_reaches_no_event(open_atelier: Opener) -> None:
    remember(KEY)
    error = ProviderError("The server says: {said}", said=f"invalid key {KEY}", code="auth")
    async with open_atelier([error, ValueError(f"sent {KEY}")]) as atelier:
        for _ in range(2):
            events = [event async for event in atelier.run("hello", agent=agent())]
            assert events[-1].data["status"] == "error"
            assert KEY not in str([event.wire() for event in events])
            assert KEY not in str(await run_events(atelier.repos, events[0].run_id))
