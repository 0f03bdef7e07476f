"""A process that was asked to end does so, and nothing else is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest

from atelier_desk.domain.limits import (
    DATABASE_PAUSE_S,
    HAND_OVER_S,
    LAST_WORDS_S,
    PROGRAM_ENDS_S,
    RUNS_END_S,
    SHORT_COMMAND_S,
    TOOL_ENDS_S,
)
from atelier_desk.support.shutdown import ending_signals

START = (
    "import threading, time\nfrom atelier_desk.support.shutdown import EndWatch\nwatch = EndWatch(7, "
    "0.3)\nwatch.start()\n"
)


def run(code: str) -> tuple[int, str, float]:
    """Exit status, output and duration in seconds of a program that was asked to end."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, time.monotonic() - began


@pytest.mark.parametrize(
    "held_up", ["time.sleep(50)", "threading.Thread(target=time.sleep, args=(50,)).start(); watch.returned()"]
)
def test_a_blocked_process_ends_with_the_given_status(held_up: str) -> None:
    status, _out, seconds = run(held_up)
    assert status == 7
    assert 0.3 <= seconds < 30


def test_the_waits_at_the_end_fit_into_the_time_limit_one_after_another() -> None:
    assert TOOL_ENDS_S + HAND_OVER_S + LAST_WORDS_S + RUNS_END_S + DATABASE_PAUSE_S <= PROGRAM_ENDS_S - 0.2
    # Commands killed at the end are recorded before the run is handed over.
    assert max(TOOL_ENDS_S, SHORT_COMMAND_S) < HAND_OVER_S
    assert TOOL_ENDS_S < RUNS_END_S


def test_a_second_request_ends_the_process_at_once() -> None:
    assert run("watch.start(); print('still here', flush=True)")[:2] == (7, "")


def test_a_caller_continues_after_the_program_has_returned() -> None:
    status, out, _seconds = run(f"watch.returned(); time.sleep({PROGRAM_ENDS_S} + 1.5); print('still here')")
    assert (status, out) == (0, "still here\n")


def test_under_nohup_a_hangup_does_not_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)
    assert signal.SIGHUP in ending_signals()
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    assert ending_signals() == [signal.SIGINT, signal.SIGTERM]
