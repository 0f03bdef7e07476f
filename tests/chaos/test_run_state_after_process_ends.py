"""The state of a run after its process ended in different ways."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from atelier_desk.domain.limits import PROGRAM_ENDS_S
from tests.cli.real_process import Process, finished, folder

__all__ = ["folder"]

ANSWER = "a long answer that never ends"


def states(folder: Path) -> dict[str, str]:
    """The states of all workflows by name, as a script sees them."""
    return {each["name"]: each["status"] for each in json.loads(finished(folder, "workflows", "list", "--json").out)}


def notices(folder: Path) -> list[dict[str, str]]:
    """The interruption notices in the transcript of the only workflow."""
    [workflow] = json.loads(finished(folder, "workflows", "list", "--json").out)
    shown = json.loads(finished(folder, "workflows", "show", workflow["id"], "--json").out)
    return [turn["message"]["details"] for turn in shown["transcript"] if turn["message"]["kind"] == "run_interrupted"]


def check_interrupt_and_resume(folder: Path, how: signal.Signals | str, status: int, ended: str) -> None:
    """End a run in the middle of its answer: it is interrupted, and a plain resume continues it."""
    process = Process(folder, "run", "go", "--json", steps=[ANSWER], gate=True)
    if isinstance(how, signal.Signals):
        process.until("token")
        process.process.send_signal(how)
        assert process.end() == status
    else:
        assert process.process.stdout is not None
        process.process.stdout.close()
        assert process.process.wait(60) == status
    assert states(folder) == {"go": "interrupted"}
    assert notices(folder) == [{"ended": ended}]
    resumed = finished(folder, "resume", "--json", steps=["here it is"])
    assert resumed.status == 0  # type: ignore[attr-defined]
    assert resumed.events[-1]["status"] == "completed"


@pytest.mark.usefixtures("hang_ups")
@pytest.mark.parametrize(
    ("how", "status", "ended"),
    [
        (signal.SIGTERM, 130, "command"),
        (signal.SIGHUP, 130, "command"),
        (signal.SIGKILL, -9, "killed"),
        ("closed pipe", 130, "command"),
    ],
)
def test_a_run_is_interrupted_and_a_plain_resume_continues_it(
    folder: Path, how: signal.Signals | str, status: int, ended: str
) -> None:
    check_interrupt_and_resume(folder, how, status, ended)


def test_a_command_that_cannot_save_still_ends_in_time(folder: Path) -> None:
    process = Process(folder, "run", "go", "--json", steps=[ANSWER], gate=True, TEST_HANG="1")
    process.until("token")
    began = time.monotonic()
    process.process.send_signal(signal.SIGTERM)
    assert process.end() == 130
    # The margin above the limit is the time that a busy machine takes to examine its processes.
    assert PROGRAM_ENDS_S - 0.2 < time.monotonic() - began < PROGRAM_ENDS_S + 5
    assert states(folder) == {"go": "interrupted"}


def test_a_run_whose_client_disappears_is_interrupted_in_the_holder(folder: Path) -> None:
    holder = Process(folder, "run", "hold", "--json", steps=["slow", "slow too"], gate=True)
    holder.until("token")
    second = Process(folder, "run", "second", "--json")
    second.until("token")
    second.process.kill()
    second.end()
    while states(folder)["second"] == "running":
        pass
    assert states(folder) == {"hold": "running", "second": "interrupted"}
    holder.process.send_signal(signal.SIGINT)
    assert holder.end() == 130
    assert states(folder) == {"hold": "interrupted", "second": "interrupted"}
