"""Content of one transaction of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.audit import AuditEntry
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Message, Run, ToolExecution
from atelier_desk.storage.writing.sent_request_keys import SentKey


class Rename(NamedTuple):
    """A workflow's new name and its author.

    Not applied if the name is no longer ``old``, or if a person chose the present one, unless the new one is a person's
    too.
    """

    old: str
    new: str
    by: str


@dataclass(frozen=True)
class Commit:
    """Events and the rows that follow from them; committed together or not at all.

    Attributes:
        events: appended; a number that already exists in its run is refused.
        runs: the rows of the runs the events belong to; all of one workflow.
        workflow: changed fields of the workflow's row, including ``stream_seq``.
        clear_partial: ids of runs whose partial reply is no longer needed.
        settled: requests whose usage an event has now, or that used nothing.
        deleted_tasks, deleted_messages: ids of deleted rows.
        rename: of the workflow.
        audit: decisions about calls, one entry per event.
        rules: new permission rules; they belong to no workflow. ``matched_rules``: by id, when a rule last decided a
            call.
        pins: by message id, whether it is pinned; missing messages are skipped.
        deleted_runs: by run id, when it was deleted; None restores it.
    """

    events: tuple[RunEvent, ...] = ()
    runs: tuple[Run, ...] = ()
    workflow: Mapping[str, Any] | None = None
    messages: tuple[Message, ...] = ()
    executions: tuple[ToolExecution, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    approvals: tuple[ApprovalRequest, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    frames: tuple[PromptFrame, ...] = ()
    tasks: tuple[Task, ...] = ()
    clear_partial: tuple[str, ...] = ()
    settled: tuple[SentKey, ...] = ()
    deleted_tasks: tuple[str, ...] = ()
    deleted_messages: tuple[str, ...] = ()
    rename: Rename | None = None
    rules: tuple[PermissionRule, ...] = ()
    matched_rules: Mapping[str, datetime] = field(default_factory=dict)
    pins: dict[str, bool] = field(default_factory=dict)
    deleted_runs: dict[str, datetime | None] = field(default_factory=dict)

    of: str = ""
    """The workflow, if no event or row tells it."""

    @property
    def workflow_id(self) -> str | None:
        """The workflow that everything belongs to, None if it cannot be derived."""
        rows: tuple[
            RunEvent | Run | Message | ToolExecution | UserQuestion | ApprovalRequest | AuditEntry | PromptFrame | Task,
            ...,
        ] = (
            *self.events,
            *self.runs,
            *self.messages,
            *self.executions,
            *self.questions,
            *self.approvals,
            *self.audit,
            *self.frames,
            *self.tasks,
        )
        return rows[0].workflow_id if rows else self.of or None
