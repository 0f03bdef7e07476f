"""Settings: reading, validated changes, and applying them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from atelier_desk.domain.settings import Settings
from atelier_desk.domain.stream.event import Topic
from atelier_desk.engine.importing.imported_grants import still_held
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.llm.embedders import install_sentence_transformers
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.storage.store import Statement


class SettingsService:
    """Settings of the program; each change is announced as ``settings`` with the field's name."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._changing = asyncio.Lock()
        """Concurrent changes must not overwrite each other."""
        self._installing = asyncio.Lock()
        self._known: Settings | None = None
        self._changes = 0
        context.bus.on_changed(self._changed)

    async def get(self) -> Settings:
        """Return all settings with the active standing rules; cached until a change is announced."""
        if self._known is not None:
            return self._known
        changes = self._changes
        found = await self._context.repos.settings.load()
        if changes == self._changes:
            self._known = found
        return found

    def _changed(self, topic: Topic, _id: str) -> None:
        if topic == "settings":
            self._known = None
            self._changes += 1

    async def update(self, /, *others: Statement, **fields: object) -> Settings:
        """Change settings, store them and notify subscribers at once.

        Standing rules are only changed by ``ApprovalService``. A value may be a function of the previous one, so that
        concurrent additions are not lost. ``others`` are stored in the same transaction. After a switch of the
        embedder, vectors of memories and projects are computed in the background; memories are searched with the old
        ones meanwhile, projects by words.

        Raises:
            UsageError: an unknown setting or an invalid value; the error names both.
        """
        async with self._changing:
            old = await self._context.repos.settings.load()
            fields = {name: made(getattr(old, name, None)) if callable(made) else made for name, made in fields.items()}
            new = input_checks.changed(old, _("settings"), **fields).with_rules(old.approvals.rules)
            if new == old and not others:
                return old
            if new.default_agent_id != old.default_agent_id and "last_agent_id" not in fields:
                new = new.model_copy(update={"last_agent_id": ""})  # the agent just chosen for new workflows
            if "held" not in fields:
                new = new.model_copy(update={"held": still_held(new)})
            was, now = old.in_force, new.in_force
            if now.embedder != was.embedder:
                searching = was.embedder_before or was.embedder
                before = (
                    None if "none" in (searching.kind, now.embedder.kind) or searching == now.embedder else searching
                )
                new = new.model_copy(update={"embedder_before": before, "embedder_paused": False})
                # First, because an embedder that cannot be created must not be stored.
                await self._context.use_embedder(new)
            await self._context.repos.settings.save(new, *others)
            self._changed("settings", "")  # subscribers, and those they notify, must see the new values
            await self._context.in_force.publish(new.in_force)
            for name in fields:
                if getattr(new, name) != getattr(old, name):
                    self._context.bus.changed("settings", name)
            return new

    async def set(self, key: str, value: object) -> Settings:
        """Change one setting like ``update``; ``approvals.timeout_s`` is nested.

        Raises:
            UsageError: no setting has this key, or the value is invalid.
        """
        name, _dot, inside = key.partition(".")
        return await self.update(**{name: lambda old: input_checks.inside(old, key, inside, value)})

    async def install_embedder(self, told: Callable[[str], None]) -> None:
        """Install the package of the sentence-transformers embedder, see ``install``. If already configured, it is used
        now.

        Raises:
            UsageError, ProviderError: it could not be installed; nothing was changed.
        """
        async with self._installing:
            if not install_sentence_transformers.installed():
                await install_sentence_transformers.install(told)
        async with self._changing:
            settings = await self._context.repos.settings.load()
            if settings.in_force.embedder.kind == install_sentence_transformers.PACKAGE:
                await self._context.use_embedder(settings)
                self._context.memories.start_reembed()
                await self._context.projects.follow_embedder()
