"""What a run is after the process that worked on it ended: a sample of ``tests/chaos/test_ends.py``."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.cli.test_processes import Process, finished, folder

__all__ = ["folder"]

ANSWER = "a long answer that never ends"


def states(folder: Path) -> dict[str, str]:
    """By name, the states of all workflows as a script sees them."""
    return {each["name"]: each["status"] for each in json.loads(finished(folder, "workflows", "list", "--json").out)}


def notices(folder: Path) -> list[dict[str, str]]:
    """What the transcript of the only workflow says of interruptions."""
    [workflow] = json.loads(finished(folder, "workflows", "list", "--json").out)
    shown = json.loads(finished(folder, "workflows", "show", workflow["id"], "--json").out)
    return [turn["message"]["details"] for turn in shown["transcript"] if turn["message"]["kind"] == "run_interrupted"]


def is_interrupted_and_resumed(folder: Path, how: signal.Signals | str, status: int, ended: str) -> None:
    """A run is ended in the middle of its answer: it is interrupted, and a bare resume goes on with it."""
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


def test_it_is_interrupted_and_a_bare_resume_goes_on_with_it(folder: Path) -> None:
    is_interrupted_and_resumed(folder, signal.SIGTERM, 130, "command")
