"""A process that reads a stranger's bytes is bounded in what it may answer."""

from __future__ import annotations

import sys
import time

import pytest

from atelier_desk import limited

PAGE = ("atelier_desk.web.page_text", ("http://a.org/", "text/plain", "utf-8"))


async def test_an_answer_that_is_too_long_is_no_answer_and_a_large_file_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await limited.answer_of(*PAGE, b"word " * 400_000))["total"] == 2_000_000
    monkeypatch.setattr(limited, "MOST", 10)
    assert await limited.answer_of(*PAGE, b"a few words") == {"error": "broken"}
    assert limited.answer_in_thread(*PAGE, b"a few words") == {"error": "broken"}


def test_a_process_that_is_slow_to_begin_is_given_all_of_a_large_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "_LOOK_S", 0.01)  # looked at before it has read anything; a pipe holds 64 KB
    page = b"word " * 400_000
    assert limited.answer_in_thread(*PAGE, page, limit_s=60)["total"] == 2_000_000
    assert limited.answer_in_thread(*PAGE, page, stopped=lambda: True) == {"error": "timeout"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_what_a_reader_started_and_left_behind_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "_order", lambda _module, _arguments: ("sh", "-c", "sleep 8 & exit 0"))
    begun = time.monotonic()
    assert limited.answer_in_thread(*PAGE, b"x" * 1_000_000, limit_s=0.3) == {"error": "timeout"}
    assert time.monotonic() - begun < 6
