"""The files pane: granting a folder, changes as diffs, undo, and what somebody else changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.domain.change import Change
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.parts import FileChange
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.files import UndoneChange
from tests.support.fake_bridge import FakeAtelier, FakeBridge, settle

Show = Callable[[QWidget], Any]
WHEN = datetime(2026, 11, 22, tzinfo=UTC)


def change(id: str, path: str, **facts: Any) -> Change:
    return Change(
        **{"id": id, "workflow_id": "w", "at": WHEN, "action": "changed", "root": "/p", "path": path, "agent_name": "Ada", **facts}
    )


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> FilesPane:
    atelier.set("workflows", "get", Workflow(id="w", name="W", workspace=("/p",)))
    moved = change("3", "old.txt", action="moved", moved_to="new.txt", undone_by="4")
    atelier.set("files", "list", [moved, change("2", "src/b.py", action="created"), change("1", "a.py")])
    diff = FileChange(action="changed", path="a.py", diff="--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2", added=1, removed=1)
    atelier.set("files", "diff", diff)
    atelier.set("files", "undo", lambda w, ids, force=False: [UndoneChange(change(id, "a.py")) for id in ids])
    made = shown(FilesPane(bridge))  # type: ignore[arg-type]
    made.set_workflow("w")
    await settle()
    return made


def button(pane: QWidget, name: str) -> QPushButton:
    found = pane.findChild(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


async def test_changes_are_listed_with_what_and_who(pane: FilesPane) -> None:
    assert pane.heading.text() == "FILES · 2"
    texts = [pane.list.item(row).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(pane.list.count())]
    assert texts[0].startswith("old.txt → new.txt, moved · Ada")
    assert texts[0].endswith("undone")
    assert texts[2].startswith("a.py, edited · Ada")


async def test_a_change_opens_as_a_diff_and_is_undone(pane: FilesPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    pane.list.setCurrentRow(2)
    pane.list.setFocus()
    qtbot.keyClick(pane.list, Qt.Key.Key_Return)
    await settle()
    assert pane.diff.isVisible()
    assert "+x = 2" in pane.diff.code
    qtbot.mouseClick(button(pane, "file-undo"), Qt.MouseButton.LeftButton)
    await settle()
    assert atelier.calls("files.undo") == [(("w", ("1",)), {"force": False})]
    pane.close_change()
    assert pane.list.isVisible()


async def test_undo_of_all_leaves_out_what_is_undone(pane: FilesPane, atelier: FakeAtelier) -> None:
    pane.undo_all()
    await settle()
    assert atelier.calls("files.undo") == [(("w", ("2", "1")), {"force": False})]


async def test_what_somebody_else_changed_is_said_and_both_are_offered(pane: FilesPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    problem = ConflictError("{path} was changed by somebody else since: undoing would lose that.", path="a.py")
    atelier.set("files", "undo", lambda w, ids, force=False: [UndoneChange(change(id, "a.py"), None if force else problem) for id in ids])
    pane.open("1")
    await settle()
    assert not button(pane, "files-undo-anyway").isVisible()
    pane.undo_open()
    await settle()
    assert "changed by somebody else" in pane._problem.text()
    assert pane._problem.isVisible()
    qtbot.mouseClick(button(pane, "files-undo-anyway"), Qt.MouseButton.LeftButton)
    await settle()
    assert atelier.calls("files.undo")[-1] == (("w", ("1",)), {"force": True})
    assert not pane._problem.isVisible()


async def test_folders_stand_above_with_their_trust_and_can_be_taken_back(pane: FilesPane, atelier: FakeAtelier, qtbot: QtBot) -> None:
    atelier.set("workflows", "set_workspace", lambda w, folders: Workflow(id="w", name="W", workspace=folders))
    assert button(pane, "folder-trust").text() == "Not trusted"
    qtbot.mouseClick(pane.findChild(QWidget, "files-ungrant"), Qt.MouseButton.LeftButton)
    await settle()
    assert atelier.calls("workflows.set_workspace") == [(("w", ()), {})]


async def test_without_a_folder_it_offers_to_grant_one(pane: FilesPane, atelier: FakeAtelier) -> None:
    atelier.set("workflows", "get", Workflow(id="v", name="V"))
    atelier.set("files", "list", [])
    pane.set_workflow("v")
    await settle()
    assert pane.empty.isVisible()
    assert button(pane, "files-grant-first").isVisible()
    assert not pane._undo_all.isEnabled()
