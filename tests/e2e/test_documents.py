"""Office documents are attached, and replies are exported to be opened in other programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtWidgets import QComboBox, QFileDialog, QLineEdit, QPushButton, QWidget

from atelier_desk.domain.document_formats import COMPOUND
from atelier_desk.workspace.documents.extraction_process import answer
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.helpers.child_widgets import child
from tests.helpers.sample_documents import sheets, word


def save_picture(app: AppDriver, name: str) -> None:
    """Save a picture of the window if a folder for it is set."""
    if folder := os.environ.get("ATELIER_SHOTS"):
        app.settle()
        app.window.grab().save(str(Path(folder) / f"{name}.png"))


def test_documents_are_sent_as_text_and_a_refused_one_stops_the_message(open_app: OpenApp, tmp_path: Path) -> None:
    (tmp_path / "letter.docx").write_bytes(word("A letter of Ada"))
    (tmp_path / "sales.xlsx").write_bytes(sheets())
    (tmp_path / "locked.xlsx").write_bytes(COMPOUND + "EncryptedPackage".encode("utf-16-le"))
    app = open_app(["Read."])
    row = app.window.chat.composer.attachments
    app.window.chat.composer.attach_files(
        [str(tmp_path / name) for name in ("letter.docx", "sales.xlsx", "locked.xlsx")]
    )
    app.until(lambda: len(row.ready) == 2 and any(item.problem for item in row.items), "two are read, one is refused")
    refused = next(chip for chip in app.find_all("attachment", QWidget) if "has a password" in chip.accessibleName())
    save_picture(app, "refused")
    field = app.window.chat.composer.field
    app.type(field, "Sum up")
    app.press(field, Qt.Key.Key_Return)
    assert not app.find("send-button").isEnabled()
    assert field.toPlainText() == "Sum up"
    app.press(refused, Qt.Key.Key_Delete)
    app.press(field, Qt.Key.Key_Return)
    app.until_reply("Read.")
    app.wait_done()
    assert app.model is not None
    content = app.model.requests[0].messages[-1].content
    assert "A letter of Ada, voir [ici](https://a.example/)" in content
    assert "## Sheet: Ventes\n\n| Mois | Total |" in content
    save_picture(app, "sent")
    assert app.failures == []


ANSWER = "# Offer\n\n| item | price |\n|---|---|\n| **rye** | 7 |\n"


def test_a_reply_is_copied_and_exported_with_its_table(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def opens(url: QUrl) -> bool:
        opened.append(url.toLocalFile())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", opens)
    app = open_app([ANSWER])
    app.send("Write an offer")
    app.until_reply("Offer")
    app.wait_done()
    app.settle()
    app.click(app.find_all("copy-message")[-1])
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == ANSWER
    assert "<td><strong>rye</strong></td>" in data.html()
    for ending, begins in ((".docx", b"PK"), (".pdf", b"%PDF-"), (".html", b"<!DOCTYPE"), (".md", b"# Offer")):
        path = tmp_path / f"offer{ending}"
        app.action("message-export")
        save(app, path)
        assert path.read_bytes().startswith(begins)
        app.until(lambda path=path: path.name in app.find("toast").accessibleName(), "it is reported")  # type: ignore[misc]
    save_picture(app, "exported")
    app.click("toast-second")
    app.click("toast-action")
    assert opened == [str(tmp_path), str(tmp_path / "offer.md")]
    assert "| item | price |" in answer((tmp_path / "offer.docx").read_bytes(), "docx", 1, 1, 1_000)["pages"][0]
    assert "rye" in answer((tmp_path / "offer.pdf").read_bytes(), "pdf", 1, 9, 1_000)["pages"][0]
    assert app.failures == []


def save(app: AppDriver, path: Path) -> None:
    """Answer the file dialog."""
    dialog = app.until(lambda: [each for each in app.window.findChildren(QFileDialog) if each.isVisible()], "where to")[
        0
    ]
    assert Path(dialog.selectedFiles()[0]).suffix == ".docx"
    assert dialog.nameFilters()[0] == "Word (*.docx)"
    dialog.fileSelected.emit(str(path))
    dialog.close()
    dialog.deleteLater()
    app.until(path.is_file, "it is written")
    app.settle()


def print_to(app: AppDriver, path: Path, suggested: str) -> str:
    """Answer the print dialog, as on a machine without a printer; returns the text of the printed file."""
    dialog = app.until(
        lambda: [each for each in app.window.findChildren(QPrintDialog) if each.isVisible()], "the print dialog"
    )[0]
    printers = child(dialog, QComboBox, "printers")
    printers.setCurrentIndex(printers.findText("PDF", Qt.MatchFlag.MatchContains))
    target = child(dialog, QLineEdit, "filename")
    assert Path(target.text()) == Path.home() / suggested
    target.setText(str(path))
    app.click(next(each for each in dialog.findChildren(QPushButton) if each.text().endswith("Print")))
    app.until(lambda: path.name in app.find("toast").accessibleName(), "it is said where the file is")
    return PdfReader(path).pages[0].extract_text()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a print dialog of their own")
def test_a_workflow_is_exported_as_a_document_by_default_and_printed(open_app: OpenApp, tmp_path: Path) -> None:
    """A slash in a name was a folder that does not exist, a dot its end, and nothing said where the file is."""
    app = open_app([ANSWER])
    app.send("Write a bid 1/2, version 2.5")
    app.until_reply("Offer")
    app.wait_done()
    app.action("export-workflow")
    save(app, tmp_path / "all.docx")
    read = answer((tmp_path / "all.docx").read_bytes(), "docx", 1, 1, 10_000)["pages"][0]
    assert "Write a bid 1/2" in read
    assert "| rye | 7 |" in read
    app.action("print-workflow")
    printed = print_to(app, tmp_path / "workflow.pdf", "Write a bid 1 2 version 2 5.pdf")
    assert "Write a bid 1/2" in printed
    app.action("message-print")
    printed = print_to(app, tmp_path / "reply.pdf", "Write a bid 1 2 version 2 5.pdf")
    assert "Write a bid" not in printed
    assert "rye" in printed
    assert app.failures == []
