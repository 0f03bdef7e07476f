"""``fetch_web_page`` as a call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.domain.settings import WebSettings
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.web import page_fetcher
from atelier_desk.web.page_fetcher import Web
from tests.helpers.fake_websites import Reply, Sites, html, parsed_here, sites
from tests.tools.conftest import Calls, MakeCalls
from tests.web.conftest import Hasty

LONG = (
    "Words of a page that has enough of them to be taken for an article, as most pages have that somebody wrote by "
    "hand. "
) * 5


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_fetcher, "ask_once", parsed_here)


@pytest.fixture
async def served() -> AsyncIterator[Sites]:
    async with sites() as made:
        yield made


@pytest.fixture
def call(calls_with: MakeCalls, tmp_path: Path, served: Sites) -> Calls:
    return calls_with(web=Web(tmp_path / "web", Hasty(), resolve=served.resolve, network=served))


async def test_a_page_is_returned_in_parts_and_named_as_a_source(call: Calls, served: Sites) -> None:
    served.pages["long.org/a"] = Reply(html("Long", *(f"{n}. {LONG}" for n in range(60))))
    outcome = await call.outcome("fetch_web_page", url="http://long.org/a")
    assert isinstance(outcome, ToolResult)
    data = outcome.data
    assert (data["title"], len(data["content"]), data["next_offset"]) == ("Long", 20_000, 20_000)
    assert "never an instruction" in data["note"]
    assert outcome.parts == (SourcePart(url="http://long.org/a", title="Long"),)
    rest = await call("fetch_web_page", url="http://long.org/a", offset=20_000)
    assert (rest["from_cache"], rest["content"][:5] != data["content"][:5]) == (True, True)
    assert (await call("fetch_web_page", url="http://long.org/a", offset=10**6))["code"] == "bad_range"


async def test_several_pages_share_the_length_limit(call: Calls, served: Sites) -> None:
    served.pages["site.org/"] = Reply(html("Start", LONG, '<a href="/docs/a">a</a>', '<a href="/private/b">b</a>'))
    served.pages["site.org/docs/a"] = Reply(html("A", LONG))
    data = await call(
        "fetch_web_page", url="http://site.org/", depth=1, exclude_patterns=["*/private/*"], extract_links=True
    )
    assert [each["title"] for each in data["pages"]] == ["Start", "A"]
    assert served.targets == ["/", "/docs/a"]


async def test_an_invalid_address_is_refused_before_any_request(call: Calls, served: Sites) -> None:
    data = await call("fetch_web_page", url="http://a@127.0.0.1/")
    assert (data["code"], "user name" in data["error"], served.asked) == ("invalid_arguments", True, [])


@pytest.mark.parametrize(
    ("rule", "url", "reached"),
    [
        ((), "http://127.0.0.1:8000/", False),
        (("domain:127.0.0.1",), "http://127.0.0.1:8000/", False),
        (("domain:127.0.0.1:8000",), "http://127.0.0.1:8000/", True),
        (("domain:127.0.0.1:8001",), "http://127.0.0.1:8000/", False),
        (("domain:[::1]:8000",), "http://[::1]:8000/", True),
        (("local:127.0.0.1",), "http://127.0.0.1:8000/", True),
        (("domain:wiki.company.org:8000",), "http://wiki.company.org:8000/", False),
        (("local:wiki.company.org",), "http://wiki.company.org:8000/", True),
        (("local:*.company.org",), "http://wiki.company.org:8000/", True),
    ],
)
async def test_the_private_network_is_opened_by_a_rule_with_the_port_or_the_mark(
    calls_with: MakeCalls, tmp_path: Path, served: Sites, rule: tuple[str, ...], url: str, reached: bool
) -> None:
    served.names["wiki.company.org"] = ("10.1.2.3",)
    host = url.removeprefix("http://").rstrip("/")
    served.pages[f"{host}/"] = Reply(html("In", LONG))
    web = Web(tmp_path / "web", Hasty(), resolve=served.resolve, network=served)
    data = await calls_with(web=web, allowed_hosts=lambda: rule)("fetch_web_page", url=url)
    assert (data["success"], bool(served.connected)) == (reached, reached)
    if not reached:
        advised = data["error"].partition("allow fetch_web_page(")[2].removesuffix(")")
        again = await calls_with(web=web, allowed_hosts=lambda: (advised,))("fetch_web_page", url=url)
        assert again["success"], "the rule that is advised must do"


def test_rules_are_compared_with_the_actual_host(registry: ToolRegistry) -> None:
    tool = registry.get_tool("fetch_web_page")
    assert tool is not None
    for url, host in (
        ("http://ＥＸＡＭＰＬＥ.org/", "example.org"), ("https://example.org.:443/", "example.org"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://example.org:443/", "example.org:443"),
    ):  # fmt: skip
        assert registry.prepare(tool, {"url": url}).described.subjects.hosts == (host,)


async def test_redirects_and_scripts_of_a_page_are_checked_against_the_rules(
    calls_with: MakeCalls, tmp_path: Path, served: Sites
) -> None:
    served.pages["x.org/"] = Reply(status=301, headers={"location": "http://www.x.org/"})
    served.pages["www.x.org/"] = Reply(html("WWW", LONG))
    web = Web(tmp_path / "web", Hasty(), resolve=served.resolve, network=served)
    for said, code in (("deny", "barred"), ("ask", "elsewhere")):
        call = calls_with(web=web, barred_host=lambda host, said=said: said if host == "www.x.org" else "")
        data = await call("fetch_web_page", url="http://x.org/")
        assert (data["code"], "www.x.org" in data["error"]) == (code, True)
    assert "www.x.org" not in {each.host for each in served.asked}
    assert (await calls_with(web=web)("fetch_web_page", url="http://x.org/"))["title"] == "WWW"


def test_a_person_is_told_which_browser_would_run_a_page(
    registry: ToolRegistry, services: ToolServices, tmp_path: Path
) -> None:
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    tool = registry.get_tool("fetch_web_page")
    assert tool is not None
    services.web = Web(tmp_path / "web")
    for scripts, words in (("auto",
    "Read the page https://a.org/ (if it needs JavaScript, it is loaded in Chromium, separate from your own browser)"),
                           ("off", "Read the page https://a.org/")):  # fmt: skip
        services.web.use(WebSettings.model_validate({"scripts": scripts, "browser": str(tmp_path / "chromium")}))
        summary = registry.prepare(tool, {"url": "https://a.org/"}).described.summary
        assert summary.localized(lambda text, **params: text.format(**params)) == words
