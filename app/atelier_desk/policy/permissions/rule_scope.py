"""Which of the user's rules apply to a run, and which of them its sub-agents inherit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy, ApprovalSettings
from atelier_desk.domain.permission import Action, Holds, PermissionRule, RuleScope, snapshot


def for_run(
    chosen: ApprovalSettings,
    mode: ApprovalMode,
    *,
    run_id: str,
    workflow_id: str,
    agent_id: str,
    workspace: Sequence[str],
) -> ApprovalPolicy:
    """Return the policy of a root run: the settings, its agent's mode, and the rules whose scope includes the run."""
    # Include restrictions of other agents: they may become sub-agents of this run.
    others = [rule for rule in chosen.rules if rule.scope is RuleScope.AGENT and rule.action is not Action.ALLOW]
    here = {"run_id": run_id, "workflow_id": workflow_id, "agent_id": agent_id, "folder": first(workspace)}
    rules = tuple(rule.bare() for rule in chosen.rules if rule.holds_for(**here) or rule in others)
    return ApprovalPolicy(**{**chosen.__dict__, "rules": rules}, mode=mode, snapshot=snapshot(rules))


def first(workspace: Sequence[str]) -> str:
    """Return the folder that scopes a run: the first granted one, where its commands run; empty if there is none."""
    return workspace[0] if workspace else ""


def holds(workflow_id: str, workspace: Sequence[str], *, local: bool) -> Holds:
    """Return the scope of a new permission, which is no wider than what was reviewed.

    ``local``: the call works on files or runs a command. ``make`` does something else in the next folder; a host or
    server is the same everywhere.
    """
    if not local:
        return Holds(RuleScope.ALWAYS)
    folder = first(workspace)
    return Holds(RuleScope.FOLDER, folder) if folder else Holds(RuleScope.WORKFLOW, workflow_id)


def handed_down(
    rules: Iterable[PermissionRule], parent_agent: str, agent: str, root_run: str
) -> tuple[PermissionRule, ...]:
    """Return the rules of a sub-agent: its parent's restrictions apply, but not permissions of its parent only."""
    handed: list[PermissionRule] = []
    for rule in rules:
        if rule.scope is RuleScope.AGENT and rule.scope_id == parent_agent and agent != parent_agent:
            if rule.action is Action.ALLOW:
                continue
            rule = rule.model_copy(update={"scope": RuleScope.RUN, "scope_id": root_run})
        handed.append(rule)
    return tuple(handed)


def of_agent(rules: Iterable[PermissionRule], agent: str) -> tuple[PermissionRule, ...]:
    """Return the rules that apply to this agent's calls.

    A run also carries rules of other agents for its sub-agents.
    """
    return tuple(rule for rule in rules if rule.scope is not RuleScope.AGENT or rule.scope_id == agent)
