"""``atelier web``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from atelier_desk.cli.command_arguments import web
from atelier_desk.web import search
from tests.cli.conftest import Cli
from tests.helpers.servers.threaded_http import Handler, serving


def test_a_search_service_is_added_selected_and_disabled(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"title": "Title", "href": "https://a.org/", "body": "excerpt"}]
    monkeypatch.setattr(search, "public_pages", lambda query, limit, proxy: rows)
    monkeypatch.setenv("PATH", "/nothing")
    assert cli("web", "show", "--json").json == {
        "search": "ddgs", "address": "", "key_env": "", "price": None, "scripts": "auto", "browser": "", "keys": [],
        "found_browser": "", "pages": 0, "bytes": 0,
    }  # fmt: skip
    assert cli("web", "search", "words").out == "Title\n  https://a.org/\n  excerpt\n"
    blank = cli("web", "search", " ")
    assert (blank.status, "must not be blank" in blank.err) == (2, True), blank.err
    refused = cli("web", "use", "searxng")
    assert (refused.status, "address" in refused.err) == (2, True)
    strange = cli("web", "use", "searxng", "--address", "ftp://x")
    assert (strange.status, "must be an address such as https://" in strange.err, "[^" in strange.err) == (
        2,
        True,
        False,
    ), strange.err
    assert cli("web", "use", "brave", "--api-key-env", "BRAVE_KEY", "--json").json["key_env"] == "BRAVE_KEY"
    assert "BRAVE_KEY" in cli("web", "show").out
    priced = cli("web", "use", "brave", "--price", "0.005")
    assert (priced.status, "$0.005" in priced.out) == (0, True), priced.out
    cli("usage", "--limit", "0.001")
    refused = cli("web", "search", "words")
    assert refused.status == 2, refused.err
    assert "does not allow this request to Brave Search" in refused.err
    assert "$0.005" in refused.err
    french = cli("--lang", "fr", "web", "search", "words")
    assert "La limite de coût mensuelle ne permet pas d’envoyer cette requête à Brave Search" in french.err, french.err
    cli("web", "use", "brave")
    unknown = cli("web", "search", "words")
    assert (unknown.status, "price of Brave Search is not known" in unknown.err) == (2, True), unknown.err
    cli("web", "use", "off")
    stopped = cli("web", "search", "words")
    assert (stopped.status, "switched off" in stopped.err) == (1, True)
    assert cli("web", "clear", "--json").json == {"removed": 0}


def test_pages_that_need_javascript_get_an_installed_browser_or_none(cli: Cli, tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    wrong = cli("web", "scripts", "auto", "--browser", str(tmp_path / "none"))
    assert (wrong.status, "There is no browser program" in wrong.err) == (2, True)
    assert cli("web", "scripts", "auto", "--browser", str(program), "--json").json["found_browser"] == str(program)
    cli("web", "use", "off")
    assert cli("web", "show", "--json").json["browser"] == str(program), "another setting keeps it"
    assert "without JavaScript" in cli("web", "scripts", "off").out


def test_the_grammar_lists_all_services() -> None:
    assert (tuple(search.ENGINES), search.MOST) == (web.SERVICES, web.MOST)


class Page(Handler):
    """One page for every address, and no robots.txt."""

    def do_GET(self) -> None:
        body = b"<title>Inside</title><h1>Inside</h1><p>Words of the house.</p>"
        self.answer(404 if self.path == "/robots.txt" else 200, body)


@pytest.fixture
def inside() -> Iterator[str]:
    with serving(Page) as place:
        yield place


def test_a_page_of_the_private_network_is_fetched_only_by_a_rule_with_its_port(cli: Cli, inside: str) -> None:
    call = ("tools", "call", "fetch_web_page", json.dumps({"url": f"http://{inside}/"}), "--json")
    assert cli("permissions", "add", "fetch_web_page", "--action", "allow").status == 0
    refused = cli(*call).json
    assert (refused["code"], f"domain:{inside}" in refused["error"]) == ("own_network", True)
    assert cli("permissions", "add", f"fetch_web_page(domain:{inside})", "--action", "allow").status == 0
    found = cli(*call).json
    assert (found["title"], "Words of the house." in found["content"]) == ("Inside", True)
    assert cli("permissions", "add", "fetch_web_page(domain:127.0.0.1)", "--action", "deny").status == 0
    assert cli(*call).status != 0
