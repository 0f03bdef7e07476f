"""The tests of runs open an empty database that is already made."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.storage.data_folder.datadir import DataDir
from tests.helpers.database_templates import PlaceDatabase


@pytest.fixture(autouse=True)
def _database(tmp_path: Path, place_database: PlaceDatabase) -> None:
    place_database(DataDir(tmp_path / "data").database)
