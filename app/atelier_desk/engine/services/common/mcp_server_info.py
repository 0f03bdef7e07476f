"""What a running MCP server says about itself, as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.mcp import McpKnown
from atelier_desk.engine.services.common.mcp_config_checks import icon_text, title_of
from atelier_desk.engine.services.common.mcp_resources_prompts import listed
from atelier_desk.llm.secrets import redact
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.mcp.connection import Connection


MAX_INSTRUCTIONS = 4_000
"""Maximum characters of a server's instructions for models."""


async def described(
    before: McpKnown, connection: Connection, client: Any, tools: Sequence[dict[str, Any]], picture: Any
) -> McpKnown:
    """Return a server's present self-description; the first list of its tools is thereby approved."""
    offered = client.server_capabilities
    fields: dict[str, Any] = {
        "title": title_of(client.server_info),
        "version": shorten(str(getattr(client.server_info, "version", "") or ""), 64),
        "protocol": client.protocol_version,
        "seen": tuple(tools),
        "resources": offered.resources is not None,
        "prompts": offered.prompts is not None,
        "latency_ms": connection.latency_ms,
        "icon": await in_tool_thread(icon_text, picture),
    }
    if offered.resources is not None:
        fields["listed"] = await listed(connection, "resource", connection.resources)
        fields["templates"] = await listed(connection, "template", connection.templates)
    if offered.prompts is not None or before.offered:
        fields["offered"] = await listed(connection, "prompt", connection.prompts)
    fields["rejected"] = connection.entries.rejected
    if before.approved is None:
        fields |= {"approved": tuple(tools), "instructions": redact(client.instructions or "")[:MAX_INSTRUCTIONS]}
    return before.model_copy(update=fields)
