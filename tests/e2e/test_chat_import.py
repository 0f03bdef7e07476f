"""Chats exported by other programs are imported, shown with their versions, and removed again with one click."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QLabel, QListView

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rows
from tests.engine.services.sample_chat_exports import bread, claude, librechat, open_webui, zipped


def test_exported_chats_are_selected_imported_shown_and_undone(open_app: OpenApp, tmp_path: Path) -> None:
    file = zipped(tmp_path / "export.zip", {"conversations.json": [bread(), claude(), open_webui(), librechat()]})
    app = open_app([])
    app.action("import-workflow")
    dialog = app.until(
        lambda: [each for each in app.window.findChildren(QFileDialog) if each.isVisible()], "which file"
    )[0]
    dialog.filesSelected.emit([str(file)])
    dialog.close()
    chats = app.find("chats-list", QListView)
    app.until(lambda: chats.model().rowCount() == 4, "what is in it is shown")
    assert "4 chats" in app.find("chats-found", QLabel).text()
    if save_picture := os.environ.get("ATELIER_SHOTS"):
        app.window.screen().grabWindow(0).save(f"{save_picture}/choose.png")
    app.click("chats-import")
    app.until(lambda: "4 chats imported" in app.find("busy-text", QLabel).text(), "they are here")
    app.until(lambda: any("Bread" in row for row in listed(app)), "the list has them")
    if save_picture:
        app.window.screen().grabWindow(0).save(f"{save_picture}/done.png")
    app.click("chats-undo")
    app.until(lambda: not any("Bread" in row for row in listed(app)), "they are removed")
    app.click("chats-close")
    app.until_hidden("chat-import")


def listed(app: object) -> list[str]:
    return rows(app.find("workflow-list", QListView)) if app.window.sidebar.list.isVisible() else []  # type: ignore[attr-defined]
