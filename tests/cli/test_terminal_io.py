"""Input and output of commands: piped input, its encoding and limits, reasoning, times, control characters."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli import terminal_io
from atelier_desk.cli.terminal_io import Terminal, moment
from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError
from atelier_desk.domain.model_messages import ChatReply, Usage
from tests.cli.conftest import Cli

ENDLESS = Path("/dev/zero")


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


class Piped(io.StringIO):
    """Standard input with a real descriptor below it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return False


@pytest.fixture
def pipe() -> Any:
    read, write = os.pipe()
    yield read, write
    for end in (read, write):
        with contextlib.suppress(OSError):
            os.close(end)


async def test_input_in_another_encoding_is_decoded_and_the_encoding_named(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, "déjà vu".encode("latin-1"))
    os.close(write)
    said = io.StringIO()
    terminal = Terminal(json=False, cwd=".", stdin=Piped(read), stderr=said)
    assert await terminal.read_piped() == "déjà vu"
    assert "windows-1252" in said.getvalue()


async def test_a_silent_pipe_does_not_block(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_io, "PIPE_WAIT_S", 0.01)
    said = io.StringIO()
    assert await Terminal(json=False, cwd=".", stdin=Piped(pipe[0]), stderr=said).read_piped() == ""
    assert "--attach -" in said.getvalue()


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no /dev/zero")
@pytest.mark.parametrize("piped", [False, True])
async def test_endless_input_is_refused_with_the_allowed_size(piped: bool) -> None:
    with ENDLESS.open("rb") as endless:
        terminal = Terminal(json=False, cwd=".", stdin=Piped(endless.fileno()), stderr=io.StringIO())
        with pytest.raises(LimitError, match=str(limits.IMPORT_FILE)):
            await (terminal.read_piped() if piped else terminal.read_input())


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("colour", "shown"), [("", "\x1b[2mhm\nso\x1b[0m\n"), ("1", "│ hm\n│ so\n")])
def test_thinking_is_distinguished_from_the_answer_with_and_without_colours(
    monkeypatch: pytest.MonkeyPatch, colour: str, shown: str
) -> None:
    monkeypatch.setenv("NO_COLOR", colour)
    out, err = Screen(), Screen()
    terminal = Terminal(json=False, cwd=".", stdout=out, stderr=err)
    terminal.think("hm\n")
    terminal.think("so")
    terminal.write("Answer")
    terminal.note("done", "warn")
    assert err.getvalue() == shown + ("\x1b[33mdone\x1b[0m\n" if not colour else "done\n")
    assert out.getvalue() == "Answer"


@pytest.mark.parametrize("json", [True, False])
def test_thinking_is_shown_only_on_a_terminal(json: bool) -> None:
    err = Screen()
    Terminal(json=json, cwd=".", stdout=Screen() if json else io.StringIO(), stderr=err).think("hm")
    assert err.getvalue() == ""


def test_thinking_is_streamed_on_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    reply = ChatReply(content="84", reasoning="twelve times seven", usage=Usage())
    for options, seen in (([], True), (["--quiet"], False), (["--json"], False)):
        monkeypatch.setattr(sys, "stderr", screen := Screen())
        with monkeypatch.context() as patched:
            patched.setattr(Terminal, "watched", not options or options == ["--quiet"], raising=False)
            patched.setattr(sys, "stdout", Screen())
            cli("run", "go", *options, steps=[reply])
        assert ("twelve times seven" in screen.getvalue()) is seen, options
