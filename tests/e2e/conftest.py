"""Open the program for a test and close it afterwards, also when the test fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.llm.scripted import ScriptedModel, Step
from tests.e2e.harness import Desk, scripted
from tests.e2e.wire import ModelServer

OpenDesk = Callable[..., Desk]
"""``open_app(steps, **options)``: open the test's data folder; after ``close`` it may be called again, as a restart."""


@pytest.fixture
def open_desk(qtbot: QtBot, tmp_path: Path) -> Iterator[OpenDesk]:
    desks: list[Desk] = []

    def opener(steps: Sequence[Step] | ScriptedModel | None = (), **options: Any) -> Desk:
        desk = Desk(qtbot, tmp_path / "data", None if steps is None else scripted(steps), **options)
        desks.append(desk)
        desk.wait_open()
        return desk

    yield opener
    for desk in desks:
        desk.close()
    for desk in desks:
        desk.verify()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server on loopback; every request to it must have a scripted reply."""
    with ModelServer() as made:
        yield made
    assert made.surprises == []
