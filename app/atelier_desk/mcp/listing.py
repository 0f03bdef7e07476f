"""A server's tools, resources and prompts, read page by page up to a limit."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TypeVar

from atelier_desk.domain.mcp import MOST_TOOLS, McpPrompt
from atelier_desk.mcp import error_conversion, prompts
from atelier_desk.mcp.list_validation import Entries

if TYPE_CHECKING:
    from mcp import Client

MOST_PAGES = 50
"""Pages of one list; a longer list is cut off."""
MOST_URI = 2_000
"""Characters of a resource's address."""
MOST_DEFINED = 4 * 1024 * 1024
"""Characters of all tool definitions of a server: they are stored and compared."""


class ListResult(Protocol):
    """A page of a list, as in the SDK."""

    next_cursor: str | None


L = TypeVar("L", bound=ListResult)


async def pages(ask: Callable[..., Awaitable[L]]) -> AsyncGenerator[L, None]:
    """Read at most ``MOST_PAGES`` pages; ``ask`` takes a page's ``cursor``, None for the first."""
    cursor: str | None = None
    for _page in range(MOST_PAGES):
        page = await ask(cursor=cursor)
        yield page
        cursor = page.next_cursor
        if not cursor:
            return


async def tools(client: Client, server: str) -> list[dict[str, object]]:
    """All usable tools as the server defines them, in its order, at most ``MOST_TOOLS``.

    ``Entries`` has already removed invalid ones.

    Raises:
        McpError: the definitions have more than ``MOST_DEFINED`` characters.
    """
    if client.server_capabilities.tools is None:
        return []
    found: dict[str, dict[str, object]] = {}
    room = MOST_DEFINED
    async with aclosing(pages(client.list_tools)) as listed:
        async for page in listed:
            for tool in page.tools:
                found[tool.name] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                room -= len(json.dumps(found[tool.name], ensure_ascii=False))
                if room < 0:
                    raise error_conversion.defines_too_much(server, MOST_DEFINED // 1024**2)
                if len(found) >= MOST_TOOLS:
                    return list(found.values())
    return list(found.values())


async def resources(client: Client, entries: Entries) -> list[dict[str, str]]:
    """The resources, at most ``MOST_TOOLS``: ``uri``, ``name``, ``about``, ``media_type``.

    Of several with one address the first is used.
    """
    if client.server_capabilities.resources is None:
        return []
    found: dict[str, dict[str, str]] = {}
    async with aclosing(pages(client.list_resources)) as listed:
        async for page in listed:
            for each in page.resources:
                uri = str(each.uri)
                if len(uri) > MOST_URI:
                    entries.reject("resource", each.name, f"its address has more than {MOST_URI} characters")
                else:
                    fields = {
                        "name": each.title or each.name,
                        "about": each.description or "",
                        "media_type": each.mime_type or "",
                    }
                    found.setdefault(uri, {"uri": uri, **{key: text[:300] for key, text in fields.items()}})
            if len(found) >= MOST_TOOLS:
                break
    return list(found.values())[:MOST_TOOLS]


async def prompts_of(client: Client, entries: Entries) -> list[McpPrompt]:
    """The prompts, at most ``MOST_PROMPTS``; of several with one name the first."""
    if client.server_capabilities.prompts is None:
        return []
    found: dict[str, McpPrompt] = {}
    async with aclosing(pages(client.list_prompts)) as listed:
        async for page in listed:
            for each in page.prompts:
                made = prompts.listed(each)
                if made is None:
                    entries.reject("prompt", each.name, "its name or its arguments are more than a person could enter")
                else:
                    found.setdefault(made.call, made)
            if len(found) >= prompts.MOST_PROMPTS:
                break
    return list(found.values())[: prompts.MOST_PROMPTS]
