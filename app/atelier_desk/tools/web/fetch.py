"""``fetch_web_page``: web pages as Markdown."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import Field

from atelier_desk.domain.call_presentation_and_subjects import CallText, Subjects
from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.support.i18n import N_, _
from atelier_desk.tools.base import Call, Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.web.web_tool_base import OUTSIDE, PageUrl, WebTool, host_of, own_network
from atelier_desk.web.page_fetcher import CRAWL_S, Crawl, Page

DEPTH = 3
PAGES = 50
PAGE = 20_000
"""Characters per answer, shared by several pages."""
LEAST = 600
"""Minimum characters of each of several pages."""
LINKS = 60
_PATTERNS = 20
_ONE_S = 180.0


class FetchInput(Input):
    url: PageUrl
    depth: int = Field(default=0, ge=0, le=DEPTH, description="0: this page; 1: also those of the site it links to; …")
    max_pages: int = Field(default=10, ge=1, le=PAGES, description="With depth.")
    include_patterns: list[str] = Field(
        default=[], max_length=_PATTERNS, description="Links to follow, such as */docs/*"
    )
    exclude_patterns: list[str] = Field(default=[], max_length=_PATTERNS, description="Links not to follow.")
    extract_links: bool = Field(default=False, description="Give its links too.")
    force: bool = Field(default=False, description="Fetch anew, not from the cache.")
    offset: int = Field(default=0, ge=0, description="Character to begin at: next_offset of the answer before.")


_WITH_BROWSER = N_(
    "Read the page {url} (if it needs JavaScript, it is loaded in {browser}, separate from your own browser)"
)


@builtin(order=510)
class FetchWebPage(WebTool):
    """Reads a web page, or some pages of a site."""

    name = "fetch_web_page"
    title = N_("Read web page")
    purpose = N_("Fetches web pages as text")
    summaries = {"": N_("Read the page {url}")}
    done = {"": N_("Viewed the page {url}")}
    preset = True
    input = FetchInput
    rest_hint = "Read on with offset."
    about = About(
        what="Fetches a web page and gives its text as Markdown with title, author and date; PDF as text.",
        when="you have an address and need what the page says. Name the addresses you used.",
        when_not="you have no address (search_web, if you have it), or the file is in the workspace.",
        example={"url": "https://docs.python.org/3/"},
        limits=(
            f"{PAGE} characters at once",
            f"depth {DEPTH}, {PAGES} pages of one site, one a second, robots.txt obeyed",
            "JavaScript runs only where the user has and allows a browser",
            "the user's own network only where a rule allows it with its port",
        ),
    )

    def describe(self, input: FetchInput) -> Call:
        seconds = _ONE_S + (CRAWL_S if input.depth else 0)
        described = super().describe(input)
        browser = self.services.web.browser() if self.services.web is not None else None
        if browser is not None:
            words = CallText(text=_WITH_BROWSER, params={**described.summary.params, "browser": browser.name})
            described = replace(described, summary=words)
        return replace(described, subjects=Subjects(hosts=(host_of(input.url),)), timeout_s=seconds)

    async def run(self, input: FetchInput, context: ToolContext) -> ToolResult:
        allowed = own_network(context)
        if input.depth == 0 or input.max_pages == 1:
            context.progress(5, _("Contacting {host}", host=host_of(input.url)))
            return _one(await self.web.page(input.url, allowed, force=input.force, barred=context.barred_host), input)
        wanted = Crawl(
            input.depth, input.max_pages, _like(input.include_patterns, True), _like(input.exclude_patterns, False)
        )
        found = await self.web.crawl(
            input.url, wanted, allowed, context.progress, force=input.force, barred=context.barred_host
        )
        share = max(LEAST, PAGE // len(found.pages))
        data = {
            "success": True,
            "note": f"{OUTSIDE} A page that is cut is read on with its url and offset.",
            "pages": [_page_fields(page, 0, share) for page in found.pages],
            "total": len(found.pages),
            **({"not_fetched": [{"url": url, "error": error} for url, error in found.failed]} if found.failed else {}),
            **({"more_links": found.left} if found.left else {}),
        }
        return ToolResult(data, parts=tuple(map(source, found.pages)))


def _one(page: Page, input: FetchInput) -> ToolResult:
    if input.offset and input.offset >= len(page.markdown):
        return ToolResult.failure(
            f"The page has {len(page.markdown)} characters; offset {input.offset} is past its end.", "bad_range"
        )
    links: dict[str, object] = {}
    if input.extract_links:
        links = {"links": [dict(each) for each in page.links[:LINKS]]}
        if len(page.links) > LINKS:
            links["more_links"] = len(page.links) - LINKS
    return ToolResult(
        {"success": True, "note": OUTSIDE, **_page_fields(page, input.offset, PAGE), **links}, parts=(source(page),)
    )


def _page_fields(page: Page, start: int, most: int) -> dict[str, object]:
    shown = page.markdown[start : start + most]
    known = {
        "title": page.title,
        "author": page.author,
        "date": page.date,
        "site": page.site,
        "language": page.language,
    }
    end = start + len(shown)
    notes = [
        *_remarks(page),
        *(["Only its beginning was fetched: the page is longer than what is read of one."] if page.cut else []),
    ]
    return {
        "url": page.url,
        **{name: value for name, value in known.items() if value},
        "form": page.form,
        "content": shown,
        "total_chars": len(page.markdown),
        **({"next_offset": end} if end < len(page.markdown) else {}),
        **({"shown_by": page.ran} if page.ran else {}),
        **({"from_cache": True} if page.cached else {}),
        **({"remark": " ".join(notes)} if notes else {}),
    }


def _remarks(page: Page) -> Sequence[str]:
    if page.scripts:
        why = page.trouble.rstrip(".")
        return (
            (
                f"The page is made by programs in it (JavaScript), which were not run: {why}. Most of it is missing "
                f"here: use another source."
            ),
        )
    return () if page.markdown else ("The page has no text.",)


def source(page: Page) -> SourcePart:
    return SourcePart(url=page.url, title=page.title, date=page.date)


def _like(patterns: Sequence[str], empty: bool) -> Callable[[str], bool]:
    """Return a predicate: does an address match one of the patterns (``*`` for any characters)?"""
    if not patterns:
        return lambda _url: empty
    return lambda url: any(
        fnmatch.fnmatchcase(url, each) or fnmatch.fnmatchcase(url, f"*{each}*" if "*" not in each else each)
        for each in patterns
    )
