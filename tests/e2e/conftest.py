"""Open the program for a test and close it afterwards, also when the test fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.storage.data_folder.datadir import DataDir
from tests.e2e.harness import AppDriver, scripted
from tests.e2e.scripted_model_server import ModelServer
from tests.helpers.database_templates import PlaceDatabase

OpenApp = Callable[..., AppDriver]
"""``open_app(steps, **options)``: open the test's data folder; after ``close`` it may be called again, as a restart."""


@pytest.fixture
def open_app(qtbot: QtBot, tmp_path: Path, place_database: PlaceDatabase) -> Iterator[OpenApp]:
    desks: list[AppDriver] = []

    def opener(steps: Sequence[Step] | ScriptedModel | None = (), **options: Any) -> AppDriver:
        if not options.get("first_start"):
            place_database(DataDir(tmp_path / "data").database)
        app = AppDriver(qtbot, tmp_path / "data", None if steps is None else scripted(steps), **options)
        desks.append(app)
        app.wait_open()
        return app

    yield opener
    for app in desks:
        app.close()
    for app in desks:
        app.verify()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server on loopback; every request to it must have a scripted reply."""
    with ModelServer() as made:
        yield made
    assert made.surprises == []
