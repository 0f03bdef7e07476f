"""The file of commits that were set aside."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import refused

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_each_is_a_line_whatever_it_holds(tmp_path: Path) -> None:
    assert refused.count(tmp_path) == 0
    refused.keep(tmp_path, b'{"of": "w"}\n\xff', "a reason\nof two lines", NOW)
    refused.keep(tmp_path, b"", "another", NOW)
    assert refused.count(tmp_path) == 2


def test_a_folder_that_takes_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / refused.FILE).mkdir()
    with pytest.raises(StorageError):
        refused.keep(tmp_path, b"{}", "why", NOW)
