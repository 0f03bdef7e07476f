"""The output of commands."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from atelier_desk.cli.terminal_io import Terminal, moment


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's clock is nine hours ahead."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system cannot be told another time zone")
@pytest.mark.usefixtures("tokyo")
def test_times_are_in_local_time() -> None:
    at = datetime(2026, 11, 25, 22, 30, 5, tzinfo=UTC)
    assert (moment(at), moment(at, seconds=True)) == ("2026-11-26 07:30", "2026-11-26 07:30:05")


async def test_control_characters_in_notes_and_questions_are_escaped_even_in_a_file() -> None:
    said = io.StringIO()
    terminal = Terminal(json=False, cwd=".", stdout=io.StringIO(), stderr=said, stdin=io.StringIO("y\n"))
    terminal.note("read report\u202etxt.sh")
    assert await terminal.ask("name\u2066 [a\x1b[2K]: ") == "y"
    assert said.getvalue() == "read report⟨U+202E⟩txt.sh\nname⟨U+2066⟩ [a⟨U+001B⟩[2K]: "
