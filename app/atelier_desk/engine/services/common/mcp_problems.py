"""Problems of an agent's MCP servers that a run must report.

Those that provide nothing, and unusable entries of the others.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.mcp import McpEntry, McpError, ServerProblem
from atelier_desk.engine.services.common.mcp_config_checks import tool_statuses
from atelier_desk.engine.services.common.mcp_resources_prompts import Refresh
from atelier_desk.presentation.mcp_server_text import rejected_text
from atelier_desk.support.i18n import _

MAX_NAMED = 8
"""Maximum entries of a server named by a run; the window and ``atelier mcp test`` name all."""


class McpProblems:
    """Checks the servers of an agent when its run begins.

    Args:
        entries: all servers by name.
        refresh: starts a server and compares its tools.
        failed: error of a server's newest start; None if it succeeded.
    """

    def __init__(
        self,
        entries: Callable[[], Awaitable[Mapping[str, McpEntry]]],
        refresh: Refresh,
        failed: Callable[[str], McpError | None],
    ) -> None:
        self._entries, self._refresh, self._failed = entries, refresh, failed

    async def of(self, names: Sequence[str]) -> tuple[ServerProblem, ...]:
        """Return the problems of these servers, in the current language.

        Starts servers that were never listed, up to ``START_S``.
        """
        found = await asyncio.gather(*(self._of(name) for name in names))
        return tuple(each for each in found if each is not None)

    async def _of(self, name: str) -> ServerProblem | None:
        entry = (await self._entries()).get(name)
        if entry is None:
            return ServerProblem(server=name, code="unknown")
        if not entry.config.enabled:
            return ServerProblem(server=name, code="off")
        if entry.known.approved is None:
            try:
                await self._refresh(name)
            except AtelierError as error:
                return ServerProblem(server=name, code="failed", detail=error.localized(_), key=error.code)
        elif (reason := self._failed(name)) is not None:
            return ServerProblem(server=name, code="failed", detail=reason.localized(_), key=reason.code)
        known = (await self._entries())[name]
        bad, key = left_out(known), _key(known)
        detail = "; ".join(bad[:MAX_NAMED]) + (" …" if len(bad) > MAX_NAMED else "")
        if not known.known.seen and not known.known.resources and not known.known.prompts:
            return ServerProblem(server=name, code="nothing", detail=detail, key=key)
        return ServerProblem(server=name, code="left_out", detail=detail, key=key) if bad else None


def left_out(entry: McpEntry) -> tuple[str, ...]:
    """Return the unusable entries of a server with reasons, in the current language."""
    return tuple(rejected_text(*each) for each in _left_out(entry))


def _left_out(entry: McpEntry) -> list[tuple[str, str, str]]:
    """Return kind, name and stored reason of each."""
    unusable = [("tool", row.tool, row.problem) for row in tool_statuses(entry) if row.problem and row.state != "gone"]
    return [*((each.kind, each.name, each.why) for each in entry.known.rejected), *unusable]


def _key(entry: McpEntry) -> str:
    """Return a short key for exactly these omitted entries; empty for none."""
    names = sorted((kind, name) for kind, name, _why in _left_out(entry))
    return hashlib.blake2s(repr(names).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if names else ""


def usable_tools(entry: McpEntry) -> int:
    """Return the number of usable listed tools, once approved."""
    return sum(not row.problem and row.state != "gone" for row in tool_statuses(entry))
