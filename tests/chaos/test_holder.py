"""Thirty commands at once over one data folder: all succeed, and with the holder ended in the middle nothing is lost or done twice.

``ATELIER_COMMANDS`` sets another number.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.many import all_but_the_killed_succeed, all_succeed

COMMANDS = int(os.environ.get("ATELIER_COMMANDS", "30"))


async def test_commands_started_at_once_all_succeed(tmp_path: Path) -> None:
    await all_succeed(tmp_path, COMMANDS)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_holder_ends_the_others_go_on_where_they_were(tmp_path: Path, number: signal.Signals) -> None:
    await all_but_the_killed_succeed(tmp_path, COMMANDS, number)
