"""Withdrawn rights apply at once to unfinished runs.

Rules, profile, folders, trust. Granted ones apply from the next message.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.domain.events.run import RightsNarrowed
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.reducer.state import RunState, used_folders
from atelier_desk.engine.runs.damaged_run_ending import is_damage
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.policy.approval_strictness_and_grouping import stricter, stricter_settings
from atelier_desk.policy.permissions.rule_scope import for_run, handed_down
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.resolved_folders import resolved_paths

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Change:
    """Arguments of ``RightsWithdrawal.apply``."""

    workflow_id: str
    mode: ApprovalMode | None
    agent_id: str


@dataclass(frozen=True, slots=True)
class _Distrust:
    """Folders of a run that are no longer trusted, and folders of its skills that may no longer be used."""

    folders: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


class RightsWithdrawal:
    """Applies withdrawn rights to runs."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns) -> None:
        self._env = env
        self._runs = runs
        runs.narrow = self.at_work
        self._applying: list[_Change] = []

    async def apply(self, workflow_id: str = "", *, mode: ApprovalMode | None = None, agent_id: str = "") -> None:
        """Apply the present settings and rules to runs of a workflow, or all.

        Returns when it is in the journals of those in memory; others get it before they are driven (``at_work``). The
        caller has stored and announced the change: turns that begin later use it, and one that is just beginning is
        awaited.

        Args:
            mode: approval mode from now on, where it is stricter; with ``agent_id`` for this agent only. Only their
                journals can store it, so it is also written to runs that are not in memory.
        """
        change = _Change(workflow_id, mode, agent_id)
        self._applying.append(change)  # before any await, so that no turn begins between the change and this
        try:
            await self._runs.until_begun(workflow_id)
            chosen = await self._env.repos.settings.load()
            for root in [run_id for home, run_id in self._runs.alive.items() if workflow_id in ("", home)]:
                if mode is None and self._runs.get(root) is None:
                    continue
                try:
                    await self._team(await self._runs.load(root), chosen, mode, agent_id)
                except AtelierError as error:
                    # It is unreadable, or its workflow is being deleted: it is checked again before it continues.
                    log.warning("run %s was not told what changed: %s", root, error)
        finally:
            self._applying.remove(change)

    async def at_work(self, live: LiveRun) -> None:
        """Apply changes still in progress to a run about to be driven.

        It may have begun under the previous rules, and could make a call before ``apply`` reaches it. One loaded from
        its journal is fully checked first.

        Raises:
            StorageError: ``damaged_row``, as ``before``.
        """
        if not live.narrowed:
            await self._narrow_resumed(live)
        for change in [each for each in self._applying if each.workflow_id in ("", live.handle.workflow_id)]:
            # Top-down: a new sub-agent is limited to its parent's rights, which may not be updated yet either.
            top = (live, *await self._above(live))[-1]
            await self._team(top, await self._env.repos.settings.load(), change.mode, change.agent_id)

    async def before(self, live: LiveRun) -> None:
        """Apply the present rules to a run that is about to continue, and to those below it.

        Raises:
            StorageError: ``damaged_row``: a setting or a rule is damaged, and might be a newer restriction.
        """
        await self._env.repos.settings.refuse_damaged()
        await self._team(live, await self._env.repos.settings.load())

    async def _narrow_resumed(self, live: LiveRun) -> None:
        """Apply the present rules to a run loaded from its journal, and its team top-down: sub-agents have at most
        their parent's rights.

        The root is in memory before anything is read, so that a change reaches it by ``apply``, or is read here.
        """
        above = await self._above(live)
        for top in dict.fromkeys((*above[-1:], live)):
            await self.before(top)
        live.narrowed = True

    async def _above(self, live: LiveRun) -> list[LiveRun]:
        """Return the runs above one, its parent first; empty if one is unreadable: global rules then apply to it."""
        try:
            return await self._runs.above(live)
        except StorageError as error:
            if not is_damage(error):
                raise
            return []

    async def _team(self, top: LiveRun, chosen: Settings, mode: ApprovalMode | None = None, agent_id: str = "") -> None:
        workflow = await self._env.repos.workflows.get(top.handle.workflow_id)
        reported: set[str] = set()
        # Look up those below again after each: one that began under its parent's previous rights is included once the
        # parent is updated.
        while live := next(
            (each for each in (top, *await self._runs.below(top)) if each.handle.run_id not in reported), None
        ):
            reported.add(live.handle.run_id)
            above = await self._above(live)
            distrust = await self._distrust(live.handle.current, chosen, workflow)

            def decide(
                now: RunState, above: list[LiveRun] = above, distrust: _Distrust = distrust
            ) -> list[RightsNarrowed] | None:
                if now.status.final and not now.failed:
                    return None
                meant = (
                    mode
                    if agent_id in ("", now.agent_id) and not (agent_id and not above and workflow.choices.approval)
                    else None
                )
                body = _narrowed(
                    now, above[0].handle.current if above else None, chosen.approvals, workflow, meant, distrust
                )
                return None if body is None else [body]

            await self._env.journal.append_if(live.handle, decide)

    async def _distrust(self, now: RunState, chosen: Settings, workflow: Workflow) -> _Distrust:
        """Return what a run got from folders that are no longer trusted or granted."""
        held = [each for each in now.trusted if each in workflow.workspace]
        untrusted = await in_tool_thread(
            lambda: tuple(each for each in held if not chosen.trusts(Path(each).resolve()))
        )
        if not untrusted and all(each in workflow.workspace for each in now.workspace):
            return _Distrust()
        uses = (*(each.folder for each in now.skills), *used_folders(now.conversation, (*now.queued, *now.silent)))
        left = [each for each in now.workspace if each in workflow.workspace]
        return _Distrust(untrusted, await self._env.skills.withdrawn(uses, left) if uses else ())


def _narrowed(
    now: RunState,
    parent: RunState | None,
    chosen: ApprovalSettings,
    workflow: Workflow,
    mode: ApprovalMode | None,
    distrust: _Distrust,
) -> RightsNarrowed | None:
    """Return the rights withdrawn from a run; None if nothing changed for it."""
    held = now.approvals
    folders = tuple(each for each in now.workspace if each not in workflow.workspace)
    left = resolved_paths([each for each in now.workspace if each not in folders])
    if parent is None:
        wanted = for_run(
            chosen, held.mode, run_id=now.run_id, workflow_id=now.workflow_id, agent_id=now.agent_id, workspace=left
        ).rules  # fmt: skip
    else:
        root = parent.root_run_id or parent.run_id
        wanted = handed_down((*parent.approvals.rules, *parent.granted), parent.agent_id, now.agent_id, root)
    known = set(map(_rule_key, held.rules))
    rules = tuple(rule for rule in wanted if rule.action is not Action.ALLOW and _rule_key(rule) not in known)
    standing = {_rule_key(rule) for rule in chosen.rules if not rule.held}
    withdrawn = tuple(rule.id for rule in _stored((*held.rules, *now.granted)) if _rule_key(rule) not in standing)
    mode = mode if mode is not None and stricter(mode, held.mode) is not held.mode else None
    settings = stricter_settings(held, chosen)
    changed = settings if any(getattr(held, name) != value for name, value in settings.items()) else None
    if not (rules or withdrawn or folders or mode or changed or distrust.folders):
        return None
    narrowed = None if changed is None else chosen.model_copy(update={"rules": (), **changed})
    return RightsNarrowed(
        rules=rules,
        withdrawn=withdrawn,
        folders=folders,
        untrusted=distrust.folders,
        skills_withdrawn=distrust.skills,
        mode=mode,
        settings=narrowed,
    )


def _stored(rules: Iterable[PermissionRule]) -> list[PermissionRule]:
    """Return allow rules that are stored in the settings, where they can be withdrawn.

    Approvals for the run only stay.
    """
    return [rule for rule in rules if rule.action is Action.ALLOW and rule.scope is not RuleScope.RUN]


def _rule_key(rule: PermissionRule) -> tuple[str, Action, RuleScope, str]:
    return rule.text, rule.action, rule.scope, rule.scope_id
