"""The kinds of stream events."""

from __future__ import annotations

from enum import StrEnum


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
