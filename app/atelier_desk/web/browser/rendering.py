"""Render one page in a browser, with its scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from atelier_desk.domain.errors import ToolError
from atelier_desk.web.address import Address, read
from atelier_desk.web.browser.browser_discovery import Installed, is_root
from atelier_desk.web.browser.devtools import BrowserGone, CommandRefused, Devtools
from atelier_desk.web.browser.filtering_proxy import Gate
from atelier_desk.web.browser.process import last_line, running
from atelier_desk.web.checked_connections import Dialer

START_S = 15.0
QUIET_S = 15.0
"""Seconds until a page must have finished loading; then its current content is read."""
READ_S = 10.0
"""Seconds the browser has to serialize the page."""
REQUESTS = 300
"""Requests of one page; further ones are not fetched."""
_LOADED_TYPES = frozenset(("Document", "Stylesheet", "Script", "XHR", "Fetch", "EventSource", "Other", "Preflight"))
"""Types of requests that can change a page's text.

Images, media, fonts and reports are not fetched.
"""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """The rendered page.

    Attributes:
        html: the serialized DOM.
        elsewhere: another site that scripts or redirects led to; it was not visited.
        cut: a limit or timeout ended the page early.
    """

    address: Address
    html: bytes
    elsewhere: str = ""
    cut: bool = False


async def shown(browser: Installed, address: Address, dialer: Dialer, more: Sequence[str] = ()) -> RenderedPage:
    """Open a page in its own browser, run its scripts and read it; cancelling ends the browser.

    Raises:
        ToolError: the browser cannot be started or show the page (code ``browser``), or the page leads to a
            forbidden address.
    """
    if is_root() and "--no-sandbox" not in more:
        raise ToolError(
            "A browser is not started by the administrator (root): its sandbox does not hold there.", code="browser"
        )
    async with Gate(dialer, address) as gate:
        try:
            async with running(browser.program, gate.address, more) as (reads, writes, said):
                page = _Opened(address, dialer, gate)
                try:
                    await page.talk.open(reads, writes)
                    return await page.show()
                except (BrowserGone, CommandRefused, TimeoutError) as error:
                    detail = last_line(said) or str(error) or type(error).__name__
                    raise ToolError(
                        "{browser} did not show the page ({detail}).",
                        code="browser",
                        browser=browser.name,
                        detail=detail,
                    ) from None
                finally:
                    await page.talk.close()
        except OSError as error:
            raise ToolError(
                "{browser} cannot be started ({detail}).",
                code="browser",
                browser=browser.name,
                detail=error.strerror or str(error),
            ) from None


class _Opened:
    """The open page; each of its requests is checked like a fetch."""

    def __init__(self, address: Address, dialer: Dialer, gate: Gate) -> None:
        self.talk = Devtools(self._on_event)
        self._address = address
        self._dialer = dialer
        self._gate = gate
        self._session = ""
        self._target = ""
        self._loaders: set[str] = set()
        self._quiet = asyncio.Event()
        self._count = 0
        self._failure: ToolError | None = None
        self._elsewhere = ""

    async def show(self) -> RenderedPage:
        async with asyncio.timeout(START_S):
            self._target = (await self.talk.send("Target.createTarget", url="about:blank")).get("targetId", "")
            await self.talk.send("Target.setDiscoverTargets", discover=True)
            await self.talk.send("Browser.setDownloadBehavior", behavior="deny")
            self._session = (await self.talk.send("Target.attachToTarget", targetId=self._target, flatten=True)).get(
                "sessionId", ""
            )
            await self._ask("Page.enable")
            await self._ask("Network.enable")
            await self._ask("Network.setBypassServiceWorker", bypass=True)
            await self._ask("Fetch.enable", patterns=[{"urlPattern": "*"}])
            await self._ask("Page.setLifecycleEventsEnabled", enabled=True)
        late = False
        try:
            async with asyncio.timeout(QUIET_S):
                opened = await self._ask("Page.navigate", url=self._address.url)
                if opened.get("errorText"):
                    raise self._failure or CommandRefused(str(opened["errorText"])[:200])
                await self._quiet.wait()
        except TimeoutError:
            late = True
        async with asyncio.timeout(READ_S):
            frame = (await self._ask("Page.getFrameTree")).get("frameTree", {}).get("frame", {})
            root = (await self._ask("DOM.getDocument", depth=0)).get("root", {}).get("nodeId", 0)
            html = str((await self._ask("DOM.getOuterHTML", nodeId=root)).get("outerHTML", ""))
        try:
            at = read(str(frame.get("url", "")))
        except ToolError:
            raise self._failure or CommandRefused("no page") from None
        if not at.same_place(self._address):  # its document was blocked, so the browser shows an error page of its own
            raise self._failure or CommandRefused("no page")
        return RenderedPage(
            at, html.encode("utf-8", "replace"), self._elsewhere, late or self._gate.over or self._count > REQUESTS
        )

    def _ask(self, method: str, **parameters: object) -> asyncio.Future[dict[str, Any]]:
        return self.talk.send(method, self._session, **parameters)

    def _on_event(self, method: str, said: Mapping[str, Any], session: str) -> None:
        with suppress(BrowserGone):
            if method == "Target.targetCreated":
                info = said.get("targetInfo") or {}
                if self._session and info.get("type") == "page" and info.get("targetId") != self._target:
                    self.talk.send("Target.closeTarget", targetId=info.get("targetId"))  # a window opened by the page
            elif session != self._session or not session:
                return
            elif method == "Fetch.requestPaused":
                self._judge(said)
            elif method == "Page.javascriptDialogOpening":
                self._ask("Page.handleJavaScriptDialog", accept=False)
            elif method == "Page.frameNavigated" and said.get("frame", {}).get("id") == self._target:
                self._loaders.add(said["frame"].get("loaderId", ""))
                self._quiet.clear()
            elif (
                method == "Page.lifecycleEvent"
                and said.get("name") == "networkIdle"
                and said.get("loaderId") in self._loaders
            ):
                self._quiet.set()
            elif method == "Inspector.targetCrashed":
                self._failure = ToolError(
                    "The page needs more than a page is given: its programs were ended.", code="browser"
                )
                self._quiet.set()

    def _judge(self, said: Mapping[str, Any]) -> None:
        """Allow or block a request."""
        self._count += 1
        request, kind = said.get("request") or {}, said.get("resourceType", "")
        why = "" if self._count <= REQUESTS and kind in _LOADED_TYPES else "BlockedByClient"
        if not why:
            try:
                address = read(str(request.get("url", "")))
                self._dialer.on_the_way(address, self._address)
                if kind == "Document":
                    why = self._document(address, said.get("frameId") == self._target)
                if not why:
                    self._gate.opened.add((address.host, address.port))
            except ToolError as error:
                why = "Aborted"
                if kind == "Document" and said.get("frameId") == self._target:
                    self._failure = error
        if why:
            self._ask("Fetch.failRequest", requestId=said.get("requestId"), errorReason=why)
        else:
            self._ask("Fetch.continueRequest", requestId=said.get("requestId"))

    def _document(self, address: Address, main: bool) -> str:
        """Decide about a document: frames contribute no text, and another site needs another call."""
        if not main:
            return "BlockedByClient"
        if address.same_place(self._address):
            return ""
        self._elsewhere = address.url
        self._failure = ToolError(
            "{host} sends to another site: {address} . Fetch that address if you want to go there.",
            code="elsewhere",
            host=self._address.host,
            address=address.url,
        )
        return "Aborted"
