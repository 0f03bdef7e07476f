"""200 flipped bits in a data folder, 200 in its database, and 200 among its large values: data covered by a hash
or checksum never changes silently.

``ATELIER_FLIPS`` sets the number (default 200); the figures are printed, and written as JSON next to
``ATELIER_CHAOS_JSON`` when that is set. Files without a hash are listed in ``bit_flips.UNCOVERED``, and counted.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.chaos.bit_flips import UNCOVERED, count, trials

FLIPS = int(os.environ.get("ATELIER_FLIPS", "200"))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("under", ["", "database", "database/vlog"])
def test_no_bit_covered_by_a_hash_changes_silently(tmp_path: Path, under: str) -> None:
    found = list(trials(tmp_path, FLIPS, 20261122, under))
    figures = count(found)
    text = json.dumps(asdict(figures), indent=1)
    print(f"\n{text}")
    target = os.environ.get("ATELIER_CHAOS_JSON")
    if target:
        path = Path(target)
        path.with_name(f"{path.stem}-flips{under and '-'}{under.replace('/', '-')}{path.suffix}").write_text(
            text, encoding="utf-8"
        )
    assert figures.trials == FLIPS
    assert figures.noticed
    assert [trial for trial in found if trial.outcome == "silent" and trial.folder not in UNCOVERED] == []
