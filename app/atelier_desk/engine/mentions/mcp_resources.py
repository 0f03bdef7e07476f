"""Resources of MCP servers, as last listed: searching starts no server, choosing one does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from atelier_desk.engine.attachments.names_and_decoding import shown_name
from atelier_desk.engine.attachments.reading import of_bytes, text_file
from atelier_desk.engine.mentions.mention_source import Mention, MentionScope, best, mentionable
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.engine.attachments.reading import PreparedAttachments


@mentionable(order=60)
class Resources:
    """Keys are the server and the resource's address, joined by a null byte."""

    kind: ClassVar[str] = "mcp"
    title: ClassVar[str] = N_("MCP resources")
    icon: ClassVar[str] = "plug"

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        found = []
        for server in await where.context.mcp.list():
            if server.config.enabled:
                for each in server.known.listed:
                    name = shown_name(each["name"] or each["uri"])
                    found.append(
                        Mention(
                            "mcp", f"{server.name}\0{each['uri']}", name, f"{server.name} · {each['uri']}", self.icon
                        )
                    )
                for template in server.known.templates:
                    name, key = shown_name(template.name or template.uri), f"{server.name}\0{template.uri}"
                    detail = f"{server.name} · {template.uri}"
                    found.append(Mention("mcp", key, name, detail, self.icon, template.variables, template.optional))
        return best(found, query, most)

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        server, _zero, uri = key.partition("\0")
        text, data, _kind = await where.context.mcp.content.resource(server, uri)
        # The name contains its server: the person sees it when the team has read outside content.
        name = shown_name(f"{server}: {uri.rstrip('/').rpartition('/')[2] or uri}")
        return (
            text_file(name, text, "mcp") if text else await in_tool_thread(partial(of_bytes, name, data, source="mcp"))
        )
