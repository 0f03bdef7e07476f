"""The room on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.storage.folder.disk import free_bytes


def test_free_space_is_asked_of_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "yet") == pytest.approx(free_bytes(tmp_path), rel=0.05)
