"""``atelier web``."""

from __future__ import annotations

import pytest

from atelier_desk.cli.commands import web
from atelier_desk.web import search
from tests.cli.conftest import Cli


def test_a_search_is_made_chosen_and_switched_off(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"title": "Title", "href": "https://a.org/", "body": "excerpt"}]
    monkeypatch.setattr(search, "public_pages", lambda query, limit, proxy: rows)
    assert cli("web", "show", "--json").json == {"search": "ddgs", "address": "", "key_env": "", "keys": [], "pages": 0, "bytes": 0}
    assert cli("web", "search", "words").out == "Title\n  https://a.org/\n  excerpt\n"
    refused = cli("web", "use", "searxng")
    assert (refused.status, "address" in refused.err) == (2, True)
    assert cli("web", "use", "searxng", "--address", "ftp://x").status == 2
    assert cli("web", "use", "brave", "--api-key-env", "BRAVE_KEY", "--json").json["key_env"] == "BRAVE_KEY"
    assert "BRAVE_KEY" in cli("web", "show").out
    cli("web", "use", "off")
    stopped = cli("web", "search", "words")
    assert (stopped.status, "switched off" in stopped.err) == (1, True)
    assert cli("web", "clear", "--json").json == {"removed": 0}


def test_the_grammar_names_what_there_is() -> None:
    assert (tuple(search.ENGINES), search.MOST) == (web.SERVICES, web.MOST)
