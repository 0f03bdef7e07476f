"""``search_web``: find pages about a topic."""

from __future__ import annotations

from functools import partial

from pydantic import Field

from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.usage import uncounted
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.web.web_tool_base import OUTSIDE, WebTool
from atelier_desk.web.search import MOST


class SearchInput(Input):
    query: str = Field(min_length=1, max_length=400, description="What to search for, as one would type it.")
    limit: int = Field(default=8, ge=1, le=MOST, description="Most results.")


@builtin(order=500)
class SearchWeb(WebTool):
    """Searches the web with the configured service."""

    name = "search_web"
    title = N_("Search the web")
    purpose = N_("Searches the web for pages")
    icon = "search"
    summaries = {"": N_("Search the web for “{query}”")}
    done = {"": N_("Searched the web for “{query}”")}
    preset = True
    input = SearchInput
    about = About(
        what="Searches the web and gives title, address, excerpt and, where it is known, the date of each page.",
        when=(
            "the answer is newer than what you know, must be checked, or needs a source. Name the addresses you "
            "used in your answer."
        ),
        when_not="you have the address (fetch_web_page), or the answer is in the workspace.",
        example={"query": "asyncio timeout context manager", "limit": 5},
        limits=(f"{MOST} results", "an excerpt is not the page: fetch it before you rely on it"),
    )

    def missing_setup(self) -> str:
        searcher = self.services.searcher
        return searcher.missing() if searcher is not None else ""

    async def run(self, input: SearchInput, context: ToolContext) -> ToolResult:
        if self.services.searcher is None:
            return ToolResult.failure("The web cannot be searched here.", "unsupported")
        spending = context.spending
        paying = (
            partial(spending.paying, where="Settings, Web (atelier web use)") if spending is not None else uncounted
        )
        hits = await self.services.searcher.search(input.query, input.limit, paying)
        rows = [
            {"title": hit.title, "url": hit.url, "excerpt": hit.excerpt, **({"date": hit.date} if hit.date else {})}
            for hit in hits
        ]
        note = OUTSIDE if rows else "Nothing was found. Try other words."
        sources = tuple(SourcePart(url=hit.url, title=hit.title, date=hit.date, read=False) for hit in hits)
        return ToolResult({"success": True, "note": note, "results": rows, "total": len(rows)}, parts=sources)
