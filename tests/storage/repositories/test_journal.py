"""The journal: all or nothing, in order, exactly once."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.events.run import RunEvent, TaskChanged, UserMessage
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, MessageRole, Run, Workflow
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
