"""Politeness: a site's robots.txt (RFC 9309) and the rate of requests to it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from protego import Protego

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ToolError
from atelier_desk.web.address import Address
from atelier_desk.web.http_client import AGENT, WebClient

EVERY_S = 1.0
"""Seconds between two requests to one host."""
SLOWEST_S = 10.0
"""Longest ``Crawl-delay`` that is respected, in seconds."""
_MAX_AGE_S = 3_600.0
_SITES = 500
_MOST = 500 * 1024
"""Bytes of a robots.txt; RFC 9309, 2.5 requires at least this many."""


class SitePace:
    """Limits requests to a host to one at a time, at intervals, across all calls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next: OrderedDict[str, float] = OrderedDict()

    async def wait(self, host: str, every_s: float = EVERY_S) -> None:
        """Wait until the host may be requested; first come, first served."""
        now = self._clock.monotonic()
        turn = max(now, self._next.get(host, now))
        self._next[host] = turn + every_s
        self._next.move_to_end(host)
        while len(self._next) > _SITES:
            self._next.popitem(last=False)
        if turn > now:
            await self._clock.sleep(turn - now)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rules of a robots.txt; ``read`` is Protego's parser, None when everything is allowed."""

    until: float
    read: Any = None
    closed: str = ""


class Robots:
    """The robots.txt of each site, fetched once an hour."""

    def __init__(self, clock: Clock, pace: SitePace) -> None:
        self._clock = clock
        self._pace = pace
        self._known: OrderedDict[str, _Rules] = OrderedDict()

    async def check(self, address: Address, client: WebClient) -> float:
        """Seconds to leave between requests.

        Raises ``ToolError`` (code ``robots``) when the site forbids fetching the page.
        """
        rules = self._known.get(address.origin)
        if rules is None or rules.until <= self._clock.monotonic():
            rules = await self._ask(address, client)
            # Answers from the own network are not shared: each call that may reach it asks itself.
            if address.host not in client.dialer.own:
                self._known[address.origin] = rules
                while len(self._known) > _SITES:
                    self._known.popitem(last=False)
        if rules.closed:
            raise ToolError(
                (
                    "{host} does not say which pages programs may fetch (robots.txt: {detail}), so none is. Try again "
                    "later."
                ),
                code="robots",
                host=address.host,
                detail=rules.closed,
            )
        if rules.read is None:
            return EVERY_S
        if not rules.read.can_fetch(address.url, AGENT):
            raise ToolError(
                (
                    "{host} asks programs not to fetch this page (robots.txt). Use another source, or ask the user to "
                    "open it."
                ),
                code="robots",
                host=address.host,
            )
        delay = rules.read.crawl_delay(AGENT)
        return min(SLOWEST_S, max(EVERY_S, float(delay))) if delay else EVERY_S

    async def _ask(self, address: Address, client: WebClient) -> _Rules:
        """Fetch robots.txt.

        RFC 9309, 2.3.1: a missing file allows all, a server error allows nothing.
        """
        until = self._clock.monotonic() + _MAX_AGE_S
        await self._pace.wait(address.host)
        answer = await client.get(Address(address.scheme, address.host, address.port, "/robots.txt"), most=_MOST)
        if answer.status >= 500 or answer.status == 429:
            return _Rules(self._clock.monotonic(), closed=f"HTTP {answer.status}")
        if answer.status != 200 or answer.elsewhere:
            return _Rules(until)
        return _Rules(until, read=await asyncio.get_running_loop().run_in_executor(None, _parse, answer.body))


def _parse(body: bytes) -> object:
    return Protego.parse(body.decode("utf-8", "replace"))
