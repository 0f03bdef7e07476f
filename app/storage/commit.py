"""What the journal writes in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.domain.events import RunEvent
from app.domain.question import UserQuestion
from app.domain.task import Task
from app.domain.workflow import Message, Run, ToolExecution


@dataclass(frozen=True)
class Commit:
    """Events and the rows that follow from them; all are kept or none.

    Attributes:
        events: appended; a number that exists already in its run is refused.
        workflow: changed fields of the workflow's row, ``stream_seq`` among them.
        clear_partial: id of the run whose partial reply is no longer needed.
        deleted_tasks: ids of tasks that are gone.
    """

    events: tuple[RunEvent, ...] = ()
    run: Run | None = None
    workflow: dict[str, Any] | None = None
    messages: tuple[Message, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    tasks: tuple[Task, ...] = ()
    clear_partial: str | None = None
    deleted_tasks: tuple[str, ...] = ()

    @property
    def workflow_id(self) -> str | None:
        """The workflow all of it belongs to, None when there is nothing to tell it from."""
        run = (self.run,) if self.run is not None else ()
        rows: tuple[RunEvent | Run | Message | ToolExecution | UserQuestion | Task, ...] = (
            *self.events,
            *run,
            *self.messages,
            *self.executions,
            *self.questions,
            *self.tasks,
        )
        return rows[0].workflow_id if rows else None
