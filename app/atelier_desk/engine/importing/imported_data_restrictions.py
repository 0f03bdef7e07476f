"""Data from another installation, or changed by somebody: what it grants stays disabled until a person confirms each
item.

Allow rules wait (``PermissionRule.held``), own tools must be reviewed like new ones, MCP servers are disabled, folders
are not trusted. Addresses other than well-known services and folders of workflows wait in ``Settings.held``, and texts
count as outside content. Rules that ask or deny apply, because they grant nothing. No agent works unasked because of a
file, no program named in it is started, and its unfinished work is ended.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.agent import ApprovalMode, Choices
from atelier_desk.domain.approval import ApprovalFlags, ApprovalSettings, OnTimeout
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.domain.permission import Action
from atelier_desk.engine.importing import imported_grants
from atelier_desk.policy.approval_strictness_and_grouping import stricter
from atelier_desk.storage.copies import backup_signature
from atelier_desk.storage.repositories.database_wide_taint import mark_contents
from atelier_desk.support.i18n import _
from atelier_desk.support.threads import in_storage_thread

if TYPE_CHECKING:
    from atelier_desk.domain.settings import Settings
    from atelier_desk.engine.runs.manager import RunManager
    from atelier_desk.storage.repositories import Repositories

log = logging.getLogger(__name__)


async def switch_off(repos: Repositories, root: Path) -> None:
    """Disable what restored or imported data grants, once, before it is used."""
    if await in_storage_thread(backup_signature.marked, root) == backup_signature.GRANTS:
        await hold(repos)
        await in_storage_thread(backup_signature.mark, root, backup_signature.RUNS)


async def end_runs(repos: Repositories, runs: RunManager, root: Path) -> None:
    """End unfinished work in such data: nothing in it was approved here."""
    if not await in_storage_thread(backup_signature.marked, root):
        return
    for row in await repos.runs.alive():
        if row.parent_run_id is None:
            await _ended(runs, row.id)
    for row in await repos.runs.alive():
        await _ended(runs, row.id)  # below a run that has ended or is missing
    await in_storage_thread(backup_signature.unmark, root)


async def _ended(runs: RunManager, run_id: str) -> None:
    try:
        await runs.cancel(run_id)
    except (AtelierError, ValueError):
        # An unreadable journal cannot be resumed either.
        log.exception("run %s of data from elsewhere cannot be read", run_id)


async def hold(repos: Repositories) -> None:
    """Disable what the data in these repositories grants. Repeating it does not affect later confirmations."""
    allowing = [rule for rule in await repos.rules.list() if rule.action is Action.ALLOW and not rule.held]
    if allowing:
        await repos.rules.save(*(rule.model_copy(update={"held": True}) for rule in allowing))
    for server in await repos.mcp_servers.list():
        if server.config.enabled:
            off = server.config.model_copy(update={"enabled": False})
            await repos.mcp_servers.save(server.model_copy(update={"config": off}))
    for agent in await repos.agents.list():
        asking = asking_mode(agent.config.approval)
        if asking is not agent.config.approval:
            await repos.agents.save(
                agent.model_copy(update={"config": agent.config.model_copy(update={"approval": asking})})
            )
    for project in await repos.projects.list():
        # Its folder is not read before a person agrees, and its approved secrets are not approved here.
        await repos.projects.save(project.model_copy(update={"watched": False, "pending": False, "readable": ()}))
    settings = await repos.settings.load()
    held = [*settings.held, *[grant async for grant in _grants(repos, settings)]]
    changed = {
        "confirmed_tools": {},
        "folder_trust": {folder: said for folder, said in settings.folder_trust.items() if not said},
        "approvals": _asking(settings.approvals),
        "web": settings.web.model_copy(update={"browser": ""}),
        "memories_ask": True,
        "monthly_unpriced": "",
        "held": tuple({grant.id: grant for grant in held}.values()),
    }
    # Before the folders are removed from their workflows: a kill in between must not lose them.
    await repos.settings.save(settings.model_copy(update=changed))
    await _hold_workflows(repos)
    await mark_contents(repos.store, _contents(settings))


async def _grants(repos: Repositories, settings: Settings) -> AsyncIterator[HeldGrant]:
    """Yield what a person has to confirm in a separate list."""
    for config in await repos.providers.list():
        if about := imported_grants.of_provider(config):
            yield HeldGrant(kind=HeldKind.PROVIDER, name=config.name, about=about)
    for kind, about in imported_grants.of_settings(settings).items():
        if about:
            yield HeldGrant(kind=kind, about=about)
    granted: dict[tuple[str, ...], list[str]] = {}
    for grant in settings.held:
        if grant.kind is HeldKind.WORKSPACE:
            granted[grant.about] = list(grant.workflows)
    for id in sorted(await repos.workflows.ids()):
        if folders := (await repos.workflows.get(id)).workspace:
            granted.setdefault(folders, []).append(id)
    for folders, ids in granted.items():
        name = hashlib.sha256("\0".join(folders).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        yield HeldGrant(kind=HeldKind.WORKSPACE, name=name, about=folders, workflows=tuple(dict.fromkeys(ids)))
    yield HeldGrant(kind=HeldKind.CONTENTS, about=_contents(settings))


def _contents(settings: Settings) -> tuple[str, ...]:
    """Return how the texts are marked as outside content."""
    before = next((each.about for each in settings.held if each.kind is HeldKind.CONTENTS), ())
    return tuple(dict.fromkeys((*before, _("a backup from another installation"))))


async def _hold_workflows(repos: Repositories) -> None:
    for id in await repos.workflows.ids():
        workflow = await repos.workflows.get(id)
        choices = asking_choices(workflow.choices)
        if workflow.workspace or choices is not workflow.choices:
            await repos.workflows.update(id, workspace=(), choices=choices)


def asking_mode(mode: ApprovalMode) -> ApprovalMode:
    """Return a mode that asks at least as often as that of a new agent."""
    return stricter(mode, ApprovalMode.SELECTIVE)


def asking_choices(choices: Choices) -> Choices:
    """Return the choices of a workflow without a mode that asks less than a new agent; the same object if there is
    none.
    """
    mode = choices.approval
    return choices if mode is None or asking_mode(mode) is mode else choices.model_copy(update={"approval": None})


def _asking(said: ApprovalSettings) -> ApprovalSettings:
    """Return settings that ask at least as often as those of a new installation."""
    usual = ApprovalSettings()
    flags = ApprovalFlags(
        **{name: getattr(said.flags, name) or getattr(usual.flags, name) for name in ApprovalFlags.model_fields}
    )
    return said.model_copy(
        update={
            "flags": flags,
            "auto_approve_low": said.auto_approve_low and usual.auto_approve_low,
            "on_timeout": OnTimeout.REJECT,
            "risks": {tool: risk for tool, risk in said.risks.items() if risk == "high"},
        }
    )
