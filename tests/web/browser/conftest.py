"""A fake browser for tests, see ``tests.helpers.fake_browser``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.settings import WebSettings
from atelier_desk.web.browser import rendering
from atelier_desk.web.page_fetcher import Web
from tests.helpers import fake_browser
from tests.helpers.fake_websites import Reply, Sites


class Fake:
    """The browser's program, its orders, and its record of what it did."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "chromium"
        self.program.write_text(f"#!{sys.executable}\n" + Path(fake_browser.__file__).read_text("utf-8"), "utf-8")
        self.program.chmod(0o755)

    def does(self, **plan: Any) -> None:
        (self.folder / "plan.json").write_text(json.dumps(plan), "utf-8")

    @property
    def started(self) -> bool:
        return (self.folder / "out.json").is_file()

    @property
    def did(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text("utf-8"))
        return found


SHELL = (
    b"<!doctype html><html><head><title>App</title><script src='/app.js'></script></head><body><div "
    b"id='root'></div></body></html>"
)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr(rendering, "is_root", lambda: False)
    (tmp_path / "browser").mkdir()
    return Fake(tmp_path / "browser")


@pytest.fixture
def app(web: Web, served: Sites, fake: Fake) -> Callable[..., Web]:
    """A web with one page that is an empty shell, http://app.org/, and a browser that follows orders."""
    served.pages["app.org/"] = Reply(SHELL)

    def make(scripts: str = "auto", **plan: Any) -> Web:
        fake.does(**{"final": "http://app.org/", **plan})
        web.use(WebSettings.model_validate({"scripts": scripts, "browser": str(fake.program)}))
        return web

    return make
