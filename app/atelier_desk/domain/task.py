"""Tasks of a workflow, planned by an agent or its user."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now


class TaskStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BLOCKED = "blocked"


class Task(Model):
    """One task. ``priority`` 1 is most urgent, 5 least. ``position`` orders the pane; ``run_id`` is empty for a
    person's task.

    ``duration_ms``: measured from start to end, or as stated by an agent or person.
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    run_id: str = ""
    name: str = Field(min_length=1, max_length=limits.TASK_NAME)
    description: str = Field(default="", max_length=limits.TASK_DESCRIPTION)
    agent_assigned: str = ""
    priority: int = Field(default=limits.TASK_PRIORITY_DEFAULT, ge=limits.TASK_PRIORITY[0], le=limits.TASK_PRIORITY[1])
    status: TaskStatus = TaskStatus.PENDING
    dependencies: tuple[str, ...] = ()
    position: float = 0.0
    duration_ms: int | None = Field(default=None, ge=0)
    created_at: Timestamp = Field(default_factory=utc_now)
    started_at: Timestamp | None = None
    completed_at: Timestamp | None = None
