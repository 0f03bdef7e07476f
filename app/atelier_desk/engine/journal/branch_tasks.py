"""Tasks of one branch of a workflow, derived from the journal. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from atelier_desk.domain.events.run import RunEvent, TaskChanged
from atelier_desk.domain.task import Task


def tasks_of(events: Iterable[RunEvent], runs: Collection[str]) -> dict[str, Task]:
    """Return the tasks by id after ``events`` on the branch consisting of ``runs`` (including sub-agents).

    Changes by a run apply to its own branches only: when its turn is regenerated, they are gone. Changes by a person
    apply everywhere; of one made while another branch was displayed, only the changed fields. A person's own tasks
    belong to the workflow: viewing another version of an answer must not lose a note.
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
