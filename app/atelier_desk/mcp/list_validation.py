"""Validates lists entry by entry: the SDK rejects a list for a single invalid entry.

Hides our secrets in what a server says of itself and its lists, which is stored, shown and sent to models. Messages
are checked before the SDK reads them, so that it works for both transports and every revision.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCRequest, JSONRPCResponse, methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from atelier_desk.domain.mcp import McpRejected, RejectedKind
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp.results import hidden
from atelier_desk.support.visible_and_shortened_text import shorten

LONGEST_NAME = 256
"""Characters of a tool's name."""
MAX_REJECTED = 50
"""Rejected entries reported for one list; more would not help a person."""
_LISTS: Mapping[str, tuple[str, RejectedKind]] = {
    "tools/list": ("tools", "tool"),
    "resources/list": ("resources", "resource"),
    "resources/templates/list": ("resourceTemplates", "template"),
    "prompts/list": ("prompts", "prompt"),
}
_CALLED_BY: Mapping[RejectedKind, str] = {
    "tool": "name",
    "resource": "uri",
    "template": "uriTemplate",
    "prompt": "name",
}
"""The field by which an entry is requested: with a part hidden it would name another one, or none."""
_OPEN = 1_000
"""Open requests remembered; there are never more at once."""
_FIRST_VERSION = "2025-11-25"
"""The revision assumed before one is negotiated, as in the SDK."""


class Entries:
    """Rejected entries of a server's lists, and why, for one connection."""

    def __init__(self) -> None:
        self._open: OrderedDict[str | int, tuple[str, str, bool]] = OrderedDict()
        self._version = _FIRST_VERSION
        self._rejected: dict[RejectedKind, dict[str, McpRejected]] = {}
        self._tools: set[str] = set()

    @property
    def rejected(self) -> tuple[McpRejected, ...]:
        """Rejected entries in the newest list of each kind."""
        return tuple(each for kind in self._rejected.values() for each in kind.values())

    def reject(self, kind: RejectedKind, name: str, why: str) -> None:
        """Record an entry that cannot be used; ``why`` in English."""
        found, name = self._rejected.setdefault(kind, {}), redact(name)
        if len(found) < MAX_REJECTED:
            found.setdefault(
                name, McpRejected(kind=kind, name=shorten(" ".join(name.split()), 120), why=shorten(why, 300))
            )

    def on_sent(self, message: object) -> None:
        """Record a request to the server."""
        if not isinstance(message, JSONRPCRequest):
            return
        params = message.params or {}
        version = (params.get("_meta") or {}).get(PROTOCOL_VERSION_META_KEY) or ""
        self._open[message.id] = message.method, version, not params.get("cursor")
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)

    def on_received(self, message: Any) -> None:
        """Hide our secrets, remove invalid entries from a list, and add fields that the newest revision may omit."""
        asked = self._open.pop(message.id, None) if isinstance(message, JSONRPCResponse) else None
        if asked is None:
            return
        method, version, first = asked
        if method in ("initialize", "server/discover"):
            shown = _hidden(message.result)
            message.result = shown if isinstance(shown, dict) else {}
        result = message.result
        if method == "initialize":
            self._version = str(result.get("protocolVersion") or _FIRST_VERSION)
        elif version and "resultType" not in result:
            # The protocol defines this default.
            result["resultType"] = "complete"
        if method not in _LISTS:
            return
        if version:
            # Cache lifetime of the answer: nothing is cached here.
            result.setdefault("ttlMs", 0)
            result.setdefault("cacheScope", "private")
        key, kind = _LISTS[method]
        if first:
            self._rejected.pop(kind, None)
            if kind == "tool":
                self._tools = set()
        if isinstance(result.get(key), list):
            pairs = ((each, _hidden(each)) for each in result[key])
            asked_with = version or self._version
            result[key] = [after for each, after in pairs if self._usable(method, asked_with, each, after)]

    def _usable(self, method: str, version: str, entry: object, shown: object) -> bool:
        """Whether an entry is usable; ``shown`` is it without our secrets."""
        key, kind = _LISTS[method]
        fields = entry if isinstance(entry, dict) else {}
        name = fields.get("name") or fields.get("uri") or fields.get("uriTemplate") or ""
        why = _problem(method, version, key, entry)
        if kind == "tool" and not why:
            why = self._problem_of_tool(name, fields, version)
        if not why and (not isinstance(shown, dict) or shown.get(_CALLED_BY[kind]) != fields.get(_CALLED_BY[kind])):
            why = "its name or address contains one of your secrets"
        if why:
            self.reject(kind, name if isinstance(name, str) else "", why)
        return not why

    def _problem_of_tool(self, name: object, said: Mapping[str, Any], version: str) -> str:
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            return f"its name must have 1 to {LONGEST_NAME} characters"
        if name in self._tools:
            return "another tool of this server has the same name"
        self._tools.add(name)
        if (said.get("execution") or {}).get("taskSupport") == "required":
            return "it runs only as an MCP task, which Atelier does not support"
        invalid = find_invalid_x_mcp_header(said["inputSchema"]) if version in MODERN_PROTOCOL_VERSIONS else None
        return f"a parameter cannot be sent as a header ({invalid})" if invalid else ""


def _problem(method: str, version: str, key: str, entry: object) -> str:
    """What is wrong with an entry, in words; empty when it is valid."""
    page = {key: [entry], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    try:
        methods.parse_server_result(method, version, page)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(each) for each in first["loc"][2:]) or "the entry"
        return f"{place} is missing" if first["type"] == "missing" else f"{place} does not follow the protocol"
    except (KeyError, ValueError, RuntimeError, RecursionError):
        # This revision has no such list or is unknown: the SDK decides.
        return ""
    return ""


def _hidden(entry: object) -> object:
    """An entry without our secrets; None for one nested too deeply to be written as JSON."""
    try:
        return hidden(entry)
    except (RecursionError, ValueError):
        return None
