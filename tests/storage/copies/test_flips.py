"""A sample of ``tests/chaos/test_flips.py``: ten flipped bits in a data folder."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.flips import UNCOVERED, trials


def test_ten_flipped_bits_are_noticed_or_without_effect(tmp_path: Path) -> None:
    found = list(trials(tmp_path, 10, 3))
    assert [trial for trial in found if trial.outcome == "silent" and trial.folder not in UNCOVERED] == []
    assert any(trial.outcome == "noticed" for trial in found)
