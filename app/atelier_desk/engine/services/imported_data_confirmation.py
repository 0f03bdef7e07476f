"""Imported data that waits for confirmation: addresses, folders of workflows, and texts."""

from __future__ import annotations

import builtins

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.engine.services.common.service import Service
from atelier_desk.storage.repositories.database_wide_taint import unmark_contents
from atelier_desk.support.i18n import N_, _


class ImportedDataService(Service):
    """Rules, own tools, MCP servers and trusted folders are confirmed in their own lists; everything else here.

    Changes are announced as ``settings`` with ``held``.
    """

    async def list(self) -> builtins.list[HeldGrant]:
        """Return what waits, in the order of ``HeldKind``."""
        kinds = list(HeldKind)
        return sorted(
            (await self._context.settings.get()).held, key=lambda each: (kinds.index(each.kind), each.name.casefold())
        )

    async def confirm(self, *ids: str) -> builtins.list[HeldGrant]:
        """Activate these items. Folders are granted to their workflows again, before those granted since.

        Raises:
            NotFoundError: nothing with this id waits; the error lists what does.
            AtelierError: the embedder cannot be created; it keeps waiting.
        """
        waiting = {each.id: each for each in await self.list()}
        for id in ids:
            if id not in waiting:
                raise NotFoundError(
                    N_("No item with the id {id} is waiting for confirmation. Waiting items: {ids}."),
                    id=id,
                    ids=", ".join(waiting) or _("nothing"),
                )
        confirmed = [each for id, each in waiting.items() if id in ids]
        for grant in confirmed:
            await self._grant(grant)
            await self._context.settings.update(
                held=lambda held, done=grant: tuple(each for each in held if each.id != done.id)
            )
            if grant.kind is HeldKind.PROVIDER:
                self._context.bus.changed("provider", grant.name)
        return confirmed

    async def _grant(self, grant: HeldGrant) -> None:
        if grant.kind is HeldKind.CONTENTS:
            await unmark_contents(self._context.repos.store, grant.about)
        workflows = self._context.repos.workflows
        for id in sorted(set(grant.workflows) & await workflows.ids()):
            folders = (*grant.about, *(await workflows.get(id)).workspace)
            await workflows.update(id, workspace=tuple(dict.fromkeys(folders)))
            self._context.bus.changed("workflow", id)
