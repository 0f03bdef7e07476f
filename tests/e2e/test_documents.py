"""Office documents are attached, and replies are exported to be opened in other programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication, QTextDocument
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtWidgets import QFileDialog, QWidget

from atelier_desk.domain.documents import COMPOUND
from atelier_desk.workspace.documents.process import answer
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk
from tests.support.documents import sheets, word


def shot(desk: Desk, name: str) -> None:
    """Save a picture of the window if a folder for it is set."""
    if folder := os.environ.get("ATELIER_SHOTS"):
        desk.settle()
        desk.window.grab().save(str(Path(folder) / f"{name}.png"))


def test_documents_are_sent_as_text_and_one_that_is_refused_stops_the_message(
    open_desk: OpenDesk, tmp_path: Path
) -> None:
    (tmp_path / "letter.docx").write_bytes(word("A letter of Ada"))
    (tmp_path / "sales.xlsx").write_bytes(sheets())
    (tmp_path / "locked.xlsx").write_bytes(COMPOUND + "EncryptedPackage".encode("utf-16-le"))
    desk = open_desk(["Read."])
    row = desk.window.chat.composer.attachments
    desk.window.chat.composer.attach_files(
        [str(tmp_path / name) for name in ("letter.docx", "sales.xlsx", "locked.xlsx")]
    )
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


ANSWER = "# Offer\n\n| item | price |\n|---|---|\n| **rye** | 7 |\n"


def test_a_reply_is_copied_with_its_table_and_exported_to_be_opened(
    open_desk: OpenDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    desk = open_desk([ANSWER])
    desk.send("Write an offer")
    desk.last_reply("Offer")
    desk.wait_done()
    desk.settle()
    desk.click(desk.all("copy-message")[-1])
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == ANSWER
    assert "<td><strong>rye</strong></td>" in data.html()
    for ending, begins in ((".docx", b"PK"), (".pdf", b"%PDF-"), (".html", b"<!DOCTYPE"), (".md", b"# Offer")):
        path = tmp_path / f"offer{ending}"
        desk.action("message-export")
        save(desk, path)
        assert path.read_bytes().startswith(begins)
        desk.until(lambda path=path: path.name in desk.find("toast").accessibleName(), "it is said")  # type: ignore[misc]
    shot(desk, "exported")
    desk.click("toast-second")
    desk.click("toast-action")
    assert opened == [str(tmp_path), str(tmp_path / "offer.md")]
    assert "| item | price |" in answer((tmp_path / "offer.docx").read_bytes(), "docx", 1, 1, 1_000)["pages"][0]
    assert "rye" in answer((tmp_path / "offer.pdf").read_bytes(), "pdf", 1, 9, 1_000)["pages"][0]
    assert desk.failures == []


def save(desk: Desk, path: Path) -> None:
    """Answer the file dialog."""
    dialog = desk.until(
        lambda: [each for each in desk.window.findChildren(QFileDialog) if each.isVisible()], "where to"
    )[0]
    assert Path(dialog.selectedFiles()[0]).suffix == ".docx"
    assert dialog.nameFilters()[0] == "Word (*.docx)"
    dialog.fileSelected.emit(str(path))
    dialog.close()
    dialog.deleteLater()
    desk.until(path.is_file, "it is written")
    desk.settle()


def test_a_workflow_is_exported_as_a_document_by_default_and_printed(
    open_desk: OpenDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []
    monkeypatch.setattr(QPrintDialog, "open", lambda dialog: dialog.accepted.emit(dialog.printer()))
    monkeypatch.setattr(QTextDocument, "print_", lambda document, _printer: printed.append(document.toPlainText()))
    desk = open_desk([ANSWER])
    desk.send("Write an offer")
    desk.last_reply("Offer")
    desk.wait_done()
    desk.action("export-workflow")
    save(desk, tmp_path / "all.docx")
    read = answer((tmp_path / "all.docx").read_bytes(), "docx", 1, 1, 10_000)["pages"][0]
    assert "Write an offer" in read
    assert "| rye | 7 |" in read
    desk.action("print-workflow")
    desk.until(lambda: len(printed) == 1, "the whole workflow is printed")
    assert "Write an offer" in printed[0]
    desk.action("message-print")
    desk.until(lambda: len(printed) == 2, "the reply is printed")
    assert "Write an offer" not in printed[1]
    assert "rye" in printed[1]
    assert desk.failures == []
