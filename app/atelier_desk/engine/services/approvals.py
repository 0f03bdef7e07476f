"""Approvals: pending calls, decisions, card visibility, and standing rules."""

from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.approval import (
    ApprovalRequest,
    ApprovalScope,
    ApprovalStatus,
    Decision,
    OnTimeout,
    same_arguments,
)
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import ConflictError, LimitError, ToolError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.policy.approval_strictness_and_grouping import together
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace import repository_inspection

SEEN_STEP_MS = 60_000
"""Maximum milliseconds counted per ``seen`` report: screens report about once a second, so more means suspension."""
BY_TIMEOUT = "timeout"
"""``decided_by`` of a decision by timeout."""
_DECIDED = {
    ApprovalStatus.APPROVED: N_("Already approved."),
    ApprovalStatus.REJECTED: N_("Already rejected."),
    ApprovalStatus.CANCELLED: N_("Already cancelled."),
}


class ApprovalService:
    """Approvals. Changes are announced as ``approval`` with the request's id."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

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
        if scope is ApprovalScope.ONCE and _is_about_settings(asked):
            scope = ApprovalScope.ALWAYS
        chosen = await self._rules_for(asked, scope, rules)
        await self._decide(asked, Decision(status=ApprovalStatus.APPROVED, arguments=edited, scope=scope, rules=chosen))
        return await self.get(approval_id)

    async def approve_together(self, approval_ids: Sequence[str]) -> builtins.list[ApprovalRequest]:
        """Approve exactly these calls of one run once; calls decided meanwhile are left.

        Raises:
            UsageError: none is given, they belong to several runs, or one may not be approved with others (a protected
                name, taint, high risk or anything else that always asks): then nothing is decided.
            NotFoundError: no such request.
            ConflictError: all of them were decided meanwhile.
        """
        every = [await self.get(each) for each in dict.fromkeys(approval_ids)]
        waiting = [each for each in every if each.status is ApprovalStatus.PENDING]
        if every and not waiting:
            raise ConflictError(_DECIDED[every[0].status], code="not_pending")
        if len(together(waiting)) != 1:
            raise UsageError(N_("These calls cannot be allowed together. Decide on each of them."))
        await self._context.runs.answering.allow_together(waiting[0].run_id, {each.id for each in waiting})
        for each in waiting:
            self._context.bus.changed("approval", each.id)
        return [await self.get(each.id) for each in every]

    async def preview(self, approval_id: str, arguments: dict[str, object] | None = None) -> builtins.list[FileChange]:
        """Return the file changes the call would make now, with these arguments or its own, without touching files.
        Empty for other calls.

        Raises:
            ToolError: as the call itself, for example if the text to replace is missing.
        """
        from atelier_desk.tools.calls.argument_validation import validate
        from atelier_desk.tools.calls.context import ToolContext

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
        await self._decide(await self._open(approval_id), Decision(status=ApprovalStatus.REJECTED, note=note))
        return await self.get(approval_id)

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
                scope = ApprovalScope.RUN if _is_about_settings(asked) else ApprovalScope.ONCE
                chosen = await self._rules_for(asked, scope, ())
                await self._decide(
                    asked, Decision(status=ApprovalStatus.APPROVED, decided_by=BY_TIMEOUT, scope=scope, rules=chosen)
                )
            case OnTimeout.ASK_AGAIN:
                await self._context.runs.answering.ask_approval_again(asked)
                self._context.bus.changed("approval", asked.id)
            case OnTimeout.REJECT:
                # For the agent, so in English.
                note = f"Nobody decided within {asked.timeout_s:g} seconds, so the call was refused."
                await self._decide(asked, Decision(status=ApprovalStatus.REJECTED, note=note, decided_by=BY_TIMEOUT))

    async def _decide(self, asked: ApprovalRequest, decision: Decision) -> None:
        await self._context.runs.answering.decide_approval(asked.id, decision)
        self._context.bus.changed("approval", asked.id)

    async def _open(self, approval_id: str) -> ApprovalRequest:
        asked = await self.get(approval_id)
        if asked.status is not ApprovalStatus.PENDING:
            raise ConflictError(_DECIDED[asked.status], code="not_pending")
        return asked

    async def _rules_for(
        self, asked: ApprovalRequest, scope: ApprovalScope, texts: Sequence[str]
    ) -> tuple[PermissionRule, ...]:
        """Return the rules of an approval: the given ones if they cover the call, else those of its scope."""
        if scope is ApprovalScope.ONCE:
            if texts:
                raise UsageError(
                    N_("A rule cannot be given for a single call: choose the scope run or always."),
                    scope=ApprovalScope.ALWAYS.value,
                )
            return ()
        permissions = self._context.permissions
        for text in texts:
            rule_pattern.parse(text)
        if texts and not await permissions.trials.covers(asked, texts):
            raise UsageError(
                N_("The rule “{rule}” does not cover this call. This one does: {narrowest}"),
                rule="; ".join(texts), narrowest="; ".join(asked.always) or asked.tool,
            )  # fmt: skip
        now = self._context.clock.now()
        if scope is ApprovalScope.RUN:
            root = asked.root_run_id or asked.run_id
            return tuple(
                PermissionRule(text=text, action=Action.ALLOW, scope=RuleScope.RUN, scope_id=root, created_at=now)
                for text in texts or (asked.always if _is_about_settings(asked) else (asked.tool,))
            )
        wanted = texts or asked.always
        if not wanted:
            raise UsageError(
                N_(
                    "No rule can allow this call from now on: it needs approval each time. Allow it once, or for this "
                    "run."
                )
            )
        where = asked.holds
        allowing = [rule for rule in await permissions.rules() if rule.where == where and rule.action is Action.ALLOW]
        # A held rule from a foreign backup becomes active with this approval.
        allowed = {rule.text: rule.model_copy(update={"held": False}) for rule in allowing}
        # A rule for outdated repository settings is replaced by the one for the present settings.
        former = {repository_inspection.subject_of(rule.text): rule.id for rule in allowing if rule.text not in wanted}
        former.pop("", None)

        def made(text: str) -> PermissionRule:
            id = former.get(repository_inspection.subject_of(text)) or new_id()
            return PermissionRule(
                id=id, text=text, action=Action.ALLOW, scope=where.scope, scope_id=where.scope_id, created_at=now
            )

        return tuple(allowed.get(text) or made(text) for text in wanted)

    def _edited(self, asked: ApprovalRequest, arguments: dict[str, object] | None) -> dict[str, object] | None:
        """Return the validated arguments changed by a person; None if unchanged."""
        if arguments is None:
            return None
        _check_json(asked.tool, arguments)
        if same_arguments(arguments, asked.arguments):
            return None
        from atelier_desk.tools.calls.argument_validation import validate

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


def _is_about_settings(asked: ApprovalRequest) -> bool:
    return asked.reason == Concern.REPOSITORY and bool(asked.always)


def _check_json(tool: str, arguments: object) -> None:
    if not isinstance(arguments, dict):
        raise UsageError(N_("The arguments of {tool} must be a JSON object."), code="invalid_arguments", tool=tool)
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            N_("The arguments of {tool} are not JSON: {reason}"), code="invalid_arguments", tool=tool, reason=error
        ) from None
