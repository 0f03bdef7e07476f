"""The permission rules that an approval brings, and the waiting calls that they allow as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, ApprovalStatus, Decision
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.events.approvals import ApprovalDecided
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.support.i18n import N_
from atelier_desk.workspace import repository_inspection


def is_about_settings(asked: ApprovalRequest) -> bool:
    """Whether a call waits because of the settings of a repository."""
    return asked.reason == Concern.REPOSITORY and bool(asked.always)


async def rules_of_approval(
    context: ServiceContext, asked: ApprovalRequest, scope: ApprovalScope, texts: Sequence[str]
) -> tuple[PermissionRule, ...]:
    """Return the rules of an approval: the given ones if they cover the call, else those of its scope.

    Raises:
        UsageError: the scope is a single call, the rules do not cover the call, or no rule can.
    """
    if scope is ApprovalScope.ONCE:
        raise UsageError(
            N_("A rule cannot apply to a single call. Choose the scope “run” or “always”."),
            scope=ApprovalScope.ALWAYS.value,
        )
    permissions = context.permissions
    for text in texts:
        rule_pattern.parse(text)
    if texts and not await permissions.trials.covers(asked, texts):
        raise UsageError(
            N_("The rule “{rule}” does not cover this call. This one does: {narrowest}"),
            rule="; ".join(texts), narrowest="; ".join(asked.always) or asked.tool,
        )  # fmt: skip
    now = context.clock.now()
    if scope is ApprovalScope.RUN:
        root = asked.root_run_id or asked.run_id
        return tuple(
            PermissionRule(text=text, action=Action.ALLOW, scope=RuleScope.RUN, scope_id=root, created_at=now)
            for text in texts or (asked.always if is_about_settings(asked) else (asked.tool,))
        )
    wanted = texts or asked.always
    if not wanted:
        raise UsageError(
            N_("This call needs approval each time; no rule can allow it permanently. Allow it once, or for this run.")
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


def also_allowed(
    requests: Iterable[ApprovalRequest], asked: ApprovalRequest, decision: Decision
) -> list[ApprovalDecided]:
    """Return approvals of other waiting calls of a run that a permission for the run or permanently covers.

    Covered are calls of the same tool, and of others those asked for the same reason.
    """
    texts = {rule.text for rule in decision.rules}
    return [
        ApprovalDecided(
            approval_id=other.id,
            call_id=other.call_id,
            status=ApprovalStatus.APPROVED,
            scope=decision.scope,
            decided_by=decision.decided_by,
        )
        for other in requests
        if other.id != asked.id and (other.tool == asked.tool or other.reason == asked.reason) and _covers(texts, other)
    ]


def _covers(texts: Set[str], other: ApprovalRequest) -> bool:
    """Whether rules certainly allow a waiting call. Calls that always ask have none, and keep waiting."""
    scopes = {other.tool, f"section:{other.section}", f"mcp__{other.server}"}
    return bool(other.always) and (bool(scopes & texts) or set(other.always) <= texts)
