"""The process that holds the data folder, and those it serves: a sample of ``tests/chaos/test_holder.py``."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.many import all_but_the_killed_succeed


async def test_when_the_holder_is_killed_the_others_go_on_where_they_were(tmp_path: Path) -> None:
    await all_but_the_killed_succeed(tmp_path, 3, signal.SIGKILL)
