"""The effects of a commit besides its events: the run's row, totals, numbering, and notices to listeners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from atelier_desk.domain.approval import ApprovalKind, ApprovalRequest, ApprovalScope, ApprovalStatus
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import ConflictError, NotFoundError, StorageError
from atelier_desk.domain.events.run import (
    ApprovalDecided,
    ApprovalRequested,
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    CompactionUndone,
    EntryPinned,
    EventBody,
    Injected,
    LimitsRaised,
    MediaPaid,
    MemoryExtractionDone,
    ModelReplied,
    PictureDescribed,
    QueueChanged,
    RunFailed,
    RunFinished,
    RunResumed,
    RunStarted,
    TaskChanged,
    TitleGenerated,
    ToolCallStarted,
    UserMessage,
)
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.stream.payloads import Token
from atelier_desk.domain.sub_agent import ChildStatus
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import RunMode, RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal import journal
from atelier_desk.engine.journal.journal import Part, RunHandle, run_events
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, Recorder, create_workflow
from tests.engine.runs.sample_runs import agent
from tests.helpers.tool_calls import tool_call

SPENT = Usage(tokens_input=7, tokens_output=3, cost=0.25)


def said(text: str = "ok") -> ModelReplied:
    return ModelReplied(reply=ChatReply(content=text), usage=SPENT)


def approval(workflow_id: str) -> ApprovalRequest:
    return ApprovalRequest(
        workflow_id=workflow_id, run_id="r", root_run_id="r", call_id="a", tool="t", kind=ApprovalKind.SUB_AGENT
    )


async def begun(atelier: Atelier, run_id: str = "r", workflow_id: str = "", **start: object) -> RunHandle:
    workflow_id = workflow_id or await create_workflow(atelier)
    handle = RunHandle(run_id=run_id, workflow_id=workflow_id)
    await atelier.journal.append(handle, RunStarted(agent=agent(), **start), UserMessage(content="hello"))  # type: ignore[arg-type]
    return handle


@asynccontextmanager
async def held(atelier: Atelier) -> AsyncIterator[None]:
    """The next commit waits until the block has ended."""
    store, let_go = atelier.repos.journal.commit, asyncio.Event()

    async def waits(commit: Commit) -> None:
        atelier.repos.journal.commit = store  # type: ignore[method-assign]
        await let_go.wait()
        await store(commit)

    atelier.repos.journal.commit = waits  # type: ignore[method-assign]
    yield
    let_go.set()


async def turns() -> None:
    for _turn in range(50):
        await asyncio.sleep(0)


async def test_the_row_of_a_run_matches_its_events(atelier: Atelier) -> None:
    handle = await begun(
        atelier, previous_run_id="before", parent_run_id="above", parent_call_id="c", correlation_id="root",
        title="Look",
        agent_id="a-1", depth=2, mode=RunMode.STEPPING, tainted=("evil.example",),
    )  # fmt: skip
    call = tool_call("t", "a")
    reply = ModelReplied(reply=ChatReply(tool_calls=(call,)), usage=SPENT)
    await atelier.journal.append(handle, reply, ToolCallStarted(call_id="a", tool="t", taint="other.example"))
    await atelier.journal.append(handle, RunFailed(code="auth", message="no key"))
    row, state = await atelier.repos.runs.get("r"), handle.current
    for name in ("agent_id", "mode", "status", "usage", "tool_calls", "elapsed_ms", "last_seq", "tainted", "error",
    "previous_run_id",
                 "parent_run_id", "parent_call_id", "title", "correlation_id", "depth"):  # fmt: skip
        assert getattr(row, name) == getattr(state, name), name
    assert (row.agent_name, row.workflow_id) == (state.agent.name, handle.workflow_id)
    assert (row.tainted, row.depth, row.error, row.usage.tokens_input) == (
        ("evil.example", "other.example"),
        2,
        "no key",
        7,
    )
    assert row.created_at == state.started_at
    assert row.updated_at >= row.created_at


async def test_totals_of_a_team_continue_in_the_next_process(open_atelier: Opener) -> None:
    """The usage of its sub-agents is included, that of other teams of the workflow is not."""
    async with open_atelier() as atelier:
        root = await begun(atelier, "root")
        child = await begun(atelier, "child", root.workflow_id, parent_run_id="root", correlation_id="root")
        other = await begun(atelier, "other", root.workflow_id)
        for handle in (root, child, other):
            await atelier.journal.append(handle, said())
    async with open_atelier() as atelier:
        seen = Recorder(atelier)
        again = RunHandle("root", root.workflow_id, stale=True)  # read from the disk, as the next process does
        await atelier.journal.append(again, UserMessage(content="and?"), said())
        told = await seen.until(ChunkType.USAGE)
        assert told.data["team"]["tokens_input"] == 21
        assert told.data["workflow"]["tokens_input"] == 28
        await atelier.journal.append(again, UserMessage(content="and?"), said())
        assert [event.data["team"]["tokens_input"] for event in seen.events if event.chunk_type is ChunkType.USAGE] == [
            21,
            28,
        ]


async def test_totals_of_old_turns_do_not_stay_in_memory(atelier: Atelier) -> None:
    first = await begun(atelier, "turn 0")
    await atelier.journal.append(first, said())
    for number in range(1, 20):
        turn = await begun(atelier, f"turn {number}", first.workflow_id)
        await atelier.journal.append(turn, said())
    kept = atelier.journal._heads[first.workflow_id].totals.teams
    assert list(kept)[-1] == "turn 19"
    assert len(kept) <= journal.TEAM_TOTALS + 1
    seen = Recorder(atelier)
    await atelier.journal.append(first, UserMessage(content="and?"), said())  # its total is read again
    assert (await seen.until(ChunkType.USAGE)).data["team"]["tokens_input"] == 14


async def test_runs_that_start_together_leave_each_others_totals_intact(atelier: Atelier) -> None:
    seen = Recorder(atelier)
    first = await begun(atelier, "one")
    await atelier.journal.append(first, said())
    second = RunHandle("two", first.workflow_id)
    parts = [
        Part(second, [RunStarted(agent=agent()), UserMessage(content="hello"), said()]),
        Part(first, [Injected(reason="x", content="y"), said()]),
    ]
    assert await atelier.journal.append_together([first, second], lambda: parts)
    sums = [
        (event.run_id, event.data["team"]["tokens_input"])
        for event in seen.events
        if event.chunk_type is ChunkType.USAGE
    ]
    assert sums == [("one", 7), ("two", 7), ("one", 14)]


@pytest.mark.parametrize("between", ["task", "branch"])
async def test_a_persons_change_in_between_leaves_the_totals_intact(between: str, atelier: Atelier) -> None:
    seen = Recorder(atelier)
    handle = await begun(atelier)
    await atelier.journal.append(handle, said())
    if between == "task":
        task = Task(workflow_id=handle.workflow_id, name="by hand")
        made = [TaskChanged(action="create", task=task)]
        assert await atelier.journal.change_tasks(handle.workflow_id, lambda there: made) == made
        assert await atelier.journal.change_tasks(handle.workflow_id, lambda there: []) == ()
    else:
        await atelier.journal.show_branch(handle.workflow_id, "r")
    await atelier.journal.append(handle, UserMessage(content="and?"), said())
    sums = [event.data["workflow"]["tokens_input"] for event in seen.events if event.chunk_type is ChunkType.USAGE]
    assert sums == [7, 14]
    assert (await atelier.repos.workflows.get(handle.workflow_id)).usage.tokens_input == 14


async def test_a_persons_combined_changes_are_one_commit(atelier: Atelier) -> None:
    """A copy of the workflow has all of it or nothing."""
    workflow_id = await create_workflow(atelier)
    for names in (("one", "two"), ("three",)):
        made = [TaskChanged(action="create", task=Task(workflow_id=workflow_id, name=name)) for name in names]
        await atelier.journal.change_tasks(workflow_id, lambda there, made=made: made)  # type: ignore[misc]
    one, two, three = await atelier.repos.journal.of_type(workflow_id, "task_changed")
    assert one.commit == two.commit != three.commit


async def test_a_branch_is_shown_after_the_commit_in_progress(atelier: Atelier) -> None:
    handle = await begun(atelier)
    async with held(atelier):
        writing = asyncio.create_task(atelier.journal.append(handle, said()))
        await turns()
        showing = asyncio.create_task(atelier.journal.show_branch(handle.workflow_id, None, {"r": utc_now()}))
        changing = asyncio.create_task(atelier.journal.change_tasks(handle.workflow_id, lambda there: []))
        purging = asyncio.create_task(atelier.journal.purge_branches(handle.workflow_id, utc_now()))
        for _time in range(20):  # long enough for one that did not wait
            await atelier.repos.workflows.get(handle.workflow_id)
        assert [task.done() for task in (showing, changing, purging)] == [False] * 3
    await asyncio.gather(writing, showing, changing, purging)
    row = await atelier.repos.workflows.get(handle.workflow_id)
    shown = [event async for event in atelier.runs.replay(handle.workflow_id)]
    assert (row.head_run_id, shown) == (None, []), "the branch is purged, after what was being written"


async def test_a_deleted_branch_can_be_restored_until_its_time_is_over(atelier: Atelier) -> None:
    handle = await begun(atelier)
    await atelier.journal.append(handle, said(), RunFinished(status=RunStatus.COMPLETED))
    when = utc_now()
    await atelier.journal.show_branch(handle.workflow_id, None, {"r": when})
    assert (await atelier.repos.runs.get("r")).deleted_at == when
    await atelier.journal.show_branch(handle.workflow_id, "r", {"r": None})
    assert (await atelier.repos.runs.get("r")).deleted_at is None
    await atelier.journal.purge_branches(handle.workflow_id, utc_now())
    assert await run_events(atelier.repos, "r"), "what is not deleted stays"
    await atelier.journal.show_branch(handle.workflow_id, None, {"r": when})
    await atelier.journal.purge_branches(handle.workflow_id, when)
    with pytest.raises(NotFoundError):
        await atelier.repos.runs.get("r")
    assert (await atelier.repos.workflows.get(handle.workflow_id)).usage.tokens_input == 7, (
        "what it used stays in the sums"
    )


async def test_a_run_is_read_over_as_many_pages_as_it_has(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE", 2)
    async with open_atelier() as atelier:
        handle = await begun(atelier)
        assert [event.seq for event in await run_events(atelier.repos, "r")] == [1, 2]
        await atelier.journal.append(handle, said(), UserMessage(content="and?"), said())
        assert [event.seq for event in await run_events(atelier.repos, "r")] == [1, 2, 3, 4, 5]


async def test_the_last_number_of_a_workflow_is_that_of_its_last_event(atelier: Atelier) -> None:
    assert atelier.journal.last_stream_seq("no such workflow") == 0
    handle = await begun(atelier)
    shown = [event async for event in atelier.runs.replay(handle.workflow_id)]
    assert atelier.journal.last_stream_seq(handle.workflow_id) == len(shown) > 0
    heard: list[StreamEvent] = []
    atelier.bus.subscribe(heard.append)
    atelier.journal.publish(handle.current, Token(content="a", message_id="m"))
    [token] = heard
    assert (token.seq, token.durable, token.data["content"]) == (len(shown), False, "a")
    assert token == StreamEvent.model_validate(token.model_dump()), "as if it had been validated"
    assert (token.run_id, token.agent_name) == (handle.run_id, shown[-1].agent_name)
    atelier.journal.forget(handle.workflow_id)
    assert atelier.journal.last_stream_seq(handle.workflow_id) == 0


@pytest.mark.parametrize(
    "body",
    [
        EntryPinned(origin="r:2"),
        CompactionUndone(origin="r:2"),
        TitleGenerated(title="A"),
        MemoryExtractionDone(),
        QueueChanged(order=()),
        MediaPaid(call_id="c"),
        PictureDescribed(call_id="c"),
    ],
)
async def test_events_without_work_may_follow_the_end(body: EventBody, atelier: Atelier) -> None:
    handle = await begun(atelier)
    await atelier.journal.append(handle, said(), RunFinished(status=RunStatus.COMPLETED))
    await atelier.journal.append(handle, body)
    assert (await run_events(atelier.repos, "r"))[-1].body == body
    assert handle.current.status is RunStatus.COMPLETED


@pytest.mark.parametrize(
    "body",
    [
        RunResumed(),
        ChildFinished(child_id="c", status=ChildStatus.COMPLETED),
        ChildAsked(child_id="c", message="?"),
        ChildAnswered(child_id="c", text="!", by="user"),
        LimitsRaised(child_id="c", raise_limits={}),
    ],
)
async def test_a_failed_run_continues_and_a_finished_one_does_not(body: EventBody, atelier: Atelier) -> None:
    failed = await begun(atelier, "failed")
    await atelier.journal.append(failed, RunFailed(code="auth", message="no key"))
    await atelier.journal.append(failed, body)
    over = await begun(atelier, "over", failed.workflow_id)
    await atelier.journal.append(over, RunFinished(status=RunStatus.COMPLETED))
    with pytest.raises(ConflictError):
        await atelier.journal.append(over, body)


async def test_listeners_are_told_which_lists_changed(atelier: Atelier) -> None:
    handle = await begun(atelier)
    changed: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: changed.append((topic, id)))
    task = Task(workflow_id=handle.workflow_id, run_id="r", name="a task")
    asked = approval(handle.workflow_id)
    reply = ModelReplied(reply=ChatReply(tool_calls=(tool_call("t", "a"),)))
    await atelier.journal.append(
        handle, reply, TaskChanged(action="create", task=task), ApprovalRequested(approval=asked)
    )
    assert {("approval", asked.id), ("task", task.id)} <= set(changed)
    assert ("settings", "approvals") not in changed
    rule = PermissionRule(text="t", action=Action.ALLOW)
    yes = ApprovalDecided(approval_id=asked.id, call_id="a", status=ApprovalStatus.APPROVED, rules=(rule,))
    await atelier.journal.append(handle, yes.model_copy(update={"scope": ApprovalScope.ALWAYS}))
    assert ("settings", "approvals") in changed
    changed.clear()
    version = atelier.journal.task_version(handle.workflow_id)
    await atelier.journal.show_branch(handle.workflow_id, None)
    assert ("task", handle.workflow_id) in changed, "the tasks of another branch"
    assert atelier.journal.task_version(handle.workflow_id) == version + 1
    assert await atelier.tasks.list(handle.workflow_id) == []


async def test_a_turn_of_another_branch_has_that_branchs_tasks(atelier: Atelier) -> None:
    first = await begun(atelier, "first")
    task = Task(workflow_id=first.workflow_id, run_id="first", name="a task")
    await atelier.journal.append(
        first, said(), TaskChanged(action="create", task=task), RunFinished(status=RunStatus.COMPLETED)
    )
    follows = await begun(atelier, "follows", first.workflow_id, previous_run_id="first")
    await atelier.journal.append(follows, RunFinished(status=RunStatus.COMPLETED))
    assert [each.name for each in await atelier.tasks.list(first.workflow_id)] == ["a task"]
    await begun(atelier, "instead", first.workflow_id)
    assert await atelier.tasks.list(first.workflow_id) == []


async def test_a_cancelled_append_is_completed(atelier: Atelier) -> None:
    handle = await begun(atelier)
    async with held(atelier):
        writing = asyncio.create_task(atelier.journal.append(handle, said()))
        await turns()
        for _again in range(3):
            writing.cancel()
            await turns()
        assert not writing.done()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert handle.current.last_seq == 3
    assert (await run_events(atelier.repos, "r"))[-1].seq == 3


async def test_a_run_whose_commit_failed_is_read_again_before_the_next(atelier: Atelier) -> None:
    handle = await begun(atelier)
    store = atelier.repos.journal.commit

    async def refused(commit: Commit) -> None:
        atelier.repos.journal.commit = store  # type: ignore[method-assign]
        raise StorageError("The disk is full.", code="disk_full")

    atelier.repos.journal.commit = refused  # type: ignore[method-assign]
    with pytest.raises(StorageError):
        await atelier.journal.append(handle, said())
    assert handle.stale
    await atelier.journal.refresh(handle)
    assert (handle.stale, handle.current.last_seq) == (False, 2)
    began = RunHandle("new", handle.workflow_id)
    atelier.repos.journal.commit = refused  # type: ignore[method-assign]
    with pytest.raises(StorageError):
        await atelier.journal.append(began, RunStarted(agent=agent()))
    assert not began.stale, "there is nothing to read of a run that did not begin"
    await atelier.journal.append(began, RunStarted(agent=agent()))


# equivalent: journal.py module: `1000` → `999`
#   How many events are read at once is a choice; reading over several pages is tested above.
# equivalent: journal.py module: `1000` → `1001`
#   As above.
