"""Folders attached to a message: their list and texts, within limits and without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain import limits
from atelier_desk.engine.attachments import folder_text as attached_folder
from atelier_desk.engine.attachments import reading as attachments


def test_a_folder_is_its_list_and_texts_without_ignored_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print()", "utf-8")
    (folder / "a.txt").write_text("x" * 30_000, "utf-8")
    (folder / "short.txt").write_text("short", "utf-8")
    (folder / "b.log").write_text("x", "utf-8")
    (folder / "c.bin").write_bytes(b"\0\1\2")
    (folder / "away").symlink_to(tmp_path)
    (folder / ".gitignore").write_text("*.log\n", "utf-8")
    found = attachments.read(folder, (str(tmp_path),))
    listed, *texts = (found.text or "").split("\n\n--- ")
    assert (found.source, found.path) == ("folder", "project")
    assert listed.splitlines()[:4] == [
        "a.txt (30000 bytes)",
        "c.bin (3 bytes)",
        "short.txt (5 bytes)",
        "src/main.py (7 bytes)",
    ]
    assert "1 of the files are no text" in listed
    assert [each.partition(" ---\n")[0] for each in texts] == ["short.txt", "a.txt", "src/main.py"]
    assert texts[1].endswith("x\n[20000 of its 30000 characters.]")
    assert texts[2].endswith("print()")
    monkeypatch.setattr(limits, "ATTACHED_ENTRIES", 1)
    assert "Only the first 1 files are listed" in (attachments.read(folder).text or "")


def test_possible_secrets_in_a_folder_are_named_and_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "keys").mkdir(parents=True)
    for name in ("server.pem", "keys/id_rsa", "secrets.json", "settings.env"):
        (folder / name).write_text("TOP SECRET", "utf-8")
    (folder / "readme.md").write_text("Hello", "utf-8")
    found = attachments.read(folder)
    assert found.left_out == ("keys/id_rsa", "secrets.json", "server.pem", "settings.env")
    assert "Left out, because they look as if they held secrets: keys/id_rsa, secrets.json" in (found.text or "")
    assert "TOP SECRET" not in (found.text or "")
    assert "Hello" in (found.text or "")
    ssh = tmp_path / ".ssh"
    ssh.mkdir()
    (ssh / "config").write_text("TOP SECRET", "utf-8")
    assert "TOP SECRET" not in (attachments.read(ssh).text or "")


def test_a_huge_folder_stays_within_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached_folder, "TEXT", 1_000)
    for number in range(30):
        (tmp_path / f"{number:02}.txt").write_text("x" * 100, "utf-8")
    text = attachments.read(tmp_path).text or ""
    assert text.count("\n--- ") == 9
    assert "21 of the files are no text, too large, or did not fit" in text
