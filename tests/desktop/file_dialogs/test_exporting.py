"""An export that fails leaves the file that was there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.file_dialogs import exporting
from atelier_desk.desktop.file_dialogs.open_save_confirm import write_text
from atelier_desk.domain.errors import UsageError


@pytest.mark.parametrize("name", ["a.docx", "a.pdf", "a.html", "a.md", "text"])
async def test_an_export_on_a_full_disk_keeps_the_old_file(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"the old letter")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError, match="No space left"):
        await (write_text(path, "new") if name == "text" else exporting.write(path, "T", "new"))
    assert path.read_bytes() == b"the old letter"
    assert list(tmp_path.iterdir()) == [path]
