"""Secrets of MCP servers in the keyring, which is shared by all data folders of its user, so each server has its own
entries.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from atelier_desk.domain.mcp import McpServer
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.mcp import variable_resolution
from atelier_desk.support.threads import in_storage_thread


class McpSecrets:
    """Stores, moves and deletes them. The keyring may ask its user, so it is used in a thread."""

    def __init__(self, vault: KeyVault) -> None:
        self._vault = vault

    @staticmethod
    def fresh(config: McpServer) -> McpServer:
        """Return a new server with unused keyring entries."""
        return config.model_copy(update={"keyring": secrets.token_hex(8)})

    async def settled(self, config: McpServer) -> McpServer:
        """Return a server with its own entries.

        Entries of an earlier version under its name are copied, and stay, because a server of that name in another data
        folder may need them.
        """
        if config.keyring:
            return config
        made = config.model_copy(update={"keyring": secrets.token_hex(8)})
        await in_storage_thread(self._copy, dict(zip(all_of(config), all_of(made), strict=True)))
        return made

    async def store(self, config: McpServer, given: Mapping[str, str]) -> None:
        """Store values by ``env:NAME``, ``header:NAME`` or ``client:secret``."""
        for key, value in given.items():
            kind, _colon, part = key.partition(":")
            await in_storage_thread(self._vault.store, variable_resolution.entry(config, kind, part), value)

    async def changed(self, before: McpServer, after: McpServer) -> None:
        """Delete what a changed server no longer needs; also a sign-in that would belong to another server."""
        remaining = set(variable_resolution.secrets_of(after))
        gone = [each for each in variable_resolution.secrets_of(before) if each not in remaining]
        if (before.url, before.client_id) != (after.url, after.client_id):
            gone.append(variable_resolution.entry(after, "oauth"))  # its token would be sent to the new address
        if before.client_id and not after.client_id:
            gone.append(variable_resolution.entry(after, "client", "secret"))
        await self._delete(gone)

    async def delete_all(self, config: McpServer) -> None:
        """Delete all secrets of a server."""
        await self._delete(all_of(config))

    async def missing(self, config: McpServer) -> tuple[str, ...]:
        """Return the names of required but missing secrets."""
        return await in_storage_thread(self._missing, config)

    async def has_client_secret(self, config: McpServer) -> bool:
        found = await in_storage_thread(self._vault.get, variable_resolution.entry(config, "client", "secret"))
        return bool(config.client_id and found)

    async def drafted(self, config: McpServer, given: Mapping[str, str]) -> KeyVault:
        """Return an in-memory vault for testing a server as in a form: typed and stored values."""
        made = KeyVault(session=True)
        await in_storage_thread(self._fill, made, variable_resolution.secrets_of(config))
        await McpSecrets(made).store(config, given)
        return made

    async def _delete(self, entries: Iterable[str]) -> None:
        for each in entries:
            await in_storage_thread(self._vault.delete, each)

    def _missing(self, config: McpServer) -> tuple[str, ...]:
        return tuple(
            each.rpartition("/")[2] for each in variable_resolution.secrets_of(config) if self._vault.get(each) is None
        )

    def _fill(self, made: KeyVault, entries: Iterable[str]) -> None:
        for each in entries:
            value = self._vault.get(each)
            if value:
                made.store(each, value)

    def _copy(self, entries: Mapping[str, str]) -> None:
        for old, new in entries.items():
            value = self._vault.get(old)
            if value:
                self._vault.store(new, value)


def all_of(config: McpServer) -> list[str]:
    """Return every possible entry of a server; always the same number for the same configuration."""
    return [
        *variable_resolution.secrets_of(config),
        variable_resolution.entry(config, "oauth"),
        variable_resolution.entry(config, "client", "secret"),
    ]
