"""Reading journals back: the order of commits, replaying teams, and forking them at any event."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.approval import ApprovalFlags, ApprovalSettings
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import RunEvent, RunPaused, TaskChanged, UserMessage, event_id
from atelier_desk.domain.model_messages import ChatRequest, Role, ToolCall
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import RunStatus, Workflow
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal import replay_and_fork
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.journal.replay_and_fork import _CommitOrder, workflow_events
from atelier_desk.engine.maintenance.doctor import checks
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import NOT_STARTED
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, Recorder, completed, send_and_wait, stored_status
from tests.helpers.scripted_teams import ask_parent, ask_user, begin, calculate, scripts, spawn
from tests.helpers.tool_calls import tool_call

EVERY = int(os.environ.get("ATELIER_FORK_EVERY", "5"))
"""Every how many events of a team are forked at, besides those that concern two runs; 1 forks at each (half a
minute).
"""
Answers = Callable[[AgentConfig], ScriptedModel]


def whenever(*calls: ToolCall, then: str) -> Step:
    """A model's complete behaviour: it makes its calls once, then answers."""

    def answer(request: ChatRequest) -> Step:
        return then if any(message.role is Role.TOOL for message in request.messages) else list(calls)

    return answer


def team(**behaviours: Step) -> Answers:
    """Models that behave the same however often and at whatever point they are asked."""
    return scripts(**{name: [step] * 1000 for name, step in behaviours.items()})


def batch() -> Answers:
    """Two sub-agents in parallel, one of which has a sub-agent and a plan."""
    todo = tool_call("TodoTool", "t", operation="create", name="write")
    return team(
        Tester=whenever(spawn("s1", "Reader", "Add."), spawn("s2", "Writer", "Write."), then="Both are done."),
        Reader=whenever(calculate("c", "1+1"), then="It is 2."),
        Writer=whenever(todo, spawn("deep", "Helper", "Rhyme."), then="A line."),
        Helper=lambda request: "Time, rhyme.",
    )


async def rest(atelier: Atelier, workflow_id: str) -> None:
    """Wait until nothing of the workflow works; runs may start others meanwhile."""
    known = 0
    while known != (known := len(rows := await atelier.repos.runs.list(workflow_id))):
        for row in rows:
            await atelier.runs.wait(row.id)


async def places(atelier: Atelier, workflow_id: str) -> list[int]:
    """Stream numbers to fork at."""
    pairs = ("child_started", "child_finished", "parent_asked", "child_asked", "parent_answered", "child_answered")
    at = {event.stream_from async for event in workflow_events(atelier.repos, workflow_id) if event.body.type in pairs}
    last = (await atelier.workflows.get(workflow_id)).stream_seq
    return sorted({*at, *range(1, last + 1, EVERY), last} & set(range(1, last + 1)))


async def everything(atelier: Atelier, workflow_id: str) -> str:
    """Everything stored of a workflow, as one text."""
    repos = atelier.repos
    events = [event async for event in workflow_events(repos, workflow_id)]
    runs = await repos.runs.list(workflow_id)
    rows: list[Any] = [
        *events,
        *runs,
        *await repos.messages.page(workflow_id, limit=1000),
        *await repos.executions.for_runs([run.id for run in runs]),
        *await repos.tasks.list(workflow_id),
        *await repos.questions.list(workflow_id),
        *await repos.approvals.list(workflow_id),
        await repos.workflows.get(workflow_id),
    ]
    return "\n".join(row.model_dump_json() for row in rows)


async def identities(atelier: Atelier, workflow_id: str) -> set[str]:
    """Every id that a fork must not share with its original."""
    repos = atelier.repos
    rows: list[Any] = [
        *await repos.runs.list(workflow_id),
        *await repos.messages.page(workflow_id, limit=1000),
        *await repos.tasks.list(workflow_id),
        *await repos.questions.list(workflow_id),
        *await repos.approvals.list(workflow_id),
    ]
    frames = {getattr(event.body, "frame", "") async for event in workflow_events(repos, workflow_id)} - {""}
    return {row.id for row in rows} | frames | {workflow_id}


async def assert_consistent(atelier: Atelier, fork: Workflow) -> None:
    """Check that parents and sub-agents agree about each other, and that unfinished runs are paused."""
    rows = {row.id: row for row in await atelier.repos.runs.list(fork.id)}
    for row in rows.values():
        assert row.status.final or row.status is RunStatus.PAUSED
        assert row.correlation_id in rows
        assert row.parent_run_id is None or row.parent_run_id in rows
    if fork.head_run_id is None:
        return
    tree = await atelier.teams.tree(fork.id)
    for node in tree.walk():
        assert (node.run_id in rows) == (node.status not in NOT_STARTED)
        handle = None if node.parent_run_id is None else await atelier.runs.wait(node.parent_run_id)
        assert handle is None or handle.id == node.parent_run_id
    assert {node.run_id for node in tree.walk() if node.status not in NOT_STARTED} == set(rows)


async def test_a_team_can_be_forked_at_every_event_and_continues_from_there(open_atelier: Opener) -> None:
    async with open_atelier(batch()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        before = await everything(atelier, workflow_id)
        old = await identities(atelier, workflow_id)
        for at in await places(atelier, workflow_id):
            fork = await atelier.runs.fork(workflow_id, at=at)
            copied = await everything(atelier, fork.id)
            assert not [each for each in old if each in copied], f"fork at {at} names what belongs to the original"
            await assert_consistent(atelier, fork)
            assert fork.head_run_id is not None
            if await stored_status(atelier, fork.head_run_id) is RunStatus.PAUSED:
                await atelier.runs.steering.resume(fork.head_run_id)
            await rest(atelier, fork.id)
            done = await atelier.teams.tree(fork.id)
            assert [node.status for node in done.walk()] == ["completed"] * 4, f"fork at {at}"
            assert [node.report for node in done.walk()] == ["Both are done.", "It is 2.", "A line.", "Time, rhyme."]
            assert [task.name for task in await atelier.tasks.list(fork.id)] == ["write"]
        assert await everything(atelier, workflow_id) == before


async def test_a_replay_of_a_fork_equals_what_was_published_of_it(open_atelier: Opener) -> None:
    async with open_atelier(batch()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        seen = Recorder(atelier)
        last = (await atelier.workflows.get(workflow_id)).stream_seq
        fork = await atelier.runs.fork(workflow_id, at=last // 2)
        assert fork.head_run_id is not None
        await atelier.runs.steering.resume(fork.head_run_id)
        await rest(atelier, fork.id)
        published = [event.wire() for event in seen.events if event.durable and event.workflow_id == fork.id]
        assert published == [event.wire() async for event in atelier.runs.replay(fork.id)]
        team_sums = [event["team"] for event in published if event["chunk_type"] == "usage"]
        tree = await atelier.teams.tree(fork.id)
        assert isinstance(team_sums[-1], dict)
        assert team_sums[-1]["tokens_output"] == tree.total.usage.tokens_output


async def test_a_fork_keeps_the_times_of_events(open_atelier: Opener) -> None:
    async with open_atelier(batch()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        before = [event async for event in atelier.runs.replay(workflow_id)]
        fork = await atelier.runs.fork(workflow_id, at=before[-1].seq)
        after = [event async for event in atelier.runs.replay(fork.id)]
        assert [event.time for event in after] == [event.time for event in before]
        said, again = await atelier.workflows.transcript(workflow_id), await atelier.workflows.transcript(fork.id)
        assert [entry.message.created_at for entry in again] == [entry.message.created_at for entry in said]
        assert fork.updated_at > before[-1].time, "the copy itself is new"
        assert (await atelier.workflows.list())[0].id == fork.id


async def test_a_waiting_team_waits_in_its_fork_too(open_atelier: Opener) -> None:
    risky = whenever(calculate("c", "1+1"), then="It is 2.")
    factory = team(
        Tester=whenever(spawn("s1", "Careful"), spawn("s2", "Asker"), then="Done."),
        Careful=risky,
        Asker=whenever(ask_user("q"), then="Blue."),
    )
    async with open_atelier(factory) as atelier:
        await atelier.settings.update(
            approvals=ApprovalSettings(auto_approve_low=False, risks={"SpawnAgentTool": "low"})
        )
        seen = Recorder(atelier)
        workflow_id, run_id = await begin(atelier, approval="manual")
        decided = 0
        while decided < 4:
            await rest(atelier, workflow_id)
            pending = [
                each for each in await atelier.repos.approvals.pending(workflow_id) if each.tool != "CalculatorTool"
            ]
            for each in pending:
                await atelier.approvals.approve(each.id)
            decided += 1
        await seen.until(ChunkType.USER_QUESTION_START)
        await seen.until(ChunkType.VALIDATION_REQUIRED, tool="CalculatorTool")
        await rest(atelier, workflow_id)
        original = await atelier.workflows.get(workflow_id)
        assert (original.pending_questions, original.pending_approvals) == (1, 1)
        fork = await atelier.runs.fork(workflow_id, at=original.stream_seq)
        assert (fork.pending_questions, fork.pending_approvals) == (1, 1)
        (approval,) = await atelier.repos.approvals.pending(fork.id)
        (question,) = await atelier.repos.questions.pending(fork.id)
        runs = {run.id: run for run in await atelier.repos.runs.list(fork.id)}
        assert runs[approval.run_id].agent_name == "Careful"
        assert approval.root_run_id == fork.head_run_id
        assert [each.run_id for each in approval.lineage] == [fork.head_run_id]
        assert [each.run_id for each in question.lineage] == [fork.head_run_id]
        assert fork.head_run_id is not None
        await atelier.runs.steering.resume(fork.head_run_id)
        await atelier.approvals.approve(approval.id)
        await atelier.runs.answering.answer_question(question.id, QuestionStatus.ANSWERED, (), "blue")
        await rest(atelier, fork.id)
        assert [node.status for node in (await atelier.teams.tree(fork.id)).walk()] == ["completed"] * 3
        # The original still waits.
        assert await atelier.workflows.get(workflow_id) == original
        assert [each.run_id in runs for each in await atelier.repos.approvals.pending(workflow_id)] == [False]
        assert run_id not in runs


async def test_the_model_of_a_fork_answers_the_sub_agent_of_the_fork(open_atelier: Opener) -> None:
    def lead(request: ChatRequest) -> Step:
        results = [message for message in request.messages if message.role is Role.TOOL]
        if not results:
            return [spawn("s1", "Asker")]
        if "Which file?" in results[-1].content:
            child = re.search(r'"child_id": ?"([0-9a-f]{24,32})"', results[-1].content)
            assert child is not None
            return [tool_call("answer_child", "a1", child_id=child[1], message="That one.")]
        return "Done."

    factory = team(Tester=lead, Asker=whenever(ask_parent("p", "Which file?"), then="Used that one."))
    async with open_atelier(factory) as atelier:
        workflow_id, run_id = await begin(atelier)
        await rest(atelier, workflow_id)
        await completed(atelier, run_id)
        for at in await places(atelier, workflow_id):
            fork = await atelier.runs.fork(workflow_id, at=at)
            assert fork.head_run_id is not None
            if await stored_status(atelier, fork.head_run_id) is RunStatus.PAUSED:
                await atelier.runs.steering.resume(fork.head_run_id)
            await rest(atelier, fork.id)
            tree = await atelier.teams.tree(fork.id)
            assert [(node.status, node.report) for node in tree.walk()] == [
                ("completed", "Done."),
                ("completed", "Used that one."),
            ], at


async def test_pins_in_a_fork_are_independent(open_atelier: Opener) -> None:
    async with open_atelier(["one"]) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        await atelier.runs.editing.pin(workflow_id, f"{run_id}:2", True)
        last = (await atelier.workflows.get(workflow_id)).stream_seq
        fork = await atelier.runs.fork(workflow_id, at=last)
        assert fork.head_run_id is not None
        (summary,) = await atelier.inspector.requests(fork.head_run_id)
        request = await atelier.inspector.request(fork.head_run_id, summary.seq)
        assert [(item.origin, item.pinned) for item in request.items if item.kind == "user"] == [
            (f"{fork.head_run_id}:2", True)
        ]
        assert request.exact
        assert request.messages == (await atelier.inspector.request(run_id, summary.seq)).messages


async def test_a_commit_is_forked_as_a_unit(open_atelier: Opener) -> None:
    async with open_atelier(["one"]) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        events = await run_events(atelier.repos, run_id)
        assert events[0].commit == events[1].commit != events[2].commit
        fork = await atelier.runs.fork(workflow_id, at=1)
        assert fork.head_run_id is not None
        copied = [event.body for event in await run_events(atelier.repos, fork.head_run_id)]
        assert [body.type for body in copied] == ["run_started", "user_message", "run_paused"]
        assert isinstance(copied[2], RunPaused)


async def test_all_events_are_read_where_more_than_a_page_have_one_number(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_and_fork, "PAGE", 3)
    async with open_atelier([]) as atelier:
        workflow = await atelier.workflows.create()
        written = [
            RunEvent(
                id=f"e{number:02}",
                workflow_id=workflow.id,
                stream_from=1 if number < 9 else number,
                body=TaskChanged(action="create", task=Task(workflow_id=workflow.id, name=f"{number}")),
            )
            for number in range(14)
        ]
        await atelier.repos.journal.commit(Commit(events=tuple(written)))
        read = [event.id async for event in workflow_events(atelier.repos, workflow.id)]
    assert sorted(read) == [event.id for event in written]


async def test_an_imported_copy_is_forked_like_its_original(open_atelier: Opener) -> None:
    async with open_atelier(batch()) as atelier:
        workflow_id, run_id = await begin(atelier)
        await atelier.runs.wait(run_id)
        text = await atelier.workflows.export(workflow_id, "json")
        # Approvals of the original are not in its file: the owner's own settings apply.
        await atelier.settings.update(approvals=ApprovalSettings(flags=ApprovalFlags(sub_agents=False)))
        copy = (await atelier.workflows.import_(text, on_conflict="rename")).workflow
        events = [event async for event in workflow_events(atelier.repos, copy.id)]
        assert not {event.id for event in events} & {
            event.id async for event in workflow_events(atelier.repos, workflow_id)
        }
        started = next(event for event in events if event.body.type == "child_started")
        fork = await atelier.runs.fork(copy.id, at=started.stream_from)
        assert fork.head_run_id is not None
        await assert_consistent(atelier, fork)
        await atelier.runs.steering.resume(fork.head_run_id)
        await rest(atelier, fork.id)
        assert [node.status for node in (await atelier.teams.tree(fork.id)).walk()] == ["completed"] * 4


def a_commit(*parts: tuple[str, int, int]) -> list[RunEvent]:
    """Events of one commit: run, number in the run, stream number."""
    name = new_id()
    return [
        RunEvent(
            id=event_id(name, index),
            workflow_id="w",
            run_id=run,
            seq=seq,
            stream_from=stream,
            body=UserMessage(content="x")
            if run
            else TaskChanged(action="create", task=Task(workflow_id="w", name="t")),
        )
        for index, (run, seq, stream) in enumerate(parts)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_events_are_in_the_order_of_their_commits(seed: int) -> None:
    chance = random.Random(seed)
    written: list[RunEvent] = []
    seqs = {"x": 0, "y": 0, "z": 0}
    stream = 1
    for _ in range(40):
        parts = []
        for _ in range(chance.randint(1, 4)):
            run = chance.choice(sorted(seqs))
            seqs[run] += 1
            parts.append((run, seqs[run], stream))
            stream += chance.choice([0, 0, 1, 2])
        written += a_commit(*parts)
    stored = sorted(written, key=lambda event: (event.stream_from, event.seq))
    order = _CommitOrder()
    read = [each for event in stored for each in order.add(event)] + order.rest()
    assert sorted(event.id for event in read) == sorted(event.id for event in written)
    assert [event.stream_from for event in read] == sorted(event.stream_from for event in written)
    for run in seqs:
        assert [event.seq for event in read if event.run_id == run] == list(range(1, seqs[run] + 1))
    # A commit is never split, and within it the order is that of writing.
    torn = [read[i].commit for i in range(len(read)) if i == 0 or read[i].commit != read[i - 1].commit]
    assert len(torn) == len(set(torn))
    for commit in torn:
        ids = [event.id for event in read if event.commit == commit]
        assert ids == sorted(ids)


DAMAGE = {
    "text": "UPDATE run_event SET body = '{}' WHERE run = $run AND type = 'user_message'",
    "lost": "DELETE run_event WHERE run = $run AND type = 'model_replied'",
    "tail": "DELETE run_event WHERE run = $run AND type = 'run_finished'",
    "message": "UPDATE message SET content = 'Worst' WHERE run = $run AND role = 'user'",
    "message lost": "DELETE message WHERE run = $run AND role = 'user'",
}


@pytest.mark.parametrize("name", DAMAGE)
async def test_damage_is_named_and_the_rest_can_be_read(open_atelier: Opener, tmp_path: Path, name: str) -> None:
    async with open_atelier(["One.", "Two.", "Three."]) as atelier:
        workflow = await atelier.workflows.create()
        first = await send_and_wait(atelier, workflow.id, "First")
        await send_and_wait(atelier, workflow.id, "Second")
        whole = [event async for event in atelier.runs.replay(workflow.id)]
        assert await atelier.workflows.exporting.damaged_rows(workflow.id) == []
        await atelier.repos.store.write(Statement(DAMAGE[name], {"run": record("run", first)}))

        shown = []
        with pytest.raises(StorageError, match=rf"Workflow {workflow.id}, run {first}: .*restore a backup"):
            async for event in atelier.runs.replay(workflow.id):
                shown.append(event)
        assert [event.seq for event in shown if event.run_id != first] == [
            event.seq for event in whole if event.run_id != first
        ]
        # Totals include only what can be read.
        assert all(event in whole for event in shown if event.chunk_type is not ChunkType.USAGE)
        if name.startswith("message"):
            assert shown == whole
            assert await atelier.runs.fork(workflow.id, whole[-1].seq)
        else:
            with pytest.raises(StorageError, match="event"):
                await atelier.runs.fork(workflow.id, whole[-1].seq)

        text = await atelier.workflows.export(workflow.id)
        assert "Worst" not in text
        assert "Two." in text
        assert {each.run for each in await atelier.workflows.exporting.damaged_rows(workflow.id)} == {first}
        copy = (await atelier.workflows.import_(text)).workflow
        assert await atelier.workflows.exporting.damaged_rows(copy.id) == []
        assert "Worst" not in await atelier.workflows.export(workflow.id, "md")

        check = next(each for each in await checks(atelier, deep=True) if each.name == "database")
        assert check.status == "fail"
        assert first in check.message
        info = await atelier.data.backup_create(tmp_path / "one.zip")
        assert {each.run for each in info.damaged_rows} == {first}
        transfer = await atelier.data.export_jsonl(tmp_path / "export")
        assert {each.run for each in transfer.damaged_rows} == {first}
