"""The lists of a server, page by page: what is taken of them, and where one that never ends is cut off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.mcp import MOST_TOOLS, McpPrompt
from atelier_desk.mcp import errors, prompts

if TYPE_CHECKING:
    from mcp import Client

MOST_PAGES = 50
"""Pages of one list; a server whose list never ends is cut off."""
MOST_URI = 2_000
MOST_DEFINED = 4 * 1024 * 1024
"""Characters of all definitions of a server's tools; they are kept, compared and stored."""
_LONGEST_NAME = 256


async def tools(client: Client, server: str) -> list[dict[str, Any]]:
    """All tools as they are defined, in their order; of several with one name the first.

    Raises:
        McpError: the definitions are more than ``MOST_DEFINED``; it names the ``server``.
    """
    if client.server_capabilities.tools is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    cursor: str | None = None
    room = MOST_DEFINED
    for _page in range(MOST_PAGES):
        listed = await client.list_tools(cursor=cursor)
        for tool in listed.tools:
            if not tool.name or len(tool.name) > _LONGEST_NAME or tool.name in found:
                continue
            found[tool.name] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            room -= len(json.dumps(found[tool.name], ensure_ascii=False))
            if room < 0:
                raise errors.defines_too_much(server, MOST_DEFINED // 1024**2)
            if len(found) >= MOST_TOOLS:
                break
        cursor = listed.next_cursor
        if not cursor or len(found) >= MOST_TOOLS:
            break
    return list(found.values())


async def resources(client: Client) -> list[dict[str, str]]:
    """The resources: ``uri``, ``name``, ``about``, ``media_type``."""
    if client.server_capabilities.resources is None:
        return []
    found: dict[str, dict[str, str]] = {}
    cursor: str | None = None
    for _page in range(MOST_PAGES):
        listed = await client.list_resources(cursor=cursor)
        for each in listed.resources:
            uri = str(each.uri)
            if len(uri) <= MOST_URI:
                said = {"name": each.title or each.name, "about": each.description or "", "media_type": each.mime_type or ""}
                found.setdefault(uri, {"uri": uri, **{key: text[:300] for key, text in said.items()}})
        cursor = listed.next_cursor
        if not cursor or len(found) > MOST_TOOLS:
            break
    return list(found.values())[:MOST_TOOLS]


async def prompts_of(client: Client) -> list[McpPrompt]:
    """The prompts; of several that are called the same the first."""
    if client.server_capabilities.prompts is None:
        return []
    found: dict[str, McpPrompt] = {}
    cursor: str | None = None
    for _page in range(MOST_PAGES):
        listed = await client.list_prompts(cursor=cursor)
        for each in filter(None, map(prompts.listed, listed.prompts)):
            found.setdefault(each.call, each)
        cursor = listed.next_cursor
        if not cursor or len(found) > prompts.MOST_PROMPTS:
            break
    return list(found.values())[: prompts.MOST_PROMPTS]
