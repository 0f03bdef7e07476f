"""200 flipped bits over a whole data folder, 200 in its database alone, and 200 among its large values: what a hash or
a checksum can cover never changes silently.

``ATELIER_FLIPS`` sets the number (200 when it is not set); the figures are printed, and written as JSON next to
``ATELIER_CHAOS_JSON`` when that is set. The files no hash covers are named in ``flips.UNCOVERED``, and counted.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.chaos.flips import UNCOVERED, count, trials

FLIPS = int(os.environ.get("ATELIER_FLIPS", "200"))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("under", ["", "database", "database/vlog"])
def test_no_bit_changes_silently_where_a_hash_is(tmp_path: Path, under: str) -> None:
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
