"""Only regular files are opened, without waiting."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from atelier_desk.support.regular_files import open_plain, replace_file


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


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "letter.md"
    path.write_bytes(b"old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_keeps_its_permissions_and_the_links_to_it(tmp_path: Path) -> None:
    file, link, usual = tmp_path / "a", tmp_path / "link", tmp_path / "usual"
    file.write_bytes(b"a long old text")
    file.chmod(0o640)
    link.symlink_to("a")
    replace_file(link, b"new")
    assert link.is_symlink()
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)
    usual.touch()
    replace_file(tmp_path / "fresh", b"")
    assert (tmp_path / "fresh").stat().st_mode == usual.stat().st_mode


def test_a_device_is_written_to_and_a_missing_folder_is_not_created(tmp_path: Path) -> None:
    replace_file(Path(os.devnull), b"x")
    assert not Path(os.devnull).is_file()
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "none" / "a", b"x")


def test_a_loop_of_links_is_a_usual_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="a"):
        replace_file(tmp_path / "a", b"new")


@pytest.mark.parametrize("place", ["file", "folder"])
def test_rights_are_those_of_writing_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    path = tmp_path / "letter.md"
    path.write_bytes(b"old")
    refused = path if place == "file" else tmp_path
    monkeypatch.setattr(os, "access", lambda asked, _mode: asked != refused)
    if place == "file":
        with pytest.raises(PermissionError):
            replace_file(path, b"new")
    else:
        replace_file(path, b"new")
    assert path.read_bytes() == (b"old" if place == "file" else b"new")
