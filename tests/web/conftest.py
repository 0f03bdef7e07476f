"""The fixtures of the web tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atelier_desk.web import page_fetcher
from atelier_desk.web.page_fetcher import Web
from tests.helpers.fake_websites import Sites, parsed_here, sites
from tests.helpers.manual_clock import ManualClock


class Hasty(ManualClock):
    """A clock on which every wait ends at once and is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self._elapsed += seconds


@pytest.fixture
async def served() -> AsyncIterator[Sites]:
    async with sites() as made:
        yield made


@pytest.fixture
def hasty() -> Hasty:
    return Hasty()


@pytest.fixture
def web(tmp_path: Path, hasty: Hasty, served: Sites, monkeypatch: pytest.MonkeyPatch) -> Web:
    monkeypatch.setattr(page_fetcher, "ask_once", parsed_here)
    return Web(tmp_path / "web", hasty, resolve=served.resolve, network=served)
