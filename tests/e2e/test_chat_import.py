"""Chats exported by other programs are imported, shown with their versions, and removed again with one click."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QLabel, QListView, QListWidget

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import rows
from tests.engine.services.chat_exports import bread, claude, librechat, open_webui, zipped


def test_an_export_of_chats_is_chosen_from_imported_shown_and_undone(open_desk: OpenDesk, tmp_path: Path) -> None:
    file = zipped(tmp_path / "export.zip", {"conversations.json": [bread(), claude(), open_webui(), librechat()]})
    desk = open_desk([])
    desk.action("import-workflow")
    dialog = desk.until(
        lambda: [each for each in desk.window.findChildren(QFileDialog) if each.isVisible()], "which file"
    )[0]
    dialog.fileSelected.emit(str(file))
    dialog.close()
    chats = desk.find("chats-list", QListWidget)
    desk.until(lambda: chats.count() == 4, "what is in it is shown")
    assert "4 chats" in desk.find("chats-found", QLabel).text()
    if shot := os.environ.get("ATELIER_SHOTS"):
        desk.window.screen().grabWindow(0).save(f"{shot}/choose.png")
    desk.click("chats-import")
    desk.until(lambda: "4 chats imported" in desk.find("busy-text", QLabel).text(), "they are here")
    import sys

    desk.settle()
    print(listed(desk), file=sys.stderr)
    if shot:
        desk.window.screen().grabWindow(0).save(f"{shot}/done.png")
    desk.click("chats-undo")
    desk.until(lambda: not any("Bread" in row for row in listed(desk)), "they are gone")
    desk.click("chats-close")
    desk.gone("chat-import")


def listed(desk: object) -> list[str]:
    return rows(desk.find("workflow-list", QListView)) if desk.window.sidebar.list.isVisible() else []  # type: ignore[attr-defined]
