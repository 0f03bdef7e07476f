"""Which of the owner's rules hold for a run, and which of them its sub-agents get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy, ApprovalSettings
from atelier_desk.domain.permission import Action, Holds, PermissionRule, RuleScope, snapshot


def for_run(
    chosen: ApprovalSettings, mode: ApprovalMode, *, run_id: str, workflow_id: str, agent_id: str, workspace: Sequence[str]
) -> ApprovalPolicy:
    """What holds for a root run: the settings and its agent's mode, with the rules in whose scope the run is."""
    # What another agent may not do goes along: it may become a sub-agent of this run.
    others = [rule for rule in chosen.rules if rule.scope is RuleScope.AGENT and rule.action is not Action.ALLOW]
    here = {"run_id": run_id, "workflow_id": workflow_id, "agent_id": agent_id, "folder": first(workspace)}
    rules = tuple(rule.bare() for rule in chosen.rules if rule.holds_for(**here) or rule in others)
    return ApprovalPolicy(**{**chosen.__dict__, "rules": rules}, mode=mode, snapshot=snapshot(rules))


def first(workspace: Sequence[str]) -> str:
    """The folder in whose scope a run is: the first granted one, where its commands run; empty without any."""
    return workspace[0] if workspace else ""


def holds(workflow_id: str, workspace: Sequence[str], *, local: bool) -> Holds:
    """Where a yes from now on holds, which is no further than what was looked at.

    ``local``: the call works on files or runs a command. What ``make`` does is another thing in the next folder; a host or a server is the
    same one everywhere.
    """
    if not local:
        return Holds(RuleScope.ALWAYS)
    folder = first(workspace)
    return Holds(RuleScope.FOLDER, folder) if folder else Holds(RuleScope.WORKFLOW, workflow_id)


def handed_down(rules: Iterable[PermissionRule], parent_agent: str, agent: str, root_run: str) -> tuple[PermissionRule, ...]:
    """The rules of a sub-agent: what binds its parent binds it too, what its parent alone is allowed does not come with it."""
    handed: list[PermissionRule] = []
    for rule in rules:
        if rule.scope is RuleScope.AGENT and rule.scope_id == parent_agent and agent != parent_agent:
            if rule.action is Action.ALLOW:
                continue
            rule = rule.model_copy(update={"scope": RuleScope.RUN, "scope_id": root_run})
        handed.append(rule)
    return tuple(handed)


def of_agent(rules: Iterable[PermissionRule], agent: str) -> tuple[PermissionRule, ...]:
    """Those that hold for the calls of this agent: a run carries the rules of other agents for its sub-agents."""
    return tuple(rule for rule in rules if rule.scope is not RuleScope.AGENT or rule.scope_id == agent)
