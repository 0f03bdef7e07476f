"""Where the keys of providers, MCP servers and services are kept, and how those of the providers stand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.provider import KeyPlace, KeyState
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.llm.presets import preset_of
from atelier_desk.support.i18n import N_


@dataclass(frozen=True, slots=True)
class KeyStore:
    """Where keys go, and the path of the file that holds them, or would."""

    place: KeyPlace
    file: str

    @property
    def persistent(self) -> bool:
        """Whether they outlive the program."""
        return self.place is not KeyPlace.MEMORY


class KeyService:
    """One store for every secret. A change of the place is announced as ``settings`` with ``keys``."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def store(self) -> KeyStore:
        """Where keys are kept now."""
        place = await asyncio.to_thread(lambda: self._context.vault.place)
        return KeyStore(place, str(self._context.datadir.keys))

    async def use_file(self, on: bool) -> KeyStore:
        """Keep keys in a file of the data folder, with those that are known already; or delete that file again, after which they are in
        the keyring if there is one by now, else lost when the program ends.

        Raises:
            UsageError: there is a keyring (code ``keyring``).
            StorageError: the file cannot be written, read or deleted (code ``keys``).
        """
        vault = self._context.vault
        try:
            await asyncio.to_thread(vault.keep_in_file if on else vault.leave_file)
        except OSError as error:
            raise StorageError(
                N_("The file of keys {path} cannot be used: {reason}. Correct that, or delete the file and enter the keys again."),
                code="keys",
                path=self._context.datadir.keys,
                reason=error.strerror or error,
            ) from None
        self._context.bus.changed("settings", "keys")
        return await self.store()

    async def states(self) -> dict[str, KeyState]:
        """How the key of each provider stands, by its name."""
        found = {}
        for config in await self._context.providers.list():
            preset = preset_of(config)
            needed = preset is not None and preset.needs_key
            found[config.name] = await asyncio.to_thread(self._context.vault.state, config, needed=needed)
        return found
