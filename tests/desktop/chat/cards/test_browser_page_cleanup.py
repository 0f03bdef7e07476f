"""Files shown in a browser are deleted when the program ends, at the latest at the next start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from atelier_desk.desktop.chat.cards.open_in_browser import PREFIX, clear_left

WRITER = """
import os, signal
from atelier_desk.desktop.chat.cards.open_in_browser import write_page
print(write_page("<p>x</p>", "html"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_only_files_left_by_a_killed_program_are_deleted(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    killed = subprocess.run(
        [sys.executable, "-c", WRITER], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    page = Path(killed.stdout.strip())
    assert page.is_file(), killed.stderr
    at_work = tmp_path / f"{PREFIX}{os.getpid()}-abc"
    others = tmp_path / f"{PREFIX}notes"
    target = tmp_path / "mine"
    link = tmp_path / f"{PREFIX}{page.parent.name.removeprefix(PREFIX).partition('-')[0]}-link"
    for folder in (at_work, others, target):
        folder.mkdir()
    link.symlink_to(target)
    clear_left(tmp_path)
    assert not page.parent.exists()
    assert [each.exists() for each in (at_work, others, target, link)] == [True] * 4
