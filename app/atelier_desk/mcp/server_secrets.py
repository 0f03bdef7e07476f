"""Secrets of MCP servers in the keyring, and what a server is started with: they and variables in its configuration.

The keyring is shared by all data folders of its user, so each server has its own entries.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from atelier_desk.domain.mcp import McpError, McpServer
from atelier_desk.llm.secrets import KeyVault, remember
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The values in use. Never store or log them."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def entry(server: McpServer, kind: str, name: str = "") -> str:
    """Keyring entry of a server's secret.

    ``kind`` is ``env``, ``header``, ``oauth`` or ``client``.
    """
    whose = f"{server.name}@{server.keyring}" if server.keyring else server.name
    return f"mcp:{whose}/{kind}/{name.lower() if kind == 'header' else name}"


def secrets_of(server: McpServer) -> list[str]:
    """Keyring entries that a configuration needs."""
    env = [entry(server, "env", name) for name, text in server.env.items() if not text]
    return env + [entry(server, "header", name) for name, text in server.headers.items() if not text]


def all_of(config: McpServer) -> list[str]:
    """Return every possible entry of a server; always the same number for the same configuration."""
    return [
        *secrets_of(config),
        entry(config, "oauth"),
        entry(config, "client", "secret"),
    ]


async def resolved(server: McpServer, vault: KeyVault, environ: Mapping[str, str] | None = None) -> Resolved:
    """Resolve all values. The keyring may prompt its owner, so it is read in a thread.

    Raises:
        McpError: a secret is not in the keyring, or a variable is not set (code ``secret``); it names the
            server.
    """
    return await in_storage_thread(_resolved, server, vault, os.environ if environ is None else environ)


def _resolved(server: McpServer, vault: KeyVault, environ: Mapping[str, str]) -> Resolved:
    env: dict[str, str] = {}
    for name, text in server.env.items():
        env[name] = filled(text, {**environ, **env}, server.name) if text else _secret(server, vault, "env", name)
    known = {**environ, **env}
    headers = {}
    for name, text in server.headers.items():
        value = filled(BARE.sub(r"${\1}", text), known, server.name) if text else _secret(server, vault, "header", name)
        remember(value.rpartition(" ")[2])
        headers[name] = value
    return Resolved(
        tuple(filled(text, known, server.name) for text in server.args),
        env,
        filled(server.url, known, server.name),
        headers,
    )


def filled(text: str, values: Mapping[str, str], server: str) -> str:
    """Replace ``${NAME}`` and ``${NAME:-default}`` in a text."""

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        if name in values:
            return values[name]
        if otherwise is None:
            raise McpError(
                N_("The MCP server {server} needs the variable {name}, which is not set."),
                code="secret",
                server=server,
                name=name,
            )
        return otherwise

    return REFERENCE.sub(value, text)


def _secret(server: McpServer, vault: KeyVault, kind: str, name: str) -> str:
    value = vault.get(entry(server, kind, name))
    if value is None:
        raise McpError(
            N_("The MCP server {server} needs the secret {name}, which was lost when Atelier closed. Enter "
                "it again."),
            code="secret", server=server.name, name=name,
        )  # fmt: skip
    return value


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
            await in_storage_thread(self._vault.store, entry(config, kind, part), value)

    async def changed(self, before: McpServer, after: McpServer) -> None:
        """Delete what a changed server no longer needs; also a sign-in that would belong to another server."""
        remaining = set(secrets_of(after))
        gone = [each for each in secrets_of(before) if each not in remaining]
        if (before.url, before.client_id) != (after.url, after.client_id):
            gone.append(entry(after, "oauth"))  # its token would be sent to the new address
        if before.client_id and not after.client_id:
            gone.append(entry(after, "client", "secret"))
        await self._delete(gone)

    async def delete_all(self, config: McpServer) -> None:
        """Delete all secrets of a server."""
        await self._delete(all_of(config))

    async def missing(self, config: McpServer) -> tuple[str, ...]:
        """Return the names of required but missing secrets."""
        return await in_storage_thread(self._missing, config)

    async def has_client_secret(self, config: McpServer) -> bool:
        found = await in_storage_thread(self._vault.get, entry(config, "client", "secret"))
        return bool(config.client_id and found)

    async def drafted(self, config: McpServer, given: Mapping[str, str]) -> KeyVault:
        """Return an in-memory vault for testing a server as in a form: typed and stored values."""
        made = KeyVault(session=True)
        await in_storage_thread(self._fill, made, secrets_of(config))
        await McpSecrets(made).store(config, given)
        return made

    async def _delete(self, entries: Iterable[str]) -> None:
        for each in entries:
            await in_storage_thread(self._vault.delete, each)

    def _missing(self, config: McpServer) -> tuple[str, ...]:
        return tuple(each.rpartition("/")[2] for each in secrets_of(config) if self._vault.get(each) is None)

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
