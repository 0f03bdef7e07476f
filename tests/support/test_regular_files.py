"""Only regular files are opened, without waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.support.regular_files import open_plain


def test_files_and_links_to_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    for name in ("a", "link"):
        with open_plain(tmp_path / name) as file:
            assert file.read() == b"abc"
    with pytest.raises(OSError, match="link"):
        open_plain(tmp_path / "link", follow=False)


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, Path("/dev/zero"), tmp_path / "none"):
        with pytest.raises(OSError, match=path.name):
            open_plain(path)
