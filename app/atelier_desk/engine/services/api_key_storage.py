"""Where keys of providers, MCP servers and services are stored, and the state of the providers' keys."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.provider import KeyPlace, KeyState
from atelier_desk.engine.services.common.service import Service
from atelier_desk.llm.provider_presets import preset_of
from atelier_desk.support.i18n import N_


@dataclass(frozen=True, slots=True)
class KeyStore:
    """Where keys are stored, and the path of the key file."""

    place: KeyPlace
    file: str

    @property
    def persistent(self) -> bool:
        """Whether they outlive the program."""
        return self.place is not KeyPlace.MEMORY


class KeyService(Service):
    """The store of all secrets. A change of place is announced as ``settings`` with ``keys``."""

    async def store(self) -> KeyStore:
        """Return where keys are stored."""
        location = await asyncio.to_thread(lambda: self._context.vault.place)
        return KeyStore(location, str(self._context.datadir.keys))

    async def use_file(self, on: bool) -> KeyStore:
        """Store keys, including known ones, in a file of the data folder; or delete that file.

        On deletion keys move to the keyring if there is one, otherwise they are lost when the program ends.

        Raises:
            UsageError: there is a keyring (code ``keyring``).
            StorageError: the file cannot be written, read or deleted (code ``keys``).
        """
        vault = self._context.vault
        try:
            await asyncio.to_thread(vault.store_in_file if on else vault.leave_file)
        except OSError as error:
            raise StorageError(
                N_(
                    "The key file {path} cannot be used: {reason}. Fix the file, or delete it and enter the keys again."
                ),
                code="keys",
                path=self._context.datadir.keys,
                reason=error.strerror or error,
            ) from None
        self._context.bus.changed("settings", "keys")
        return await self.store()

    async def states(self) -> dict[str, KeyState]:
        """Return the key state of each provider, by name."""
        found = {}
        for config in await self._context.providers.list():
            preset = preset_of(config)
            needed = preset is not None and preset.needs_key
            found[config.name] = await asyncio.to_thread(self._context.vault.state, config, needed=needed)
        return found
