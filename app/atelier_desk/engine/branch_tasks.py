"""The tasks of one branch of a workflow, from the journal. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from atelier_desk.domain.events.run import RunEvent, TaskChanged
from atelier_desk.domain.task import Task


def tasks_of(events: Iterable[RunEvent], runs: Collection[str]) -> dict[str, Task]:
    """The tasks by id after ``events``, as a branch has them whose runs, sub-agents counted, are ``runs``.

    What a run did to tasks holds on its own branches: where its turn is answered again, it is as if it had not been done. What a person
    did holds wherever the task is, and of a change made while another branch was shown only the changed fields. A person's own tasks
    belong to the workflow: nobody looks at another version of an answer to lose a note of their own.
    """
    tasks: dict[str, Task] = {}
    for event in events:
        body = event.body
        assert isinstance(body, TaskChanged)
        task = body.task
        if (event.run_id and event.run_id not in runs) or (task.run_id and task.run_id not in runs):
            continue
        if body.action == "delete":
            tasks.pop(task.id, None)
        elif body.fields is None:
            tasks[task.id] = task
        elif task.id in tasks:
            tasks[task.id] = tasks[task.id].model_copy(update={name: getattr(task, name) for name in body.fields})
    return tasks
