"""What the journal writes in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atelier_desk.domain.approval import AllowRule, ApprovalRequest
from atelier_desk.domain.context import PromptFrame
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, Run, ToolExecution


@dataclass(frozen=True)
class Commit:
    """Events and the rows that follow from them; all are kept or none.

    Attributes:
        events: appended; a number that exists already in its run is refused.
        runs: the rows of the runs the events belong to; all of one workflow.
        workflow: changed fields of the workflow's row, ``stream_seq`` among them.
        clear_partial: ids of the runs whose partial reply is no longer needed.
        deleted_tasks, deleted_messages: ids of rows that are gone.
        rename: the name the workflow was read with and its new one; another name it got meanwhile stays.
        rules: what is allowed from now on; they belong to no workflow.
    """

    events: tuple[RunEvent, ...] = ()
    runs: tuple[Run, ...] = ()
    workflow: dict[str, Any] | None = None
    messages: tuple[Message, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()
    frames: tuple[PromptFrame, ...] = ()
    tasks: tuple[Task, ...] = ()
    clear_partial: tuple[str, ...] = ()
    deleted_tasks: tuple[str, ...] = ()
    deleted_messages: tuple[str, ...] = ()
    rename: tuple[str, str] | None = None
    rules: tuple[AllowRule, ...] = ()

    of: str = ""
    """The workflow, where no event or row tells it."""

    @property
    def workflow_id(self) -> str | None:
        """The workflow all of it belongs to, None when there is nothing to tell it from."""
        rows: tuple[RunEvent | Run | Message | ToolExecution | UserQuestion | ApprovalRequest | PromptFrame | Task, ...] = (
            *self.events,
            *self.runs,
            *self.messages,
            *self.executions,
            *self.questions,
            *self.approvals,
            *self.frames,
            *self.tasks,
        )
        return rows[0].workflow_id if rows else self.of or None
