"""Web search with each service, with servers that answer as they do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.domain.settings import WebSettings
from atelier_desk.domain.usage import uncounted
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.web import search
from atelier_desk.web.search import Searcher, WebHit
from atelier_desk.web.service_keys import entry
from tests.helpers.fake_websites import Reply, Sites
from tests.helpers.manual_clock import ManualClock

JSON = {"content-type": "application/json"}
ANSWERS: dict[str, tuple[str, Any, WebHit]] = {
    "searxng": (
        "/search",
        {
            "results": [
                {
                    "title": "A",
                    "url": "https://a.org/",
                    "content": "about <b>a</b>",
                    "publishedDate": "2026-01-02T00:00:00",
                }
            ]
        },
        WebHit("A", "https://a.org/", "about a", "2026-01-02T00:00:00"),
    ),
    "brave": (
        "/res/v1/web/search",
        {
            "web": {
                "results": [
                    {
                        "title": "A &amp; B",
                        "url": "https://a.org/",
                        "description": "the <strong>a</strong>",
                        "age": "3 days ago",
                    }
                ]
            }
        },
        WebHit("A & B", "https://a.org/", "the a", "3 days ago"),
    ),
    "tavily": (
        "/search",
        {
            "results": [
                {"title": "A", "url": "https://a.org/", "content": "text", "score": 0.9},
                {"url": "javascript:x"},
            ]
        },
        WebHit("A", "https://a.org/", "text"),
    ),
}


def searcher(served: Sites, service: str, key: str = "sesame-123") -> Searcher:
    vault = KeyVault(session=True)
    if key:
        vault.set(entry(service), key)
    made = Searcher(vault, ManualClock())
    made.settings = WebSettings.model_validate({"search": service, "address": f"http://127.0.0.1:{served.port}"})
    return made


@pytest.mark.parametrize("service", list(ANSWERS))
async def test_each_service_gets_its_own_request_format(served: Sites, service: str) -> None:
    path, answer, hit = ANSWERS[service]
    served.pages[f"127.0.0.1:{served.port}{path}"] = Reply(json.dumps(answer).encode(), headers=JSON)
    assert await searcher(served, service).search("what is a?", 5, uncounted) == [hit]
    asked = served.asked[-1]
    said = asked.target + asked.headers["body"]
    assert "what+is+a%3F" in said or '"what is a?"' in said
    key = asked.headers.get("x-subscription-token") or asked.headers.get("authorization")
    assert key == {"searxng": None, "brave": "sesame-123", "tavily": "Bearer sesame-123"}[service]


async def test_a_refusal_an_invalid_answer_and_a_missing_key_are_reported(served: Sites) -> None:
    place = f"127.0.0.1:{served.port}/res/v1/web/search"
    served.pages[place] = Reply(b'{"error": "bad key"}', 401, JSON)
    with pytest.raises(ProviderError) as refused:
        await searcher(served, "brave").search("x", 5, uncounted)
    assert (refused.value.code, "sesame-123" in str(refused.value)) == ("auth", False)
    served.pages[place] = Reply(b'{"web": {"results": "many"}}', headers=JSON)
    with pytest.raises(ToolError) as lied:
        await searcher(served, "brave").search("x", 5, uncounted)
    assert lied.value.code == "search"
    with pytest.raises(ProviderError) as keyless:
        await searcher(served, "brave", key="").search("x", 5, uncounted)
    assert "No key is stored for Brave Search" in str(keyless.value)


@pytest.mark.parametrize("reply", [Reply(b"<!doctype html><h1>SearXNG</h1>"), Reply(b"<h1>Forbidden</h1>", 403)])
async def test_a_searxng_that_gives_no_json_is_explained(served: Sites, reply: Reply) -> None:
    served.pages[f"127.0.0.1:{served.port}/search"] = reply
    with pytest.raises(ProviderError) as failed:
        await searcher(served, "searxng").search("x", 5, uncounted)
    assert ("formats" in str(failed.value), "model server" in str(failed.value)) == (True, False)


async def test_the_public_search_pages_answer_or_their_failure_is_reported(
    served: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"title": "A", "href": "https://a.org/", "body": "x"},
        {"title": "again", "href": "https://a.org/", "body": ""},
    ]
    made = Searcher(KeyVault(session=True), ManualClock())
    monkeypatch.setattr(search, "public_pages", lambda query, limit, proxy: rows)
    assert await made.search("x", 5, uncounted) == [WebHit("A", "https://a.org/", "x")]

    def fails(query: str, limit: int, proxy: str | None) -> list[dict[str, Any]]:
        raise RuntimeError("202 Ratelimit")

    monkeypatch.setattr(search, "public_pages", fails)
    with pytest.raises(ToolError) as failed:
        await made.search("x", 5, uncounted)
    assert "202 Ratelimit" in str(failed.value)
    assert "SearXNG, Brave Search, Tavily" in str(failed.value)


async def test_missing_settings_are_named() -> None:
    made = Searcher(KeyVault(session=True), ManualClock())
    made.settings = WebSettings(search="off")
    assert "Settings, Web" in made.missing()
    made.settings = WebSettings(search="searxng")
    assert "address of SearXNG" in made.missing()
    with pytest.raises(ToolError) as failed:
        await made.search("x", 5, uncounted)
    assert failed.value.code == "not_configured"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            [{"title": "T", "href": "https://a.org/", "body": "Some <b>words</b> &amp; more"}],
            [WebHit("T", "https://a.org/", "Some words & more")],
        ),
        ([{"title": None, "href": "https://a.org/", "body": None}], [WebHit("", "https://a.org/")]),
        ([{"title": "T", "href": "", "body": "x"}, {"title": "T", "body": "x"}, "text", None], []),
        ([{"title": "T", "href": "javascript:alert(1)", "body": "x"}], []),
        ([], []),
    ],
)
async def test_all_known_result_formats_of_the_library_are_read(
    monkeypatch: pytest.MonkeyPatch, rows: list[Any], found: list[WebHit]
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    asked: list[tuple[Any, ...]] = []

    class Library:
        def __init__(self, proxy: str | None = None, timeout: int = 0) -> None:
            asked.append((proxy, timeout))

        def text(self, query: str, max_results: int) -> Iterator[Any]:
            asked.append((query, max_results))
            return iter(rows)

    monkeypatch.setattr("ddgs.DDGS", Library)
    assert await Searcher(KeyVault(session=True), ManualClock()).search("x y", 5, uncounted) == found
    assert asked == [(None, search._PAGES_S), ("x y", 5)]


@pytest.mark.parametrize(
    ("kind", "said"), [("RatelimitException", "202"), ("TimeoutException", "timed out"), ("DDGSException", "DNS")]
)
async def test_a_failure_of_the_library_suggests_the_other_services(
    monkeypatch: pytest.MonkeyPatch, kind: str, said: str
) -> None:
    import ddgs.exceptions

    def fails(query: str, limit: int, proxy: str | None) -> list[dict[str, Any]]:
        raise getattr(ddgs.exceptions, kind)(said)

    monkeypatch.setattr(search, "public_pages", fails)
    with pytest.raises(ToolError) as failed:
        await Searcher(KeyVault(session=True), ManualClock()).search("x", 5, uncounted)
    text = str(failed.value)
    assert (failed.value.code, said in text, "SearXNG, Brave Search, Tavily" in text) == ("search", True, True)


async def test_no_results_are_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from ddgs.exceptions import DDGSException

    def nothing(query: str, limit: int, proxy: str | None) -> list[dict[str, Any]]:
        raise DDGSException("No results found.")

    monkeypatch.setattr(search, "public_pages", nothing)
    assert await Searcher(KeyVault(session=True), ManualClock()).search("x", 5, uncounted) == []
