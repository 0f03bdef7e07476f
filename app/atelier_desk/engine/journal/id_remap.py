"""Ids inside values: which an event introduces, replacing them everywhere including in texts, and the files an event
names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from atelier_desk.domain.events.run import (
    ApprovalRequested,
    ChildrenPlanned,
    EventBody,
    ModelReplied,
    OutputShown,
    QuestionAsked,
    ReplyCutOff,
    TaskChanged,
    ToolCallFinished,
    UserMessage,
)
from atelier_desk.domain.result_parts import ArtefactPart

_WORD = re.compile(r"[0-9A-Za-z_-]{8,}")
"""Candidate for an id in a text; shorter words never are."""


def renamed(value: object, ids: Mapping[str, str]) -> object:
    """Replace every known id in a JSON value by its new one; object keys stay."""
    if isinstance(value, str):
        return _WORD.sub(lambda match: ids.get(match[0], match[0]), value)
    if isinstance(value, list):
        return [renamed(each, ids) for each in value]
    if isinstance(value, dict):
        return {key: renamed(each, ids) for key, each in value.items()}
    return value


def made_by(body: EventBody) -> tuple[str, tuple[str, ...]]:
    """Return the ids introduced by an event, and the table of their rows.

    Run ids come with their first event or their plan.
    """
    if isinstance(body, UserMessage | ModelReplied | ReplyCutOff | OutputShown):
        return "message", (body.message_id,)
    if isinstance(body, TaskChanged):
        return "task", (body.task.id,)
    if isinstance(body, QuestionAsked):
        return "user_question", (body.question.id,)
    if isinstance(body, ApprovalRequested):
        return "approval_request", (body.approval.id,)
    if isinstance(body, ChildrenPlanned):
        return "run", tuple(plan.id for plan in body.children)
    return "", ()


def files_of(body: EventBody) -> tuple[ArtefactPart, ...]:
    """Return the workflow's files named by an event: created by a call, or attached to a message."""
    if isinstance(body, ToolCallFinished):
        return tuple(part for part in body.parts if isinstance(part, ArtefactPart))
    if isinstance(body, UserMessage):
        return tuple(part for each in body.attachments for part in each.stored_parts)
    return ()
