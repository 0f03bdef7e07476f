"""Results of tool calls as journal events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from atelier_desk.domain.approval import NOBODY_TO_ASK, ApprovalRequest, Decision
from atelier_desk.domain.events.run import CallStatus, EventBody, ToolCallFinished, ToolCallStarted
from atelier_desk.domain.result_parts import ResultPart
from atelier_desk.engine.run.reducer.state import CallState
from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.tools.base import NewArtefact, ToolResult
from atelier_desk.tools.calls.result_limits import as_json
from atelier_desk.tools.registry.builtin import presentation_of

STOPPED_BY, BY_USER = "ended_by", "user"
"""Field in the result of a prematurely ended call that names who ended it, and the value for a person."""


def call_finished(
    call_id: str,
    tool: str,
    result: ToolResult,
    *,
    duration_ms: int = 0,
    status: CallStatus | None = None,
    parts: Sequence[ResultPart] = (),
    state_of: str = "",
) -> ToolCallFinished:
    """Return the journal event for a result, whose ``parts`` were stored."""
    if status is None:
        status = CallStatus.OK if result.success else _status(result.data)
    return ToolCallFinished(
        call_id=call_id,
        tool=tool,
        status=status,
        result=result.data,
        text=result.text or as_json(result.data),
        error=str(result.data.get("error") or ""),
        code=str(result.data.get("code") or ""),
        duration_ms=duration_ms,
        truncated=result.truncated,
        parts=tuple(parts),
        state=result.state,
        state_of=state_of,
        skill=result.skill,
        tainted=result.tainted,
        end=result.end,
        end_summary=result.end_summary,
    )


def _status(data: Mapping[str, object]) -> CallStatus:
    """Return the status of an unsuccessful call. A call that a person stopped has not failed."""
    if data.get(STOPPED_BY) == BY_USER:
        return CallStatus.CANCELLED
    return CallStatus.TIMEOUT if data.get("code") == "timeout" else CallStatus.ERROR


async def stored_parts(artefacts: Artefacts, workflow_id: str, result: ToolResult) -> list[ResultPart]:
    """Store the new files of a result, and return its parts for the journal.

    Raises:
        StorageError: a file cannot be written.
    """
    parts: list[ResultPart] = []
    for part in result.parts:
        if isinstance(part, NewArtefact):
            parts.append(await artefacts.store(workflow_id, part.name, part.data, part.media_type))
        else:
            parts.append(part)
    return parts


def noting_edits(result: ToolResult, arguments: dict[str, object]) -> ToolResult:
    """Add a note about arguments that a person changed: the model must know that something else ran."""
    data = {"note": "The user changed the arguments before allowing this call.", "arguments_used": arguments}
    return replace(result, data={**result.data, **data})


def closed(
    call: CallState,
    status: CallStatus,
    error: str,
    *,
    code: str = "",
    asked: ApprovalRequest | None = None,
    by: str = "",
    at: datetime | None = None,
) -> list[EventBody]:
    """Return events that close a call that will not complete.

    Args:
        code: the result's, by default the status.
        asked: its approval request, with the texts of a call without an intent.
        by: who ended it, ``BY_USER`` for a person; stored in the result as ``STOPPED_BY``.
        at: present time, for the duration of a running call.
    """
    result = ToolResult.failure(error, code or status.value, **({STOPPED_BY: by} if by else {}))
    ran = call.started_at is not None and call.status == "started" and at is not None
    duration_ms = max(0, round((at - call.started_at).total_seconds() * 1000)) if ran and at and call.started_at else 0
    tool = call.intent.tool if call.intent else call.call.name
    events: list[EventBody] = []
    if call.intent is None:
        shown = presentation_of(tool, call.call.arguments) if asked is None else asked.presentation
        intent = ToolCallStarted(call_id=call.call.id, tool=tool, arguments=call.call.arguments, presentation=shown)
        if asked is not None:
            known = {
                "tool": asked.tool,
                "server": asked.server,
                "section": asked.section,
                "effect": asked.effect,
                "risk": asked.risk,
            }
            intent = intent.model_copy(update={**known, "arguments": asked.arguments})
        events.append(intent)
    return [*events, call_finished(call.call.id, tool, result, status=status, duration_ms=duration_ms)]


def rejected(call: CallState, asked: ApprovalRequest, decision: Decision) -> list[EventBody]:
    """Return events that close a call that was not approved; its result says why."""
    why = _rejection(asked, decision)
    return closed(call, CallStatus.ERROR, why, code="rejected", asked=asked)


def _rejection(request: ApprovalRequest, decision: Decision) -> str:
    """Return the text for the agent about a rejected call."""
    what = f"{request.tool} {request.operation}".strip()
    note = decision.note
    if decision.decided_by == "timeout":
        return f"{what} was not allowed: nobody decided in time. Go on without it, or ask the user."
    if note == NOBODY_TO_ASK:
        return (
            f"{what} was not allowed: nobody is there to ask in this run. Do not try the same again; go on without it."
        )
    stop = "" if note.endswith((".", "!", "?", "…")) else "."
    reason = f" Reason: {note}{stop}" if note else ""
    return f"{what} was rejected by the user.{reason} Do not try the same again; go on without it or do it another way."
