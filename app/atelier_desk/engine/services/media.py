"""Services for images and 3D models, and their keys."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.settings import MediaSettings
from atelier_desk.engine.importing.imported_grants import check_confirmed
from atelier_desk.engine.services.common.service import Service
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import N_, _
from atelier_desk.web.media_generation import MediaGenerator
from atelier_desk.web.service_keys import entry, has_key

KEYED = ("images", "tripo", "meshy")
"""Services with stored keys."""


@dataclass(frozen=True, slots=True)
class MediaState:
    """State of the settings page; ``keys``: services with a stored key."""

    settings: MediaSettings
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MediaTrial:
    """Result of a test: whether the service lists the model (None: no list), and the account's balance (None:
    unknown)."""

    known: bool | None = None
    balance: float | None = None


class MediaService(Service):
    """Media services. Changes are announced as ``settings``."""

    async def state(self) -> MediaState:
        vault = self._context.vault
        keys = tuple([name for name in KEYED if await has_key(vault, name)])
        settings = (await self._context.settings.get()).media
        return MediaState(settings, keys)

    async def use(self, settings: MediaSettings, keys: Mapping[str, str] | None = None) -> bool:
        """Use these settings from now on, and store the given keys. False if keys last for this session only.

        Raises:
            UsageError: an address without a model; no such service.
            ProviderError: a text is not a valid key.
        """
        if settings.images and not settings.images_model:
            raise UsageError(N_("The image endpoint needs a model name, such as gpt-image-1."))
        if settings.images_model and not settings.images:
            raise UsageError(N_("The image endpoint needs an address, such as https://api.openai.com/v1."))
        await self._check_vision_model(settings.sees)
        persistent = True
        for service, key in (keys or {}).items():
            if service not in KEYED:
                raise UsageError(N_("No key is stored for {service}."), service=service)
            persistent = await asyncio.to_thread(self._context.vault.set, entry(service), key) and persistent
        await self._context.settings.update(media=settings)
        if keys:
            self._context.bus.changed("settings", "media")
        return persistent

    async def _check_vision_model(self, sees: str) -> None:
        name = sees.partition("/")[0]
        if not sees or sees == (await self._context.settings.get()).media.sees:
            return
        known = [each.name for each in await self._context.repos.providers.list()]
        if name not in known:
            names = ", ".join(known) or _("none")
            raise UsageError(N_("There is no provider {name}. Providers: {names}."), name=name, names=names)

    async def test(
        self, what: str, settings: MediaSettings | None = None, keys: Mapping[str, str] | None = None
    ) -> MediaTrial:
        """Test ``images`` or ``models`` with possibly unsaved settings, storing nothing. Costs nothing.

        Raises:
            ToolError, ProviderError: it does not work; the text says why.
        """
        if what not in ("images", "models"):
            raise UsageError(N_("Available tests: images, models."))
        stored = await self._context.settings.get()
        tried = settings or stored.media
        if what == "images" and not (tried.images and tried.images_model):
            raise UsageError(
                N_("No image generation service is configured: enter the address and model of one first."),
                code="not_configured",
            )
        if what == "models" and tried.models == "off":
            raise UsageError(N_("No 3D generation service is configured: choose one first."), code="not_configured")
        kind, title = (HeldKind.IMAGES, tried.images) if what == "images" else (HeldKind.MODELS, tried.models)
        check_confirmed(stored.model_copy(update={"media": tried}), kind, title)
        vault = self._context.vault
        if keys:  # typed keys in addition to the stored ones
            vault = await asyncio.to_thread(self._session_vault, keys)
        trial = MediaGenerator(vault, self._context.clock, self._context.web_pages)
        trial.settings = tried
        if what == "images":
            return MediaTrial(known=await trial.knows_model())
        return MediaTrial(balance=await trial.balance())

    def _session_vault(self, keys: Mapping[str, str]) -> KeyVault:
        made = KeyVault(session=True)
        for service in KEYED:
            if key := keys.get(service) or self._context.vault.get(entry(service)):
                made.set(entry(service), key)
        return made

    async def forget_key(self, service: str) -> None:
        """Delete the key of one of these services, also from the keyring."""
        if service not in KEYED:
            raise UsageError(N_("No key is stored for {service}."), service=service)
        await asyncio.to_thread(self._context.vault.delete, entry(service))
        self._context.bus.changed("settings", "media")

    async def forget_keys(self) -> None:
        """Delete the keys of all these services, also from the keyring."""
        for service in KEYED:
            await asyncio.to_thread(self._context.vault.delete, entry(service))
        self._context.bus.changed("settings", "media")
