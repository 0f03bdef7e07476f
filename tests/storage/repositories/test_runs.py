"""The journal: all or nothing, in order, exactly once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.events.run import RunEvent, TaskChanged, UserMessage
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Run, RunStatus, Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.writing.journal_commit import Commit


def event(workflow: Workflow, seq: int, *, run: str = "run", stream: int = 0) -> RunEvent:
    return RunEvent(
        workflow_id=workflow.id, run_id=run, seq=seq, stream_from=stream, body=UserMessage(content=f"event {seq}")
    )


async def test_a_commit_writes_everything(repos: Repositories, workflow: Workflow) -> None:
    run = Run(workflow_id=workflow.id, usage=Usage(cost=0.1))
    task = Task(workflow_id=workflow.id, name="t")
    message = Message(workflow_id=workflow.id, run_id=run.id, seq=1, role=MessageRole.USER, content="hello")
    await repos.journal.save_partial(run.id, workflow.id, "m", "half a", "thinking")
    await repos.journal.commit(
        Commit(
            events=(event(workflow, 1, run=run.id),),
            runs=(run,),
            workflow={"stream_seq": 7, "usage": Usage(tokens_input=5)},
            messages=(message,),
            tasks=(task,),
            clear_partial=(run.id,),
        )
    )
    stored = await repos.workflows.get(workflow.id)
    assert (stored.stream_seq, stored.usage.tokens_input, stored.name) == (7, 5, workflow.name)
    assert await repos.runs.get(run.id) == run
    assert await repos.messages.page(workflow.id) == [message]
    assert await repos.tasks.list(workflow.id) == [task]
    assert await repos.journal.partial(run.id) is None


async def test_a_failing_part_rolls_back_the_commit(repos: Repositories, workflow: Workflow) -> None:
    await repos.journal.commit(Commit(events=(event(workflow, 1),)))
    task = Task(workflow_id=workflow.id, name="t")
    with pytest.raises(StorageError):
        await repos.journal.commit(
            Commit(events=(event(workflow, 2), event(workflow, 1)), tasks=(task,), workflow={"stream_seq": 9})
        )
    assert [each.seq for each in await repos.journal.events("run")] == [1]
    assert await repos.tasks.list(workflow.id) == []
    assert (await repos.workflows.get(workflow.id)).stream_seq == 0


async def test_events_are_read_in_order_page_by_page(repos: Repositories, workflow: Workflow) -> None:
    written = tuple(event(workflow, seq) for seq in range(1, 26))
    await repos.journal.commit(Commit(events=written[:10]))
    await repos.journal.commit(Commit(events=written[10:]))
    await repos.journal.commit(Commit(events=(event(workflow, 1, run="other"),)))
    read: list[RunEvent] = []
    while page := await repos.journal.events("run", after=read[-1].seq if read else 0, limit=7):
        read += page
    assert tuple(read) == written


async def test_events_of_a_workflow_are_in_stream_order(repos: Repositories, workflow: Workflow) -> None:
    own = RunEvent(
        workflow_id=workflow.id,
        stream_from=4,
        body=TaskChanged(action="create", task=Task(workflow_id=workflow.id, name="t")),
    )
    second = own.model_copy(update={"id": "second", "stream_from": 6})
    await repos.journal.commit(
        Commit(events=(event(workflow, 1, stream=1), event(workflow, 2), event(workflow, 3, stream=5), own, second))
    )
    assert [each.stream_from for each in await repos.journal.workflow_events(workflow.id)] == [1, 4, 5, 6]
    assert [each.stream_from for each in await repos.journal.workflow_events(workflow.id, 4)] == [5, 6]
    assert (await repos.journal.workflow_events(workflow.id, 3, 1)) == [own]


async def test_events_of_several_runs_and_of_one_type(repos: Repositories, workflow: Workflow) -> None:
    task = Task(workflow_id=workflow.id, name="t")
    changed = RunEvent(workflow_id=workflow.id, stream_from=4, body=TaskChanged(action="create", task=task))
    written = (
        event(workflow, 1, run="a", stream=1),
        event(workflow, 1, run="b", stream=2),
        event(workflow, 2, run="a", stream=3),
        event(workflow, 1, run="c", stream=3),
        changed,
    )
    await repos.journal.commit(Commit(events=written))
    found = await repos.journal.of_runs(["a", "b"])
    assert [(each.run_id, each.seq) for each in found] == [("a", 1), ("b", 1), ("a", 2)]
    assert await repos.journal.of_runs(["a", "b"], offset=1, limit=1) == [found[1]]
    assert await repos.journal.of_runs(["a", "b"], types=["user_message"]) == found
    assert await repos.journal.of_runs(["a", "b"], types=["run_started"]) == []
    assert await repos.journal.of_runs([]) == []
    assert await repos.journal.of_type(workflow.id, "task_changed") == [changed]
    assert await repos.journal.of_type(workflow.id, "task_changed", offset=1) == []


async def test_all_runs_of_a_team_are_found_by_its_root(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    rows = [
        Run(id="root", workflow_id=workflow.id, correlation_id="root", created_at=now),
        Run(
            id="child",
            workflow_id=workflow.id,
            parent_run_id="root",
            correlation_id="root",
            created_at=now + timedelta(seconds=1),
        ),
        Run(
            id="below",
            workflow_id=workflow.id,
            parent_run_id="child",
            correlation_id="root",
            created_at=now + timedelta(seconds=2),
        ),
        Run(id="other", workflow_id=workflow.id, correlation_id="other", created_at=now + timedelta(seconds=3)),
    ]
    for row in reversed(rows):
        await repos.runs.save(row)
    assert await repos.runs.teams(["root"]) == rows[:3]
    assert await repos.runs.teams(["other", "root"]) == rows
    assert await repos.runs.teams([]) == []


async def test_a_partial_reply_is_replaced(repos: Repositories, workflow: Workflow) -> None:
    await repos.journal.save_partial("run", workflow.id, "m", "a", "")
    used = Usage(tokens_input=7, tokens_output=2, cost=0.5, estimated=True)
    await repos.journal.save_partial("run", workflow.id, "m", "a b", "r", used)
    partial = await repos.journal.partial("run")
    assert partial is not None
    assert (partial["content"], partial["reasoning"], partial["message_id"], partial["workflow_id"]) == (
        "a b",
        "r",
        "m",
        workflow.id,
    )
    assert partial["usage"] == used


async def test_runs_are_listed_oldest_first_and_active_ones_found(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    runs = [
        Run(workflow_id=workflow.id, status=status, created_at=now + timedelta(seconds=number))
        for number, status in enumerate(
            [RunStatus.COMPLETED, RunStatus.AWAITING_USER, RunStatus.PROCESSING, RunStatus.ABANDONED]
        )
    ]
    for run in reversed(runs):
        await repos.runs.save(run)
    assert await repos.runs.list(workflow.id) == runs
    assert await repos.runs.alive() == runs[1:3]


async def test_tasks_are_deleted_with_their_event(repos: Repositories, workflow: Workflow) -> None:
    task = Task(workflow_id=workflow.id, name="t")
    await repos.journal.commit(Commit(tasks=(task,)))
    await repos.journal.commit(Commit(events=(event(workflow, 1),), deleted_tasks=(task.id,)))
    assert await repos.tasks.list(workflow.id) == []


async def test_an_empty_commit_does_nothing_and_one_without_a_workflow_is_refused(repos: Repositories) -> None:
    await repos.journal.commit(Commit())
    with pytest.raises(ValueError, match="needs an event"):
        await repos.journal.commit(Commit(workflow={"stream_seq": 1}))
    with pytest.raises(NotFoundError):
        await repos.runs.get("missing")


async def test_a_team_is_found_by_its_root_and_by_its_parents(repos: Repositories, workflow: Workflow) -> None:
    now = utc_now()
    runs = [
        Run(
            id=name,
            workflow_id=workflow.id,
            parent_run_id=parent,
            correlation_id=root,
            depth=depth,
            created_at=now + timedelta(seconds=at),
        )
        for at, (name, parent, root, depth) in enumerate(
            [
                ("root", None, "root", 0),
                ("a", "root", "root", 1),
                ("b", "root", "root", 1),
                ("aa", "a", "root", 2),
                ("other", None, "other", 0),
                ("x", "other", "other", 1),
            ]
        )
    ]
    await repos.journal.commit(Commit(runs=tuple(reversed(runs))))
    assert [run.id for run in await repos.runs.children("root")] == ["a", "b"]
    assert await repos.runs.children("a") == [runs[3]]
    assert await repos.runs.children("aa") == []
    assert await repos.runs.teams(["root"]) == runs[:4]
    assert await repos.runs.teams(["other", "root"]) == runs
    assert await repos.runs.teams([]) == []
    assert [link.parent_run_id for link in await repos.runs.links(workflow.id)] == [
        None,
        "root",
        "root",
        "a",
        None,
        "other",
    ]


async def test_the_runs_of_deleted_branches_are_found_without_the_others(repos: Repositories) -> None:
    workflow = await repos.workflows.create(Workflow(name="W"))
    other = await repos.workflows.create(Workflow(name="Other"))
    gone = {"gone": workflow.id, "elsewhere": other.id}
    runs = [Run(id=name, workflow_id=workflow_id, deleted_at=utc_now()) for name, workflow_id in gone.items()]
    await repos.journal.commit(Commit(runs=(*runs, Run(id="shown", workflow_id=workflow.id))))
    assert await repos.runs.deleted(workflow.id) == {"gone"}
    assert await repos.runs.deleted("nowhere") == set()
