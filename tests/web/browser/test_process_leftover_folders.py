"""The browser's folders: one for each page, and those left by a killed program are removed."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from atelier_desk.web.browser import process


def test_folders_left_by_a_killed_program_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, at_work, other = tmp_path / "atelier-browser-left", tmp_path / "atelier-browser-work", tmp_path / "other"
    for folder in (left, at_work, other):
        (folder / "profile").mkdir(parents=True)
        (folder / "profile" / "Cookies").write_text("x")
    (tmp_path / "atelier-browser-link").symlink_to(other)
    for old in (left, other):
        os.utime(old, (time.time() - 2 * 24 * 3600,) * 2)
    made = process._folder()
    assert made.is_dir()
    assert not left.exists()
    assert (at_work / "profile" / "Cookies").exists()
    assert (other / "profile" / "Cookies").exists()
