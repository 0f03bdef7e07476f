"""Documents of an office go in, and what was written goes out to be opened by others."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from atelier_desk.domain.documents import COMPOUND
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk
from tests.support.documents import sheets, word


def shot(desk: Desk, name: str) -> None:
    """A picture of the window for somebody to look at, where a folder for them is named."""
    if folder := os.environ.get("ATELIER_SHOTS"):
        desk.settle()
        desk.window.grab().save(str(Path(folder) / f"{name}.png"))


def test_documents_are_sent_as_text_and_one_that_is_refused_stops_the_message(open_desk: OpenDesk, tmp_path: Path) -> None:
    (tmp_path / "letter.docx").write_bytes(word("A letter of Ada"))
    (tmp_path / "sales.xlsx").write_bytes(sheets())
    (tmp_path / "locked.xlsx").write_bytes(COMPOUND + "EncryptedPackage".encode("utf-16-le"))
    desk = open_desk(["Read."])
    row = desk.window.chat.composer.attachments
    desk.window.chat.composer.take_files([str(tmp_path / name) for name in ("letter.docx", "sales.xlsx", "locked.xlsx")])
    desk.until(lambda: len(row.ready) == 2 and any(item.problem for item in row.items), "two are read, one is refused")
    refused = next(chip for chip in desk.all("attachment", QWidget) if "has a password" in chip.accessibleName())
    shot(desk, "refused")
    field = desk.window.chat.composer.field
    desk.type(field, "Sum up")
    desk.press(field, Qt.Key.Key_Return)
    assert not desk.find("send-button").isEnabled()
    assert field.toPlainText() == "Sum up"
    desk.press(refused, Qt.Key.Key_Delete)
    desk.press(field, Qt.Key.Key_Return)
    desk.last_reply("Read.")
    desk.wait_done()
    assert desk.model is not None
    content = desk.model.requests[0].messages[-1].content
    assert "A letter of Ada, voir [ici](https://a.example/)" in content
    assert "## Sheet: Ventes\n\n| Mois | Total |" in content
    shot(desk, "sent")
    assert desk.failures == []
