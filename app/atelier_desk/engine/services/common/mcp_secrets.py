"""Secrets of MCP servers in the keyring: one keyring serves all data folders of its owner, so each server has entries of its own there."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from atelier_desk.domain.mcp import McpServer
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.mcp import variable_resolution
from atelier_desk.support.threads import in_storage_thread


class McpSecrets:
    """Keeps, moves and forgets them. The keyring may ask its owner, so it is used in a thread."""

    def __init__(self, vault: KeyVault) -> None:
        self._vault = vault

    @staticmethod
    def fresh(config: McpServer) -> McpServer:
        """A new server, with entries that nothing was ever kept under."""
        return config.model_copy(update={"keyring": secrets.token_hex(8)})

    async def settled(self, config: McpServer) -> McpServer:
        """A server with entries of its own: what one of an earlier version has under its name alone is copied, and stays there too,
        because a server of that name in another data folder may need it."""
        if config.keyring:
            return config
        made = config.model_copy(update={"keyring": secrets.token_hex(8)})
        await in_storage_thread(self._copy, dict(zip(all_of(config), all_of(made), strict=True)))
        return made

    async def keep(self, config: McpServer, given: Mapping[str, str]) -> None:
        """Keep values by ``env:NAME``, ``header:NAME`` or ``client:secret``."""
        for key, value in given.items():
            kind, _colon, part = key.partition(":")
            await in_storage_thread(self._vault.keep, variable_resolution.entry(config, kind, part), value)

    async def changed(self, before: McpServer, after: McpServer) -> None:
        """Forget what a server needs no more; a sign-in also when it would be another's."""
        kept = set(variable_resolution.secrets_of(after))
        gone = [each for each in variable_resolution.secrets_of(before) if each not in kept]
        if (before.url, before.client_id) != (after.url, after.client_id):
            gone.append(variable_resolution.entry(after, "oauth"))  # its token would be sent to whoever is there now
        if before.client_id and not after.client_id:
            gone.append(variable_resolution.entry(after, "client", "secret"))
        await self._forget(gone)

    async def forget(self, config: McpServer) -> None:
        """Forget all of a server."""
        await self._forget(all_of(config))

    async def missing(self, config: McpServer) -> tuple[str, ...]:
        """Names of those that it needs and that are not there."""
        return await in_storage_thread(self._missing, config)

    async def has_client_secret(self, config: McpServer) -> bool:
        found = await in_storage_thread(self._vault.get, variable_resolution.entry(config, "client", "secret"))
        return bool(config.client_id and found)

    async def drafted(self, config: McpServer, given: Mapping[str, str]) -> KeyVault:
        """A vault for trying a server as it is in a form: what was typed, and what is kept, in memory alone."""
        made = KeyVault(session=True)
        await in_storage_thread(self._fill, made, variable_resolution.secrets_of(config))
        await McpSecrets(made).keep(config, given)
        return made

    async def _forget(self, entries: Iterable[str]) -> None:
        for each in entries:
            await in_storage_thread(self._vault.delete, each)

    def _missing(self, config: McpServer) -> tuple[str, ...]:
        return tuple(each.rpartition("/")[2] for each in variable_resolution.secrets_of(config) if self._vault.get(each) is None)

    def _fill(self, made: KeyVault, entries: Iterable[str]) -> None:
        for each in entries:
            value = self._vault.get(each)
            if value:
                made.keep(each, value)

    def _copy(self, entries: Mapping[str, str]) -> None:
        for old, new in entries.items():
            value = self._vault.get(old)
            if value:
                self._vault.keep(new, value)


def all_of(config: McpServer) -> list[str]:
    """Every entry that a server can have; the same number for the same configuration."""
    return [
        *variable_resolution.secrets_of(config),
        variable_resolution.entry(config, "oauth"),
        variable_resolution.entry(config, "client", "secret"),
    ]
