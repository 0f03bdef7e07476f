"""Stateless rules about MCP servers: valid configurations, and the status of tools."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.mcp import MOST_ROOTS, McpEntry, McpServer
from atelier_desk.domain.permission import RuleScope
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.mcp_status import McpToolStatus
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp import tool_definitions
from atelier_desk.mcp.config_import.found_server import is_secret
from atelier_desk.policy.permissions.path_denials import bans
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.workspace.path_restrictions import Denials

if TYPE_CHECKING:
    from atelier_desk.domain.permission import PermissionRule
    from atelier_desk.mcp.connection import Connection

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
OWN_HEADERS = frozenset(
    {"accept", "content-type", "content-length", "host", "connection", "transfer-encoding", "mcp-session-id"}
)


def checked(config: McpServer) -> McpServer:
    """Refuse configurations that cannot work, or that contain a secret. Raises ``UsageError``."""
    input_checks.build(McpServer, _("MCP server"), **config.model_dump())
    if config.transport == "http":
        _check_address(config.url)
    for header in config.headers:
        if not HEADER_NAME.fullmatch(header) or header.lower() in OWN_HEADERS:
            raise UsageError(
                N_(
                    "{header} cannot be used as a header name: use letters, digits and dashes. These names are "
                    "reserved: {own}."
                ),
                code="invalid_header", header=header[:40], own=", ".join(sorted(OWN_HEADERS)),
            )  # fmt: skip
    for name, text in config.headers.items():
        if text and "$" not in text:
            raise UsageError(
                N_(
                    "Store the value of the header {header} in the keyring, or use an environment variable "
                    "($VARIABLE). It is never stored as plain text."
                ),
                code="invalid_header",
                header=name,
            )
    for name, text in config.env.items():
        if text and is_secret(name, text):
            raise UsageError(
                N_(
                    "The value of {name} looks like a secret. Store it in the keyring, or use an environment "
                    "variable (${{VARIABLE}}). Secrets are never stored as plain text."
                ),
                code="secret",
                name=name,
            )
    return config


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(re.sub(r"\$\{[^}]*\}", "1", url))
        valid = bool(parts.hostname) and parts.port != 0  # accessing a port over 65535 raises
    except ValueError:
        valid = False
    if not valid or re.search(r"\s", url):
        raise UsageError(
            N_("{url} is not a valid address: it must contain a host and no spaces; a port must be from 1 to 65535."),
            code="address", url=shorten(url, 100),
        )  # fmt: skip
    if "@" in parts.netloc:
        raise UsageError(
            N_(
                "The address must not contain a user name or password, because it is stored as plain text: use a "
                "header instead, such as Authorization."
            ),
            code="secret",
        )


def existing_folders(folders: Sequence[str]) -> tuple[str, ...]:
    """Return folders in stored form: absolute, distinct. Raises ``UsageError``."""
    found = []
    for each in folders:
        path = Path(each).expanduser()
        if not each.strip() or not path.is_dir():
            raise UsageError(N_("There is no folder {folder}."), code="no_folder", folder=each)
        found.append(str(path.resolve()))
    if len(found) > MOST_ROOTS:
        raise UsageError(N_("At most {most} folders can be shared with a server."), code="too_many", most=MOST_ROOTS)
    return tuple(dict.fromkeys(found))


def same_place(before: McpServer, after: McpServer) -> bool:
    """Whether it is still the same server: approvals of another one do not apply."""
    return place_of(before) == place_of(after)


def place_of(config: McpServer) -> tuple[object, ...]:
    """Return what is started or contacted: ``./server`` in another folder is another one."""
    return config.transport, config.command, config.args, config.folder, config.url


def tool_statuses(entry: McpEntry) -> list[McpToolStatus]:
    """Compare a server's approved tools with its present ones."""
    known = entry.known
    approved = {str(each["name"]): each for each in known.approved or ()}
    seen = {str(each["name"]): each for each in known.seen}
    waiting = tool_definitions.difference(approved.values(), seen.values())
    ours = tool_definitions.names(entry.name, approved)
    rows = []
    for tool in dict.fromkeys([*seen, *approved]):
        definition = seen.get(tool) or approved[tool]
        problem, parameters = "", ()
        try:
            parameters = tuple(tool_definitions.parameters(approved.get(tool, definition))["properties"])
        except tool_definitions.Unusable as error:
            problem = str(error)
        state = (
            "new"
            if tool in waiting.new
            else "changed"
            if tool in waiting.changed
            else "gone"
            if tool in waiting.gone
            else "approved"
        )
        before = tool_definitions.description(approved[tool]) if tool in approved else ""
        description = tool_definitions.description(definition)
        rows.append(
            McpToolStatus(
                tool,
                ours.get(tool, "") if not problem else "",
                tool_definitions.title(definition),
                redact(description),
                "unusable" if problem and state == "approved" else state,
                tool not in entry.config.tools_off,
                before if state == "changed" and before != description else "",
                tuple(each for each in HINTS if tool_definitions.hint(definition, each)),
                parameters,
                problem,
            )
        )
    return rows


def started(connection: Connection | None) -> dict[str, Any]:
    """Return the state of a started server, by the names of ``McpStatus``."""
    if connection is None:
        return {}
    return {
        "ping_ms": connection.ping_ms,
        "pid": connection.pid,
        "failures": connection.failures,
        "retry_s": connection.retry_s,
    }


async def denied_in(folder: str, rules: Sequence[PermissionRule]) -> Denials:
    """Return what rules deny to a server's program, which serves many runs.

    Global rules and those of its folder, at its start.
    """
    resolved = await in_tool_thread(_resolved, folder) if folder else ""
    held = [
        rule
        for rule in rules
        if rule.scope is RuleScope.ALWAYS or (rule.scope is RuleScope.FOLDER and rule.scope_id == resolved)
    ]
    return Denials(bans(held), (resolved,) if resolved else ())


def _resolved(folder: str) -> str:
    return os.path.realpath(Path(folder).expanduser())


HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def known_tool(entry: McpEntry, tool: str) -> None:
    """Refuse an unknown tool of a server. Raises ``NotFoundError``, which lists the tools."""
    names = dict.fromkeys(str(each["name"]) for each in (*entry.known.seen, *(entry.known.approved or ())))
    if tool not in names:
        raise NotFoundError(
            N_("The MCP server {server} has no tool {tool}. Its tools: {names}."),
            server=entry.name, tool=tool, names=", ".join(names) or _("none"),
        )  # fmt: skip
