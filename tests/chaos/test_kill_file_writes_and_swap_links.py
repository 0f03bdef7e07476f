"""Workspace files under kills and races: nothing torn, nothing left behind, nothing reached outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.file_write_kills import kill_writers
from tests.chaos.link_swap_races import race


@pytest.mark.timeout(1800)
def test_500_kills_in_writes(tmp_path: Path) -> None:
    kill_writers(tmp_path, 500)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("walk", [False, True], ids=["openat2", "walk"])
def test_a_minute_of_swapped_links(tmp_path: Path, walk: bool) -> None:
    assert race(tmp_path, 30, walk=walk) > 1_000
