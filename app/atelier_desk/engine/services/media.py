"""Pictures and 3D: who describes and who makes them, and the keys of these services."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.i18n import N_
from atelier_desk.web.keyed import entry, has_key

KEYED = ("images", "tripo", "meshy")
"""The services whose keys are kept."""


@dataclass(frozen=True, slots=True)
class MediaState:
    """What the settings page shows; ``keys`` are the services whose key is kept, ``persistent`` whether keys outlive the program."""

    settings: MediaSettings
    keys: tuple[str, ...]
    persistent: bool


class MediaService:
    """Changes are announced as ``settings``."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def state(self) -> MediaState:
        vault = self._context.vault
        keys = tuple([name for name in KEYED if await has_key(vault, name)])
        settings = (await self._context.settings.get()).media
        return MediaState(settings, keys, await asyncio.to_thread(lambda: vault.persistent))

    async def use(self, settings: MediaSettings, keys: Mapping[str, str] | None = None) -> bool:
        """Work this way from now on; the keys that are given are kept. False when keys live for this session alone.

        Raises:
            UsageError: an address without the model that is to be asked there; no such service.
            ProviderError: a text cannot be a key.
        """
        if settings.images and not settings.images_model:
            raise UsageError(N_("The images endpoint needs the name of its model, such as gpt-image-1."))
        kept = True
        for service, key in (keys or {}).items():
            if service not in KEYED:
                raise UsageError(N_("No key is kept for {service}."), service=service)
            kept = await asyncio.to_thread(self._context.vault.set, entry(service), key) and kept
        await self._context.settings.update(media=settings)
        if keys:
            self._context.bus.changed("settings", "media")
        return kept

    async def forget_keys(self) -> None:
        """Forget the keys of all these services, in the keyring too."""
        for service in KEYED:
            await asyncio.to_thread(self._context.vault.delete, entry(service))
        self._context.bus.changed("settings", "media")
