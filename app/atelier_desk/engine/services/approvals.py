"""Approvals: calls that wait for a person's yes, what is decided about them, the time a card was really seen, and standing rules."""

from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, ApprovalStatus, Decision, OnTimeout, same_arguments
from atelier_desk.domain.base import new_id
from atelier_desk.domain.errors import ConflictError, LimitError, ToolError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.policy.approval_modes import together
from atelier_desk.policy.permissions import pattern
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.support.i18n import N_
from atelier_desk.workspace import repository

SEEN_STEP_MS = 60_000
"""Most milliseconds one ``seen`` report may count: a screen reports about once a second, so more means a machine that slept."""
BY_TIMEOUT = "timeout"
"""``decided_by`` of a decision that nobody made."""
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
        """What waits for a decision, in the order it was asked; of all workflows, or of one."""
        return await self._context.repos.approvals.pending(workflow_id)

    async def list(self, workflow_id: str) -> builtins.list[ApprovalRequest]:
        """All requests of a workflow, decided ones too, oldest first."""
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
        """Let the call run; its run goes on.

        Args:
            arguments: what it runs with instead of the model's own; they must fit the tool.
            scope: ``run`` allows the tool for the rest of this run and its sub-agents, ``always`` stores rules that hold where the request
                says (``ApprovalRequest.holds``): a command in its folder. A yes to the settings of a repository is always remembered, as
                long as they stay the same.
            rules: texts of rules that say what is allowed so; without any, ``run`` takes the tool and ``always`` the narrowest ones.

        Raises:
            UsageError: the arguments do not fit the tool (code ``invalid_arguments``, each field is named), the rules do not cover it, or
                no rule can.
            ConflictError: it was decided meanwhile.
        """
        asked = await self._open(approval_id)
        edited = self._edited(asked, arguments)
        scope = ApprovalScope(scope)  # a word from a script must not be taken without its rule
        if scope is ApprovalScope.ONCE and _is_about_settings(asked):
            scope = ApprovalScope.ALWAYS
        chosen = await self._rules_for(asked, scope, rules)
        await self._decide(asked, Decision(status=ApprovalStatus.APPROVED, arguments=edited, scope=scope, rules=chosen))
        return await self.get(approval_id)

    async def approve_together(self, approval_ids: Sequence[str]) -> builtins.list[ApprovalRequest]:
        """Allow several calls of one run, each for this once: exactly these; what was decided meanwhile stays as it was.

        Raises:
            UsageError: none is given, they are of several runs, or one may not be allowed along with others (a protected name, taint, high
                risk and whatever else asks each time): then nothing is decided.
            NotFoundError: no such request.
            ConflictError: all of them were decided meanwhile.
        """
        every = [await self.get(each) for each in dict.fromkeys(approval_ids)]
        waiting = [each for each in every if each.status is ApprovalStatus.PENDING]
        if every and not waiting:
            raise ConflictError(_DECIDED[every[0].status], code="not_pending")
        if len(together(waiting)) != 1:
            raise UsageError(N_("These calls cannot be allowed together. Decide about each of them."))
        await self._context.runs.answering.allow_together(waiting[0].run_id, {each.id for each in waiting})
        for each in waiting:
            self._context.bus.changed("approval", each.id)
        return [await self.get(each.id) for each in every]

    async def preview(self, approval_id: str, arguments: dict[str, object] | None = None) -> builtins.list[FileChange]:
        """What the call would do to files as they are now, with these arguments or its own; nothing is touched. Empty for other calls.

        Raises:
            ToolError: what the call itself would say, such as that the text to replace is not in the file.
        """
        from atelier_desk.support.threads import in_tool_thread
        from atelier_desk.tools.context import ToolContext
        from atelier_desk.tools.validation import validate

        asked = await self.get(approval_id)
        tool = self._context.registry.get_tool(asked.tool)
        if tool is None:
            return []
        given = validate(tool, asked.arguments if arguments is None else arguments)
        folders = tuple(map(Path, (await self._context.repos.workflows.get(asked.workflow_id)).workspace))
        context = ToolContext(asked.workflow_id, asked.run_id, asked.call_id, workspace=folders[0] if folders else None, roots=folders)
        return builtins.list(await in_tool_thread(tool.preview, given, context))

    async def reject(self, approval_id: str, note: str = "") -> ApprovalRequest:
        """Refuse the call; ``note`` says why and is read by the agent, which goes on without it.

        Raises:
            LimitError: the note is longer than ``limits.APPROVAL_NOTE`` characters.
            ConflictError: it was decided meanwhile.
        """
        note = note.strip()
        if len(note) > limits.APPROVAL_NOTE:
            raise LimitError(N_("A reason has at most {most} characters, not {length}."), most=limits.APPROVAL_NOTE, length=len(note))
        await self._decide(await self._open(approval_id), Decision(status=ApprovalStatus.REJECTED, note=note))
        return await self.get(approval_id)

    async def seen(self, approval_id: str, ms: int) -> float | None:
        """Count ``ms`` milliseconds in which the card was visible; when they use up its time, what ``on_timeout`` says is done.

        Returns:
            Seconds left, 0.0 when the time ran out just now, None when it waits for ever or is no longer pending.
        """
        if ms < 0:
            raise LimitError(N_("The time seen cannot be negative ({ms} ms)."), ms=ms)
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
                # Nobody looked at the settings of a repository: they hold for this run.
                scope = ApprovalScope.RUN if _is_about_settings(asked) else ApprovalScope.ONCE
                chosen = await self._rules_for(asked, scope, ())
                await self._decide(asked, Decision(status=ApprovalStatus.APPROVED, decided_by=BY_TIMEOUT, scope=scope, rules=chosen))
            case OnTimeout.ASK_AGAIN:
                await self._context.runs.answering.ask_approval_again(asked)
                self._context.bus.changed("approval", asked.id)
            case OnTimeout.REJECT:
                # Read by the agent, hence English.
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

    async def _rules_for(self, asked: ApprovalRequest, scope: ApprovalScope, texts: Sequence[str]) -> tuple[PermissionRule, ...]:
        """What a yes allows besides the call: the given rules when they cover it, else what its scope means."""
        if scope is ApprovalScope.ONCE:
            if texts:
                raise UsageError(N_("A rule needs the scope {scope}."), scope=ApprovalScope.ALWAYS.value)
            return ()
        permissions = self._context.permissions
        for text in texts:
            pattern.parse(text)
        if texts and not await permissions.covers(asked, texts):
            raise UsageError(
                N_("The rule “{rule}” does not cover this call. One that does: {narrowest}"),
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
            raise UsageError(N_("No rule can allow this call from now on, as it asks each time. Allow it once, or for this run."))
        where = asked.holds
        allowing = [rule for rule in await permissions.rules() if rule.where == where and rule.action is Action.ALLOW]
        # One that waits, since it came with a backup from elsewhere, holds with this yes.
        kept = {rule.text: rule.model_copy(update={"held": False}) for rule in allowing}
        # A rule for settings that a repository no longer has says nothing any more: the one for those of now takes its place.
        former = {repository.subject_of(rule.text): rule.id for rule in allowing if rule.text not in wanted}
        former.pop("", None)

        def made(text: str) -> PermissionRule:
            id = former.get(repository.subject_of(text)) or new_id()
            return PermissionRule(id=id, text=text, action=Action.ALLOW, scope=where.scope, scope_id=where.scope_id, created_at=now)

        return tuple(kept.get(text) or made(text) for text in wanted)

    def _edited(self, asked: ApprovalRequest, arguments: dict[str, object] | None) -> dict[str, object] | None:
        """The arguments a person changed, checked; None when nothing was changed."""
        if arguments is None:
            return None
        _check_json(asked.tool, arguments)
        if same_arguments(arguments, asked.arguments):
            return None
        from atelier_desk.tools.validation import validate

        tool = self._context.registry.get_tool(asked.tool)
        if tool is None:
            raise UsageError(
                N_("The tool {tool} is no longer there, so changed arguments cannot be checked."), code="invalid_arguments", tool=asked.tool
            )
        try:
            validate(tool, arguments)
        except ToolError as error:
            raise UsageError(
                N_("The changed arguments do not fit, and nothing was decided. {problems}"), code="invalid_arguments", problems=error
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
        raise UsageError(N_("The arguments of {tool} are not JSON: {reason}"), code="invalid_arguments", tool=tool, reason=error) from None
