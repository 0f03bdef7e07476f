"""Web search by public search pages, SearXNG, Brave or Tavily: one function each."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.domain.settings import WebSettings
from atelier_desk.domain.usage import Paying, uncounted
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.network.http_client import HttpClient, Timeouts
from atelier_desk.llm.network.proxy_and_certificates import find_proxy
from atelier_desk.llm.secrets import KeyVault, redact
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.web.service_keys import credentials

MOST = 20
"""Results of one search."""
EXCERPT = 500
_CONNECT_S, _CALL_S = 10.0, 20.0
_PAGES_S = 10
_TAG = re.compile(r"<[^>]{0,200}>")


@dataclass(frozen=True, slots=True)
class WebHit:
    """A search result; ``date`` is the service's text, empty when unknown."""

    title: str
    url: str
    excerpt: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """A search service.

    Attributes:
        title: display name.
        address: usual address; empty when there is none.
        keyed: it needs a key, and charges for searches.
    """

    title: str
    ask: Callable[[Searcher, str, int], Awaitable[list[WebHit]]]
    address: str = ""
    keyed: bool = False


class Searcher:
    """Searches with the configured service; the settings may change at any time."""

    def __init__(self, vault: KeyVault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock
        self.settings = WebSettings()

    def missing(self) -> str:
        """What must be configured first, as text for the model; empty when nothing is missing."""
        if self.settings.search == "off":
            return (
                "Searching the web is switched off. The user can choose a search service in Settings, Web (atelier "
                "web use)."
            )
        engine = ENGINES[self.settings.search]
        if not (self.settings.address or engine.address or self.settings.search == "ddgs"):
            return (
                f"The address of {engine.title} is missing. The user can enter it in Settings, Web (atelier web use)."
            )
        return ""

    async def search(self, query: str, limit: int, paying: Paying) -> list[WebHit]:
        """The first results; each page once. Charges of a service with a key are counted by ``paying``.

        Raises:
            ToolError: not configured (``not_configured``), or the public search pages failed (``search``).
            AtelierError: ``paying`` has no budget for it.
            ProviderError: the service cannot be reached, refuses the key or returns an invalid answer.
        """
        if missing := self.missing():
            raise ToolError("{text}", code="not_configured", text=missing)
        engine = ENGINES[self.settings.search]
        async with (paying if engine.keyed else uncounted)(
            engine.title, "web search", self.settings.price, "a web search"
        ):
            found = await engine.ask(self, query, limit)
        return list({each.url: each for each in reversed(found)}.values())[::-1][:limit]

    async def ask(
        self, method: str, path: str, payload: object = None, *, header: str = "", before: str = ""
    ) -> object:
        """The JSON answer of the service."""
        engine = ENGINES[self.settings.search]
        key = (
            credentials(self._vault, self.settings.search, engine.title, self.settings.key_env, header, before)
            if header
            else None
        )
        address = self.settings.address or engine.address
        wait = Timeouts(connect_s=_CONNECT_S, call_s=_CALL_S)
        client = HttpClient(address, provider=engine.title, clock=self._clock, credentials=key, timeouts=wait)
        try:
            return await client.json(method, path, payload)
        finally:
            await client.aclose()


async def _public(searcher: Searcher, query: str, limit: int) -> list[WebHit]:
    proxy = find_proxy(ErrorLocation("web"), "https://duckduckgo.com")
    try:
        rows = await in_tool_thread(public_pages, query, limit, proxy.url if proxy is not None else None)
    except Exception as error:  # the library's exceptions differ between versions
        if "no results" in str(error).lower():
            return []
        raise ToolError(
            "The public search pages do not answer ({detail}). Try again later, or ask the user to set up another "
            "search service in "
            "Settings, Web: {others}.",
            code="search",
            detail=f"{type(error).__name__}: {redact(str(error))[:200]}",
            others=", ".join(engine.title for name, engine in ENGINES.items() if name not in ("ddgs", "off")),
        ) from None
    return _hits(rows, "href", "body", "date")


def public_pages(query: str, limit: int, proxy: str | None) -> list[dict[str, object]]:
    """Query public search pages; blocks."""
    from ddgs import DDGS

    return list(DDGS(proxy=proxy, timeout=_PAGES_S).text(query, max_results=limit))


async def _searxng(searcher: Searcher, query: str, limit: int) -> list[WebHit]:
    try:
        answer = await searcher.ask("GET", "/search?" + urlencode({"q": query, "format": "json"}))
    except ProviderError as error:
        if error.code not in ("auth", "bad_response"):
            raise
        # It needs no key; with JSON disabled, as in a new installation, it answers 403 or an HTML page.
        said_so = N_(
            "SearXNG does not return JSON results at {address}. Check the address, and that “json” is "
            "among the formats in the settings.yml of that server (search: formats)."
        )
        raise ProviderError(said_so, code="search_format", address=searcher.settings.address) from None
    return _hits(_rows(answer), "url", "content", "publishedDate")


async def _brave(searcher: Searcher, query: str, limit: int) -> list[WebHit]:
    path = "/res/v1/web/search?" + urlencode({"q": query[:400], "count": limit})
    answer = await searcher.ask("GET", path, header="x-subscription-token")
    found = answer.get("web") if isinstance(answer, dict) else None
    return _hits(_rows(found or {}), "url", "description", "page_age", "age")


async def _tavily(searcher: Searcher, query: str, limit: int) -> list[WebHit]:
    payload = {"query": query[:400], "max_results": limit}
    answer = await searcher.ask("POST", "/search", payload, header="authorization", before="Bearer ")
    return _hits(_rows(answer), "url", "content", "published_date")


async def _nobody(searcher: Searcher, query: str, limit: int) -> list[WebHit]:
    return []


ENGINES: dict[str, SearchEngine] = {
    "ddgs": SearchEngine(N_("Public search pages (no key)"), _public),
    "searxng": SearchEngine("SearXNG", _searxng),
    "brave": SearchEngine("Brave Search", _brave, "https://api.search.brave.com", keyed=True),
    "tavily": SearchEngine("Tavily", _tavily, "https://api.tavily.com", keyed=True),
    "off": SearchEngine(N_("None: agents cannot search the web"), _nobody),
}


def _rows(said: object) -> list[object]:
    rows = said.get("results") if isinstance(said, dict) else None
    if not isinstance(rows, list):
        raise ToolError(
            "The search service answers something that is no list of results. Try again later.", code="search"
        )
    return rows


def _hits(rows: Iterable[object], url: str, excerpt: str, *dates: str) -> list[WebHit]:
    """Convert rows of an answer; those without a page's address are skipped."""
    found = []
    for row in rows:
        if isinstance(row, Mapping) and str(row.get(url) or "").startswith(("http://", "https://")):
            date = next((str(row[each]) for each in dates if row.get(each)), "")
            found.append(
                WebHit(
                    _plain(row.get("title"))[:300], str(row[url])[:2_000], _plain(row.get(excerpt))[:EXCERPT], date[:40]
                )
            )
    return found


def _plain(text: object) -> str:
    """Remove the marks around the search terms."""
    return " ".join(html.unescape(_TAG.sub("", str(text or ""))).split())
