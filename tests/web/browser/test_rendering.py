"""Pages built by scripts, rendered by a browser: what it may request, what is used of it, and that nothing
remains.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.web.browser import rendering
from atelier_desk.web.browser.browser_discovery import find
from atelier_desk.web.page_fetcher import Web
from tests.helpers.fake_websites import Reply, Sites, html
from tests.web.browser.conftest import Fake
from tests.web.long_page_text import LONG, no

MADE = f"<html><head><title>App</title></head><body><main><h1>Made</h1><p>{LONG}</p></main></body></html>"


async def gone(pid: int) -> bool:
    """Wait for a process to end; returns whether it did."""
    for _look in range(1_000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with suppress(OSError):  # only on Linux, and only while the process exists
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text("utf-8", "replace"):
                return True
        await asyncio.sleep(0.01)
    return False


async def test_an_empty_shell_is_rendered_and_each_request_is_checked(
    app: Callable[..., Web], served: Sites, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("DISPLAY", ":7")
    served.names["inside.org"] = ("10.0.0.1",)
    served.pages["app.org/app.js"] = served.pages["cdn.org/lib.js"] = Reply(b"go()")
    asked = [
        ("http://app.org/", "Document", "T", True), ("http://app.org/app.js", "Script", "T", True),
        ("http://cdn.org/lib.js", "Script", "T", True), ("http://pics.org/a.png", "Image", "T", True),
        ("http://app.org/frame", "Document", "F", True), ("http://else.org/", "Document", "T", True),
        ("http://barred.org/x", "XHR", "T", True), ("http://asked.org/x", "XHR", "T", True),
        ("http://inside.org/x", "XHR", "T", True),
        ("http://127.0.0.1:9/x", "Fetch", "T", True), ("file:///etc/passwd", "XHR", "T", True),
        ("tunnel:127.0.0.1:9", "", "", False),
        ("tunnel:maker.org:443", "", "", False), ("http://maker.org/", "", "", False),
    ]  # fmt: skip
    barred = {"barred.org": "deny", "asked.org": "ask"}
    page = await app(requests=asked, html=MADE).page("http://app.org/", no, barred=lambda host: barred.get(host, ""))
    assert (page.title, page.ran, page.scripts, "goes on for a while" in page.markdown) == (
        "Made",
        "Chromium",
        False,
        True,
    )
    ok, no_way, stopped = "HTTP/1.1 200 -", "HTTP/1.1 403 -", "stopped"
    assert [each[1] for each in fake.did["got"]] == [
        ok, ok, ok, stopped, stopped, stopped, stopped, stopped, no_way, no_way, stopped, no_way, no_way, no_way,
    ]  # fmt: skip
    assert {each.host for each in served.asked} == {"app.org", "cdn.org"}
    assert not {"OPENAI_API_KEY", "DISPLAY", "HTTP_PROXY"} & set(fake.did["environment"])
    assert not Path(fake.did["profile"]).parent.exists()
    assert {"--disable-quic", "--dns-prefetch-disable", "--proxy-bypass-list=<-loopback>", "--incognito"} <= set(
        fake.did["options"]
    )
    assert "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1" in fake.did["options"]
    assert await gone(fake.did["pid"])
    assert (await app(mode="dies").page("http://app.org/", no)).cached


async def test_a_page_with_text_needs_no_browser_and_a_shell_without_one_is_reported(
    app: Callable[..., Web], served: Sites, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.pages["text.org/"] = Reply(html("Text", LONG))
    assert (await app().page("http://text.org/", no)).ran == ""
    page = await app(scripts="off").page("http://app.org/", no)
    assert (page.scripts, "switched off" in page.trouble, fake.started) == (True, True, False)
    fake.program.unlink()
    page = await app().page("http://app.org/", no)
    assert "install one of Chromium" in page.trouble
    monkeypatch.setattr(rendering, "is_root", lambda: True)
    with pytest.raises(ToolError, match="administrator"):
        await rendering.shown(None, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"mode": "dies"}, "No usable sandbox"),
        ({"mode": "noise"}, "did not show the page"),
        ({"final": "chrome-error://chromewebdata/"}, "did not show the page"),
        ({"final": "http://app.org.evil.org/"}, "did not show the page"),
        (
            {"requests": [("http://else.org/", "Document", "T", True)], "final": "chrome-error://x/"},
            "another site: http://else.org/",
        ),
    ],
)
async def test_a_failing_browser_is_reported_and_the_plain_page_returned(
    app: Callable[..., Web], plan: dict[str, object], said: str
) -> None:
    page = await app(**plan).page("http://app.org/", no)
    assert (page.scripts, page.ran, said in page.trouble) == (True, "", True), page.trouble


async def test_a_page_that_never_settles_is_used_as_it_is_and_an_endless_one_cut(
    app: Callable[..., Web], fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "QUIET_S", 0.3)
    page = await app(mode="busy", html=MADE).page("http://app.org/", no)
    assert (page.ran, page.cut) == ("Chromium", True)
    assert await gone(fake.did["child"]), "what it started must end with it, also in a session of its own"


async def test_stopping_the_call_ends_the_browser_and_its_children(app: Callable[..., Web], fake: Fake) -> None:
    call = asyncio.ensure_future(app(mode="silent").page("http://app.org/", no))
    while not fake.started:
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await gone(fake.did["pid"])
    assert await gone(fake.did["child"])
    assert not Path(fake.did["profile"]).parent.exists()


async def test_the_requests_of_a_page_are_limited(
    app: Callable[..., Web], fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "REQUESTS", 2)
    page = await app(requests=[("http://app.org/", "XHR", "T", True)] * 4, html=MADE).page("http://app.org/", no)
    assert [each[1] for each in fake.did["got"]] == ["HTTP/1.1 200 -"] * 2 + ["stopped"] * 2
    assert page.cut


def test_browsers_are_found_on_the_path_and_a_wrong_path_finds_none(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(fake.folder))
    found = find()
    assert found is not None
    assert (found.name, found.program) == ("Chromium", str(fake.program))
    assert find(str(fake.folder / "nothing")) is None
