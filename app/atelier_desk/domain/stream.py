"""Stream events: what ``run --json`` prints and the desktop's bridge carries. The shape is fixed by the interfaces page, version 1."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import ConfigDict, Field

from atelier_desk.domain.base import Model, Timestamp, utc_now

Topic = Literal[
    "workflow", "agent", "provider", "model", "memory", "report", "settings", "task", "question", "approval", "download", "tool"
]
"""What a change is about. The id beside it is that of the row, of ``settings`` the name of the field; empty means all of them."""


class ChunkType(StrEnum):
    WORKFLOW_START = "workflow_start"
    WORKFLOW_COMPLETE = "workflow_complete"
    RUN_STATUS = "run_status"
    TOKEN = "token"  # noqa: S105 - a kind of chunk, not a secret
    REASONING = "reasoning"
    MESSAGE = "message"
    TOOL_START = "tool_start"
    TOOL_PROGRESS = "tool_progress"
    TOOL_END = "tool_end"
    SUB_AGENT_START = "sub_agent_start"
    SUB_AGENT_PROGRESS = "sub_agent_progress"
    SUB_AGENT_COMPLETE = "sub_agent_complete"
    SUB_AGENT_ERROR = "sub_agent_error"
    SUB_AGENT_QUESTION = "sub_agent_question"
    SUB_AGENT_ANSWER = "sub_agent_answer"
    VALIDATION_REQUIRED = "validation_required"
    VALIDATION_RESPONSE = "validation_response"
    CONTEXT_CHANGED = "context_changed"
    TASK_CREATE = "task_create"
    TASK_UPDATE = "task_update"
    TASK_COMPLETE = "task_complete"
    TASK_DELETE = "task_delete"
    USER_QUESTION_START = "user_question_start"
    USER_QUESTION_COMPLETE = "user_question_complete"
    USAGE = "usage"
    CONTEXT_COMPACTED = "context_compacted"
    LIMIT_REACHED = "limit_reached"
    LOOP_DETECTED = "loop_detected"
    RETRY = "retry"
    ERROR = "error"


class StreamEvent(Model):
    """One event of the stream; the fields beyond the envelope depend on ``chunk_type`` and are kept in ``data``.

    ``wire()`` gives the flat JSON object of the interfaces page. A durable event has the next number of its workflow; one that is not
    durable carries the number of the last durable event before it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: int = 1
    seq: int = 0
    time: Timestamp = Field(default_factory=utc_now)
    workflow_id: str
    run_id: str = ""
    parent_run_id: str | None = None
    correlation_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    depth: int = 0
    durable: bool = True
    chunk_type: ChunkType
    data: dict[str, Any] = {}

    def wire(self) -> dict[str, Any]:
        """The flat object that leaves the process."""
        envelope = self.model_dump(mode="json", exclude={"data"})
        return {**envelope, **self.data}

    @classmethod
    def from_wire(cls, obj: dict[str, Any]) -> StreamEvent:
        """The inverse of ``wire``; fields that are not of the envelope become ``data``."""
        envelope = {key: value for key, value in obj.items() if key in cls.model_fields and key != "data"}
        return cls(**envelope, data={key: value for key, value in obj.items() if key not in cls.model_fields})
