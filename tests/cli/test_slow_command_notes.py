"""Notes shown while a command takes long."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest

from atelier_desk.cli import slow_command_notes
from atelier_desk.cli.terminal_io import Terminal
from tests.helpers.fake_bridge import FakeAtelier


@pytest.fixture
def out() -> tuple[Terminal, io.StringIO]:
    errors = io.StringIO()
    return Terminal(json=False, cwd=".", stdout=io.StringIO(), stderr=errors, stdin=io.StringIO()), errors


async def test_only_slow_steps_are_noted(out: tuple[Terminal, io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, errors = out
    async with slow_command_notes.noted_when_slow(terminal, "Checking…"):
        await asyncio.sleep(0)
    monkeypatch.setattr(slow_command_notes, "SLOW_S", 0.0)
    assert errors.getvalue() == ""
    async with slow_command_notes.noted_when_slow(terminal, "Checking…"):
        while not errors.getvalue():
            await asyncio.sleep(0)
    assert errors.getvalue() == "Checking…\n"


async def test_how_much_is_done_is_noted(out: tuple[Terminal, io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, errors = out
    async with slow_command_notes.shares_noted(terminal, "Compacting…") as tell:
        monkeypatch.setattr(slow_command_notes, "SLOW_S", 0.0)
        tell(300, 1_000)
    assert errors.getvalue() == "30% done…\n"


async def test_reading_the_history_is_noted(out: tuple[Terminal, io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, errors = out
    monkeypatch.setattr(slow_command_notes, "SLOW_S", 0.0)
    atelier: Any = FakeAtelier(usage={"reading": (34, 3_000)})
    async with slow_command_notes.history_noted(atelier, terminal, "Searching…"):
        while "read" not in errors.getvalue():
            await asyncio.sleep(0)
    assert errors.getvalue().splitlines()[:2] == ["Searching…", "34 of 3000 workflows read…"]


def test_progress_is_shown_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    said: list[tuple[int, int]] = []
    tell = slow_command_notes.every_second(lambda done, total: said.append((done, total)))
    for step in range(1, 6):
        now += 0.4
        tell(step, 5)
    assert said == [(3, 5)]
