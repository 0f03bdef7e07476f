"""A second click before the first is answered does nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atelier_desk.desktop
from atelier_desk.desktop.chat.run_controls import RunControls
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, FakeBridge, settle


async def test_the_same_work_is_not_started_again_while_it_runs() -> None:
    delayed, made = DelayedResult(), 0
    bridge = FakeBridge()

    def work() -> Any:
        nonlocal made
        made += 1
        return delayed()

    assert bridge.jobs.once("a", work) is not None
    assert bridge.jobs.once("a", work) is None
    assert bridge.jobs.once(("a", "other"), work) is not None
    assert made == 2
    await delayed.release()
    assert bridge.jobs.once("a", work) is not None
    await settle()


async def test_failed_work_can_be_started_again() -> None:
    bridge = FakeBridge()

    async def fail() -> None:
        raise ValueError("no")

    for _ in range(2):
        assert bridge.jobs.once("a", fail) is not None
        await settle()
    assert len(bridge.errors) == 2


@pytest.mark.parametrize(
    ("method", "press"),
    [
        ("steering.resume", lambda steering, run: steering.resume(run)),
        ("cancel", lambda steering, run: steering.stop(run)),
        ("steering.pause", lambda steering, run: steering.pause(run)),
        ("steering.message", lambda steering, run: steering.send_to_agent(run, "hello")),
        ("answering.answer_child", lambda steering, run: steering.answer(run, "yes")),
    ],
)
async def test_a_double_click_steers_once_and_other_runs_are_steered_meanwhile(
    method: str, press: Callable[[RunControls, str], None]
) -> None:
    delayed = DelayedResult()
    engine = FakeAtelier(runs={method: delayed})
    steering = RunControls(FakeBridge(engine))
    for run in ("r1", "r1", "r2"):
        press(steering, run)
    await settle()
    assert [args[0] for args, _ in engine.calls(f"runs.{method}")] == ["r1", "r2"]
    await delayed.release()
    press(steering, "r1")
    await settle()
    assert len(engine.calls(f"runs.{method}")) == 3


def test_every_button_starts_work_through_once() -> None:
    """A click that starts a coroutine in the slot itself uses ``once``."""
    bypassing = re.compile(r"(clicked|triggered)\.connect\(.*(jobs|bridge)\.start\(")
    sources = Path(atelier_desk.desktop.__file__).parent.rglob("*.py")
    lines = ((path.name, line.strip()) for path in sources for line in path.read_text("utf-8").splitlines())
    assert [each for each in lines if bypassing.search(each[1])] == []


async def test_a_command_is_stopped_from_the_transcript_of_its_call() -> None:
    engine, host = FakeAtelier(commands={"stop_call": None}), TranscriptHost()
    steering = RunControls(FakeBridge(engine))
    steering.attach(host)
    host.team.workflow_id = "w"
    host.stop_call_requested.emit("r", "c")
    await settle()
    assert engine.calls("commands.stop_call") == [(("w", "r", "c"), {})]
