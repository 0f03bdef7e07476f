"""Kills during undo across disks: nothing lost, nothing half done, nothing without a report.

``ATELIER_UNDO_KILLS`` sets the number of random kills (default 60), ``ATELIER_KILL_EVERY`` kills only at every nth
step.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chaos.undo_kills import UndoFigures, kill_at_steps, kill_deletions, kill_undoes, other_disk

KILLS = int(os.environ.get("ATELIER_UNDO_KILLS", "60"))
EVERY = int(os.environ.get("ATELIER_KILL_EVERY", "1"))


def whole(figures: UndoFigures) -> None:
    print(f"\n{figures}")
    assert (figures.lost, figures.half, figures.silent) == (0, 0, 0), figures


@pytest.mark.timeout(1800)
def test_kills_at_random_moments(tmp_path: Path) -> None:
    with other_disk(tmp_path) as disk:
        figures = kill_undoes(tmp_path, disk, KILLS)
    whole(figures)
    assert figures.cut_off >= KILLS


@pytest.mark.timeout(1800)
def test_a_kill_at_every_step(tmp_path: Path) -> None:
    with other_disk(tmp_path) as disk:
        whole(kill_at_steps(tmp_path, disk, EVERY))


@pytest.mark.timeout(1800)
def test_a_kill_at_every_step_of_a_deletion(tmp_path: Path) -> None:
    with other_disk(tmp_path) as disk:
        whole(kill_deletions(tmp_path, disk, max(1, EVERY // 4)))  # it accesses the disk a quarter as often
