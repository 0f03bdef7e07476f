"""Insert secrets and variables into a server's configuration when it is started."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
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
            N_("The MCP server {server} needs the secret {name}, which was not kept after Atelier closed. Enter "
                "it again."),
            code="secret", server=server.name, name=name,
        )  # fmt: skip
    return value
