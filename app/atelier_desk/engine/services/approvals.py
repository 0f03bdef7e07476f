"""Approvals: pending calls, decisions, card visibility, and standing rules."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain import limits
from atelier_desk.domain.approval import (
    ApprovalRequest,
    ApprovalScope,
    ApprovalStatus,
    Decision,
    OnTimeout,
    same_arguments,
)
from atelier_desk.domain.errors import ConflictError, LimitError, ToolError, UsageError
from atelier_desk.domain.events.approvals import ApprovalAskedAgain, ApprovalDecided
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.engine.services.common.approval_rules import also_allowed, is_about_settings, rules_of_approval
from atelier_desk.engine.services.common.service import Service
from atelier_desk.policy.approval_strictness_and_grouping import together
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.calls.argument_validation import validate
from atelier_desk.tools.calls.context import ToolContext

if TYPE_CHECKING:
    from atelier_desk.domain.events.run import EventBody
    from atelier_desk.engine.run.reducer.state import RunState

SEEN_STEP_MS = 60_000
"""Maximum milliseconds counted per ``seen`` report: screens report about once a second, so more means suspension."""
BY_TIMEOUT = "timeout"
"""``decided_by`` of a decision by timeout."""
_DECIDED = {
    ApprovalStatus.APPROVED: N_("Already approved."),
    ApprovalStatus.REJECTED: N_("Already rejected."),
    ApprovalStatus.CANCELLED: N_("Already cancelled."),
}


class ApprovalService(Service):
    """Approvals. Changes are announced as ``approval`` with the request's id."""

    async def pending(self, workflow_id: str | None = None) -> list[ApprovalRequest]:
        """Return pending requests in order, of all workflows or one."""
        return await self._context.repos.approvals.pending(workflow_id)

    async def list(self, workflow_id: str) -> builtins.list[ApprovalRequest]:
        """Return all requests of a workflow, including decided ones, oldest first."""
        return await self._context.repos.approvals.list(workflow_id)

    async def get(self, approval_id: str) -> ApprovalRequest:
        return await self._context.repos.approvals.get(approval_id)

    async def approve(
        self,
        approval_id: str,
        arguments: dict[str, object] | None = None,
        scope: ApprovalScope = ApprovalScope.ONCE,
        rules: Sequence[str] = (),
    ) -> ApprovalRequest:
        """Approve a call; its run continues.

        Args:
            arguments: replace the model's own; they must be valid for the tool.
            scope: ``run`` allows the tool for the rest of this run and its sub-agents, ``always`` stores rules with the
                scope of ``ApprovalRequest.holds`` (for a command its folder). Approving repository settings is always
                remembered, as long as they stay the same.
            rules: texts of the rules to create; by default, ``run`` uses the tool and ``always`` the narrowest ones.

        Raises:
            UsageError: the arguments are invalid (code ``invalid_arguments``, naming each field), the rules do not
                cover the call, or no rule can.
            ConflictError: it was decided meanwhile.
        """
        asked = await self._open(approval_id)
        edited = self._edited(asked, arguments)
        scope = ApprovalScope(scope)  # an unknown value from a script must not lose its rule
        if scope is ApprovalScope.ONCE and is_about_settings(asked):
            scope = ApprovalScope.ALWAYS
        return await self._allow(asked, scope, rules, arguments=edited)

    async def approve_together(self, approval_ids: Sequence[str]) -> builtins.list[ApprovalRequest]:
        """Approve exactly these calls of one run once; calls decided meanwhile are left.

        Raises:
            UsageError: none is given, they belong to several runs, or one may not be approved with others (a protected
                name, taint, high risk or anything else that always asks): then nothing is decided.
            NotFoundError: no such request.
            ConflictError: all of them were decided meanwhile.
        """
        return await self._decide_together(approval_ids, Decision(status=ApprovalStatus.APPROVED))

    async def reject_together(self, approval_ids: Sequence[str]) -> builtins.list[ApprovalRequest]:
        """Reject exactly these calls of one run without a reason, all or none; as ``approve_together``."""
        return await self._decide_together(approval_ids, Decision(status=ApprovalStatus.REJECTED))

    async def _decide_together(self, approval_ids: Sequence[str], decision: Decision) -> builtins.list[ApprovalRequest]:
        every = [await self.get(each) for each in dict.fromkeys(approval_ids)]
        waiting = [each for each in every if each.status is ApprovalStatus.PENDING]
        if every and not waiting:
            raise ConflictError(_DECIDED[every[0].status], code="not_pending")
        if len(together(waiting)) != 1:
            raise UsageError(N_("These calls cannot be decided together. Decide on each of them."))
        await self._commit(waiting[0].run_id, lambda now: _decided_events(now, waiting, decision))
        return [await self.get(each.id) for each in every]

    async def preview(self, approval_id: str, arguments: dict[str, object] | None = None) -> builtins.list[FileChange]:
        """Return the file changes the call would make now, with these arguments or its own, without touching files.
        Empty for other calls.

        Raises:
            ToolError: as the call itself, for example if the text to replace is missing.
        """
        asked = await self.get(approval_id)
        tool = self._context.registry.get_tool(asked.tool)
        if tool is None:
            return []
        given = validate(tool, asked.arguments if arguments is None else arguments)
        folders = tuple(map(Path, (await self._context.repos.workflows.get(asked.workflow_id)).workspace))
        context = ToolContext(
            asked.workflow_id, asked.run_id, asked.call_id, workspace=folders[0] if folders else None, roots=folders
        )
        return builtins.list(await in_tool_thread(tool.preview, given, context))

    async def reject(self, approval_id: str, note: str = "") -> ApprovalRequest:
        """Reject a call; the agent reads ``note`` as the reason, and continues without it.

        Raises:
            LimitError: the note is longer than ``limits.APPROVAL_NOTE`` characters.
            ConflictError: it was decided meanwhile.
        """
        note = note.strip()
        if len(note) > limits.APPROVAL_NOTE:
            raise LimitError(
                N_("A reason can have at most {most} characters; this one has {length}."),
                most=limits.APPROVAL_NOTE,
                length=len(note),
            )
        return await self._decide(await self._open(approval_id), Decision(status=ApprovalStatus.REJECTED, note=note))

    async def seen(self, approval_id: str, ms: int) -> float | None:
        """Count ``ms`` milliseconds in which the card was visible; when its time is used up, apply ``on_timeout``.

        Returns:
            Seconds left, 0.0 if the time just ran out, None if it waits forever or is no longer pending.
        """
        if ms < 0:
            raise LimitError(N_("The viewing time cannot be negative ({ms} ms)."), ms=ms)
        asked = await self.get(approval_id)
        if asked.status is not ApprovalStatus.PENDING:
            return None
        counted = min(ms, SEEN_STEP_MS)
        if counted:
            asked = await self._context.repos.approvals.add_seen(approval_id, counted)
        if asked.timeout_s == 0:
            return None
        left = asked.timeout_s - asked.seen_ms / 1000
        if left > 0:
            return left
        try:
            await self._time_out(asked)
        except ConflictError:
            # A person was faster.
            return None
        return 0.0

    async def _time_out(self, asked: ApprovalRequest) -> None:
        match asked.on_timeout:
            case OnTimeout.APPROVE:
                # Nobody reviewed the repository settings: limit the permission to this run.
                scope = ApprovalScope.RUN if is_about_settings(asked) else ApprovalScope.ONCE
                await self._allow(asked, scope, decided_by=BY_TIMEOUT)
            case OnTimeout.ASK_AGAIN:
                await self._ask_again(asked)
            case OnTimeout.REJECT:
                # For the agent, so in English.
                note = f"Nobody decided within {asked.timeout_s:g} seconds, so the call was refused."
                await self._decide(asked, Decision(status=ApprovalStatus.REJECTED, note=note, decided_by=BY_TIMEOUT))

    async def _allow(
        self, asked: ApprovalRequest, scope: ApprovalScope, rules: Sequence[str] = (), **fields: Any
    ) -> ApprovalRequest:
        """Approve a call, with the rules of the scope; ``fields`` are those of the decision."""
        once = scope is ApprovalScope.ONCE and not rules
        made = () if once else await rules_of_approval(self._context, asked, scope, rules)
        return await self._decide(asked, Decision(status=ApprovalStatus.APPROVED, scope=scope, rules=made, **fields))

    async def _decide(self, asked: ApprovalRequest, decision: Decision) -> ApprovalRequest:
        """Approve or reject a waiting call. A rejection is the call's result, with its note as the reason.

        Raises:
            ConflictError: it was decided meanwhile.
        """
        await self._commit(asked.run_id, lambda now: _decided_events(now, [asked], decision))
        return await self.get(asked.id)

    async def _ask_again(self, asked: ApprovalRequest) -> None:
        """Restart the time to decide, unless the call was decided or the time restarted by another screen meanwhile."""
        again = ApprovalAskedAgain(approval_id=asked.id, call_id=asked.call_id)

        def decide(now: RunState) -> Sequence[EventBody]:
            return [again for each in now.requests if each.id == asked.id and each.round == asked.round]

        await self._commit(asked.run_id, decide)

    async def _commit(self, run_id: str, decide: Callable[[RunState], Sequence[EventBody]]) -> None:
        """Commit what ``decide`` returns for the run's state at the time of writing; the run goes on."""
        runs = self._context.runs.live
        live = await runs.load(run_id)
        try:
            await self._context.journal.append_if(live.handle, decide)
        finally:
            runs.drive(live)

    async def _open(self, approval_id: str) -> ApprovalRequest:
        asked = await self.get(approval_id)
        if asked.status is not ApprovalStatus.PENDING:
            raise ConflictError(_DECIDED[asked.status], code="not_pending")
        return asked

    def _edited(self, asked: ApprovalRequest, arguments: dict[str, object] | None) -> dict[str, object] | None:
        """Return the validated arguments changed by a person; None if unchanged."""
        if arguments is None:
            return None
        _check_json(asked.tool, arguments)
        if same_arguments(arguments, asked.arguments):
            return None
        tool = self._context.registry.get_tool(asked.tool)
        if tool is None:
            raise UsageError(
                N_("The tool {tool} no longer exists, so changed arguments cannot be checked."),
                code="invalid_arguments",
                tool=asked.tool,
            )
        try:
            validate(tool, arguments)
        except ToolError as error:
            raise UsageError(
                N_("The changed arguments are not valid, so nothing was decided. {problems}"),
                code="invalid_arguments",
                problems=error,
            ) from None
        return arguments


def _decided_events(now: RunState, asked: Sequence[ApprovalRequest], decision: Decision) -> list[EventBody]:
    """Return the events that decide these requests, except those that were decided meanwhile.

    Raises:
        ConflictError: all of them were.
    """
    events: list[EventBody] = []
    for each in asked:
        waiting = next((request for request in now.requests if request.id == each.id), None)
        call = now.call(each.call_id)
        if waiting is None or call is None or call.status != "asked":
            continue
        events.append(
            ApprovalDecided(approval_id=each.id, call_id=each.call_id, seen_ms=each.seen_ms, **dict(decision))
        )
        if decision.status is ApprovalStatus.REJECTED:
            from atelier_desk.engine.run.tool_result_events import rejected

            events += rejected(call, waiting, decision)
        elif decision.scope is not ApprovalScope.ONCE:
            events += also_allowed(now.requests, waiting, decision)
    if not events:
        raise ConflictError(N_("The decision was already made."))
    return events


def _check_json(tool: str, arguments: object) -> None:
    if not isinstance(arguments, dict):
        raise UsageError(N_("The arguments of {tool} must be a JSON object."), code="invalid_arguments", tool=tool)
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            N_("The arguments of {tool} are not JSON: {reason}"), code="invalid_arguments", tool=tool, reason=error
        ) from None
