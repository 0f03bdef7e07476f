"""Fetch pages for agents: politely, parsed in a limited process, and cached."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.document_formats import PDF, READER, kind_of, not_read
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.settings import WebSettings
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.requests_to_child import LIMIT_S, ask_once
from atelier_desk.web.address import read
from atelier_desk.web.address import read as address_of
from atelier_desk.web.browser.browser_discovery import KNOWN, SUPPORTED, Installed, find
from atelier_desk.web.cache import FRESH_S, CachedPage, PageCache, good_for

if TYPE_CHECKING:
    import httpcore

    from atelier_desk.web.address import Address
    from atelier_desk.web.checked_connections import Allowed, Barred, Resolver
    from atelier_desk.web.http_client import Answer, WebClient
    from atelier_desk.web.robots import Robots, SitePace

PAGE = 5 * 1024 * 1024
"""Bytes of a page; a longer document is refused."""
DOCUMENT = 20 * 1024 * 1024
_DOCUMENTS = ("application/pdf", "application/vnd.openxmlformats", "application/vnd.oasis.opendocument",
"application/vnd.ms-",
              "application/epub", "application/rtf")  # fmt: skip
PDF_PAGES = 50
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/rss+xml",
"application/atom+xml",
          "application/ld+json", "application/javascript", "application/yaml", "application/x-ndjson")  # fmt: skip
CRAWL_S = 240.0
"""Seconds after which a crawl starts no further page."""
OnProgress = Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page.

    Attributes:
        form: ``article`` for the main text, ``page`` for everything, ``text`` for other text, ``pdf``,
            ``docx`` … for a document.
        total: characters before ``markdown`` was cut.
        links: ``{"url", "text"}`` of each.
        scripts: its content is created by scripts, so there is little to read without a browser.
        ran: the browser that ran the scripts, empty for none; ``trouble`` says why none did.
        cached: it came from the cache.
        cut: the page was longer than the limit.
    """

    url: str
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    form: str = "page"
    markdown: str = ""
    total: int = 0
    links: tuple[Mapping[str, str], ...] = ()
    scripts: bool = False
    ran: str = ""
    trouble: str = ""
    cached: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Crawl:
    """Which pages of a site to read.

    ``depth`` 0 is the page alone, 1 also the pages it links to … ``include`` and ``exclude`` are patterns for
    links.
    """

    depth: int = 0
    most: int = 1
    include: Callable[[str], bool] = lambda _url: True
    exclude: Callable[[str], bool] = lambda _url: False


@dataclass(slots=True)
class Crawled:
    """Pages in reading order, and skipped addresses with the reason.

    ``left``: addresses that were found but not requested.
    """

    pages: list[Page] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    left: int = 0


class Web:
    """Web access, for all calls of one open Atelier.

    Args:
        resolve, tls, network: name resolver, trusted certificates, and what connects to an IP address; None
            uses the system's.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock | None = None,
        *,
        resolve: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self.cache = PageCache(folder)
        self._clock = clock or SystemClock()
        self._resolve = resolve
        self._tls = tls
        self._network = network
        self._settings = WebSettings()
        self._one_browser = asyncio.Semaphore(1)
        self.browser_flags: tuple[str, ...] = ()

    def use(self, settings: WebSettings) -> None:
        """Set whether pages' scripts are run, and by which browser."""
        self._settings = settings

    def browser(self) -> Installed | None:
        """The browser that runs pages' scripts; None when there is none. Reads folders."""
        return find(self._settings.browser) if self._settings.scripts == "auto" else None

    def no_browser(self) -> str:
        """Why no browser runs scripts, as text for the model, with what the user can do."""
        if self._settings.scripts == "off":
            return "running them is switched off (the user can allow it in Settings, Web)"
        if not SUPPORTED:
            return "on this system they cannot be run"
        return (
            f"no browser was found that can run them (the user can install one of {KNOWN}, or name its program in "
            f"Settings, Web)"
        )

    @cached_property
    def _pace(self) -> SitePace:
        from atelier_desk.web.robots import SitePace

        return SitePace(self._clock)

    @cached_property
    def _robots(self) -> Robots:
        from atelier_desk.web.robots import Robots

        return Robots(self._clock, self._pace)

    def client(self, allowed: Allowed, barred: Barred | None = None) -> WebClient:
        """A client for one call."""
        from atelier_desk.web import checked_connections, http_client

        dialer = checked_connections.Dialer(self._resolve or checked_connections.system_resolver, allowed)
        if barred is not None:
            dialer.barred = barred
        if self._network is not None:
            dialer.network = self._network
        return http_client.WebClient(dialer, self._tls)

    async def page(self, url: str, allowed: Allowed, *, force: bool = False, barred: Barred | None = None) -> Page:
        """Read one page; ``force`` skips the cache.

        Raises:
            ToolError: it cannot or may not be fetched or parsed.
        """
        address = read(url)
        async with self.client(allowed, barred) as client:
            return await self._page(client, address, address, force=force)

    async def crawl(
        self,
        url: str,
        wanted: Crawl,
        allowed: Allowed,
        say: OnProgress,
        *,
        force: bool = False,
        barred: Barred | None = None,
    ) -> Crawled:
        """Read a page and the pages of its site it leads to, nearest first.

        Raises:
            ToolError: the first page cannot or may not be fetched; other failures are part of the result.
        """
        first = read(url)
        result = Crawled()
        until = self._clock.monotonic() + CRAWL_S
        waiting: deque[tuple[Address, int]] = deque([(first, 0)])
        known = {first.url}
        async with self.client(allowed, barred) as client:
            while waiting and len(result.pages) + len(result.failed) < wanted.most and self._clock.monotonic() < until:
                address, depth = waiting.popleft()
                done = len(result.pages)
                say(round(100 * done / wanted.most), f"{done} / {wanted.most} · {address.url[:120]}")
                try:
                    page = await self._page(client, address, first, force=force)
                except ToolError as error:
                    if not result.pages:
                        raise
                    result.failed.append((address.url, str(error)))
                    continue
                result.pages.append(page)
                known.add(page.url)
                if depth < wanted.depth:
                    waiting += ((each, depth + 1) for each in self._next(page, first, wanted, known))
        result.left = len(waiting)
        return result

    @staticmethod
    def _next(page: Page, first: Address, wanted: Crawl, known: set[str]) -> list[Address]:
        """New links of a page within the site that match the patterns."""
        found = []
        for link in page.links:
            with suppress(ToolError):
                address = read(link["url"])
                if (
                    address.url in known
                    or not address.same_place(first)
                    or not wanted.include(address.url)
                    or wanted.exclude(address.url)
                ):
                    continue
                known.add(address.url)
                found.append(address)
        return found

    async def _page(self, client: WebClient, address: Address, asked: Address, *, force: bool) -> Page:
        client.dialer.on_the_way(address, asked)
        browser = await in_tool_thread(self.browser)
        kept = None if force else await in_tool_thread(self.cache.get, address.url)
        if kept is not None:
            client.dialer.on_the_way(address_of(kept.url), asked)
            if kept.page.get("scripts") and browser is not None:
                kept = None  # fetched when no browser ran its scripts
        now = self._clock.now().timestamp()
        if kept is not None and kept.fresh(now):
            return self._with_note(_made(kept, kept=True))
        every = await self._robots.check(address, client)
        await self._pace.wait(address.host, every)
        answer = await client.get(address, most=_most, headers=kept.validators() if kept is not None else None)
        now = self._clock.now().timestamp()
        if kept is not None and answer.status == 304:
            good = good_for(answer.headers)
            await in_tool_thread(
                self.cache.put, address.url, CachedPage(kept.url, now, good or 0.0, kept.etag, kept.modified, kept.page)
            )
            return self._with_note(_made(kept, kept=True))
        if answer.address.url != address.url:
            await self._robots.check(answer.address, client)
        read = await _read(answer)
        good, headers = good_for(answer.headers), answer.headers
        made = CachedPage(
            answer.address.url, now, good or 0.0, headers.get("etag", ""), headers.get("last-modified", ""), read
        )
        trouble = ""
        if read.get("scripts") and browser is not None:
            try:
                url, read = await self._run(browser, client, answer.address)
            except ToolError as error:
                trouble, good = str(error), None
            else:  # content made by scripts has no validators: the page around it stays the same
                made = CachedPage(url, now, min(good or 0.0, FRESH_S), "", "", read)
        if good is not None and not client.dialer.own:
            await in_tool_thread(self.cache.put, address.url, made)
        return self._with_note(_made(made), trouble)

    def _with_note(self, page: Page, trouble: str = "") -> Page:
        """Add the reason why a page's scripts were not run."""
        return replace(page, trouble=trouble or self.no_browser()) if page.scripts and not page.ran else page

    async def _run(self, browser: Installed, client: WebClient, address: Address) -> tuple[str, dict[str, object]]:
        """Final address and content of a page after its scripts ran; one browser at a time."""
        from atelier_desk.web.browser.rendering import shown

        own = client.dialer.allowed
        # An untrusted page's requests never reach the own network: a rule allows the person's call, not the
        # page's.
        allowed: Allowed = lambda host, port: (host, port) == (address.host, address.port) and own(host, port)  # noqa: E731
        async with self._one_browser, self.client(allowed, client.dialer.barred) as inner:
            found = await shown(browser, address, inner.dialer, self.browser_flags)
            if found.address.url != address.url:
                await self._robots.check(found.address, client)
        read = await _text_of(found.address.url, "text/html", "utf-8", found.html[:PAGE])
        return found.address.url, {
            **read,
            "scripts": False,
            "ran": browser.name,
            "cut": found.cut or len(found.html) > PAGE,
        }


def _made(found: CachedPage, *, kept: bool = False) -> Page:
    read = found.page
    texts = {
        name: str(read.get(name) or "")
        for name in ("title", "author", "date", "site", "language", "form", "markdown", "ran")
    }
    rest: dict[str, object] = {
        "links": tuple(read.get("links") or ()),
        "scripts": bool(read.get("scripts")),
        "cut": bool(read.get("cut")),
    }
    known: dict[str, Any] = {**texts, **rest, "total": int(read.get("total") or 0), "cached": kept}
    return Page(found.url, **known)


def _most(kind: str) -> int:
    return DOCUMENT if kind.startswith(_DOCUMENTS) else PAGE


def _reason(status: int) -> str:
    with suppress(ValueError):
        return f"{status} {HTTPStatus(status).phrase}"
    return str(status)


async def _read(answer: Answer) -> dict[str, object]:
    """Parse an answer into the cache's form."""
    host = answer.address.host
    if answer.elsewhere:
        raise ToolError(
            "{host} sends to another site: {address} . Fetch that address if you want to go there.",
            code="elsewhere",
            host=host,
            address=answer.elsewhere,
        )
    if answer.status != 200:
        raise ToolError(
            "{host} answers {status} for this page.", code="http_status", host=host, status=_reason(answer.status)
        )
    kind = answer.media_type
    name = unquote(urlsplit(answer.address.url).path.rpartition("/")[2])
    if document := kind_of(name, answer.body[:1_024]):
        return await _document(answer, name, document)
    plain = kind in ("", "application/octet-stream")
    if (not plain and not kind.startswith(_TEXTS) and not kind.endswith(("+json", "+xml"))) or _is_binary(answer):
        raise ToolError(
            "This is no page to read but {kind}. Fetch a page with text, or ask the user to download it.",
            code="not_a_page",
            kind=kind or "application/octet-stream",
        )
    body = answer.body[:PAGE]
    charset = answer.headers.get("content-type", "").lower().partition("charset=")[2].partition(";")[0].strip()
    return {
        **await _text_of(answer.address.url, kind, charset[:60], body),
        "cut": answer.cut or len(answer.body) > PAGE,
    }


async def _text_of(url: str, kind: str, charset: str, body: bytes) -> dict[str, object]:
    try:
        return dict((await ask_once("atelier_desk.web.page_to_markdown_process", (url, kind, charset), body)).value)
    except (Ended, Failed) as error:
        raise ToolError(
            "The page of {host} cannot be read: it is broken, or asks for too much time or memory.",
            code="broken_page",
            host=urlsplit(url).hostname or "",
        ) from error


def _is_binary(answer: Answer) -> bool:
    """Whether there are null bytes that no text encoding would have."""
    wide = (
        answer.body.startswith((b"\xff\xfe", b"\xfe\xff")) or "utf-16" in answer.headers.get("content-type", "").lower()
    )
    return b"\0" in answer.body[:1024] and not wide


async def _document(answer: Answer, name: str, kind: str) -> dict[str, object]:
    if answer.cut:
        raise ToolError(
            "The document of {host} is larger than {most} MB: it is not read.",
            code="too_large",
            host=answer.address.host,
            most=DOCUMENT >> 20,
        )
    try:
        found = (await ask_once(READER, (kind, 1, PDF_PAGES, 400_000), answer.body)).value
    except (Ended, Failed) as error:
        values = error.params if isinstance(error, Failed) else {"seconds": int(LIMIT_S)}
        raise not_read(ToolError, error.code, name or answer.address.host, **values) from error
    texts, total = found["pages"], found["total"]
    if not any(texts):
        raise ToolError(
            "The document of {host} has no text that can be read.", code="no_text", host=answer.address.host
        )
    pages = [
        f"--- Page {number} of {total} ---\n{text}" if kind == PDF else text for number, text in enumerate(texts, 1)
    ]
    markdown = "\n\n".join(pages)
    cut = len(texts) < total or bool(found["cut"])
    return {"form": kind, "title": name, "markdown": markdown, "total": len(markdown), "links": [], "cut": cut}
