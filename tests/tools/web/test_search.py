"""``search_web`` as a call."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.settings import WebSettings
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.tools.base import ToolResult
from atelier_desk.web import search
from atelier_desk.web.search import Searcher
from tests.helpers.manual_clock import ManualClock
from tests.tools.conftest import Calls, MakeCalls

ROWS: list[dict[str, Any]] = [{"title": "A", "href": "https://a.org/", "body": "an excerpt", "date": "2026-05-01"}]


@pytest.fixture
def searcher(monkeypatch: pytest.MonkeyPatch) -> Searcher:
    monkeypatch.setattr(search, "public_pages", lambda query, limit, proxy: ROWS)
    return Searcher(KeyVault(session=True), ManualClock())


async def test_results_have_title_address_excerpt_and_date(calls_with: MakeCalls, searcher: Searcher) -> None:
    outcome = await calls_with(searcher=searcher).outcome("search_web", query="a")
    assert isinstance(outcome, ToolResult)
    assert outcome.data["results"] == [
        {"title": "A", "url": "https://a.org/", "excerpt": "an excerpt", "date": "2026-05-01"}
    ]
    assert outcome.parts == (SourcePart(url="https://a.org/", title="A", date="2026-05-01", read=False),)


async def test_search_without_set_up_is_not_offered_and_explains_it(
    calls: Calls, calls_with: MakeCalls, searcher: Searcher
) -> None:
    configured = calls.registry.configured
    with_search = calls_with(searcher=searcher, enabled_tools=("TodoTool",))
    assert configured((), ("web_ops",)) == ["search_web", "fetch_web_page", "ingest_web_page"]
    searcher.settings = WebSettings(search="off")
    assert configured((), ("web_ops",)) == ["fetch_web_page", "ingest_web_page"]
    refused = await with_search("search_web", query="a")
    assert (refused["code"], "Settings, Web" in refused["error"]) == ("not_configured", True)
