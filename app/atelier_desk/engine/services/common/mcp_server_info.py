"""What a running MCP server says about itself, as it is stored."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpKnown
from atelier_desk.engine.attachments.image_headers import picture_of
from atelier_desk.engine.services.common.mcp_resources_prompts import listed
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp import icons
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.mcp.connection import Connection


MAX_INSTRUCTIONS = 4_000
"""Maximum characters of a server's instructions for models."""
ICON_SIDE = 512
"""Maximum pixels of an icon's sides."""


async def inspected(connection: Connection) -> dict[str, object]:
    """Ask a running server about itself; returns fields of ``McpKnown``, as of a new server.

    Raises:
        McpError: it cannot be started, or does not list its tools.
    """
    client, tools = await connection.client(), tuple(await connection.tools())
    offered = client.server_capabilities
    picture = await icons.icon(client.server_info, connection.server)
    fields: dict[str, object] = {
        "title": _title(client.server_info),
        "version": shorten(str(getattr(client.server_info, "version", "") or ""), 64),
        "protocol": client.protocol_version,
        "instructions": redact(client.instructions or "")[:MAX_INSTRUCTIONS],
        "approved": tools,
        "seen": tools,
        "resources": offered.resources is not None,
        "prompts": offered.prompts is not None,
        "latency_ms": connection.latency_ms,
        "icon": await in_tool_thread(icon_text, picture),
    }
    if offered.resources is not None:
        fields["listed"] = await listed(connection, "resource", connection.resources)
        fields["templates"] = await listed(connection, "template", connection.templates)
    fields["offered"] = await listed(connection, "prompt", connection.prompts)
    return fields | {"rejected": connection.entries.rejected}


def described(before: McpKnown, found: dict[str, object]) -> McpKnown:
    """Return a server's present self-description; the first list of its tools is thereby approved."""
    first = {} if before.approved is None else {"approved": before.approved, "instructions": before.instructions}
    return before.model_copy(update=found | first)


def _title(info: object) -> str:
    """Return a server's own title, on one line of at most 120 characters; empty if missing."""
    title = getattr(info, "title", None) or getattr(info, "name", None) or ""
    return shorten(" ".join(str(title).split()), 120)


def icon_text(data: bytes) -> str:
    """Return an icon in base64 if it is a small image (PNG, JPEG, GIF, WebP), else empty.

    SVG can contain scripts and addresses.
    """
    try:
        found = picture_of("icon", data) if data else None
    except UsageError:
        return ""
    return base64.b64encode(data).decode() if found is not None and max(found.width, found.height) <= ICON_SIDE else ""
