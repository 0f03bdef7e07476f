"""Importing chats: preview, selection, import and undo."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QStyledItemDelegate, QStyleOptionViewItem, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.sidebar import chat_rows
from atelier_desk.desktop.sidebar.importable_files import ChatsFile
from atelier_desk.desktop.sidebar.workflow_and_chat_import import ChatImportDialog, Importer
from atelier_desk.domain.errors import StorageError, UsageError
from atelier_desk.domain.imported_chat import ChatFilePreview, ChatPreview, ImportedChats
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.workflows import Imported
from tests.helpers.fake_bridge import DelayedResult, FakeAtelier, FakeBridge, settle

DAY = datetime(2025, 3, 1, 12, tzinfo=UTC)
CHATS = (
    ChatPreview("chatgpt:1", "chatgpt", "Bread", 4, DAY, DAY, new_turns=2),
    ChatPreview("chatgpt:2", "chatgpt", "Garden", 1, DAY, DAY, there="g", new_turns=1),
    ChatPreview("claude:3", "claude", "Letter", 2, DAY, DAY, there="l"),
    ChatPreview("claude:4", "claude", "Gone", 2, None, None, there="x", deleted=True, new_turns=0),
)


@pytest.fixture
def atelier() -> FakeAtelier:
    preview = ChatFilePreview(CHATS, {"damaged": 1})
    done = ImportedChats(("w1", "w2"), (), 0, {})
    chats = {"is_workflow": False, "is_export": True, "preview": preview, "import_": done}
    return FakeAtelier(chats=chats, workflows={"delete": Workflow(name="x")})


@pytest.fixture
async def parent(qtbot: QtBot) -> AsyncIterator[QWidget]:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close()


async def opened(atelier: FakeAtelier, parent: QWidget) -> ChatImportDialog:
    bridge = FakeBridge(atelier)
    dialog = ChatImportDialog(bridge, ChatsFile(bridge, Path("/x/export.zip")), parent)
    dialog.open()
    await settle()
    return dialog


def button(dialog: ChatImportDialog, name: str) -> QPushButton:
    found = dialog.findChild(QPushButton, name)
    assert found is not None
    return found


async def test_new_chats_are_preselected_imported_and_undone(atelier: FakeAtelier, parent: QWidget) -> None:
    dialog = await opened(atelier, parent)
    assert "4 chats · 2025-03-01 · 2 already imported" in dialog.found.text()
    assert "1 chat is damaged" in dialog.busy.text.text()
    assert dialog.rows.chosen() == ["chatgpt:1", "chatgpt:2"]
    go, undo = button(dialog, "chats-import"), button(dialog, "chats-undo")
    assert go.text() == "Import 2 chats"
    dialog.filter.setText("bread")
    button(dialog, "chats-none").click()
    assert dialog.rows.chosen() == ["chatgpt:2"], "what the filter hides stays as it is"
    dialog.filter.setText("gone")
    button(dialog, "chats-all").click()
    go.click()
    await settle()
    [(args, _fields)] = atelier.calls("chats.import_")
    assert args[:2] == (Path("/x/export.zip"), ("chatgpt:2", "claude:4"))
    assert dialog.busy.text.text() == "2 chats imported"
    assert not go.isVisible()
    undo.click()
    await settle()
    assert [args for args, _fields in atelier.calls("workflows.delete")] == [("w1",), ("w2",)]
    assert "2 imported chats deleted" in dialog.busy.text.text()
    assert not undo.isVisible()


async def test_enter_on_a_button_presses_it(atelier: FakeAtelier, parent: QWidget, qtbot: QtBot) -> None:
    """Enter on Close imported the chats."""
    dialog = await opened(atelier, parent)
    QTest.keyClick(button(dialog, "chats-none"), Qt.Key.Key_Return)
    assert dialog.rows.chosen() == []
    QTest.keyClick(button(dialog, "chats-all"), Qt.Key.Key_Return)
    assert dialog.rows.chosen()
    with qtbot.waitSignal(dialog.rejected):
        QTest.keyClick(button(dialog, "chats-close"), Qt.Key.Key_Return)
    await settle()
    assert atelier.calls("chats.import_") == []


async def test_all_texts_are_in_french_too(atelier: FakeAtelier, parent: QWidget) -> None:
    dialog = await opened(atelier, parent)
    switch_language("fr")
    try:
        await settle()
        assert button(dialog, "chats-import").text() == "Importer 2 discussions"
        assert "01/03/2025" in str(dialog.rows.index(0).data())
        assert dialog.rows.chosen() == ["chatgpt:1", "chatgpt:2"], "a language changes no choice"
    finally:
        switch_language("en")


async def test_stop_and_closing_end_the_import(atelier: FakeAtelier, parent: QWidget) -> None:
    delayed = DelayedResult(ImportedChats())
    atelier.set("chats", "import_", delayed)
    dialog = await opened(atelier, parent)
    button(dialog, "chats-import").click()
    await settle()
    assert dialog.busy.running
    assert not button(dialog, "chats-import").isEnabled(), "a running import is not started again"
    rest = (replace(CHATS[0], there="b", new_turns=0), *CHATS[1:])
    atelier.set("chats", "preview", ChatFilePreview(rest, {}))
    dialog.busy.stop.click()
    await settle(20)
    assert not dialog.busy.running
    assert dialog.busy.text.text() == "Stopped. 1 chat was imported; import again to add only the rest."
    assert dialog.rows.chosen() == ["chatgpt:2"], "it can be begun again, and adds what is missing"
    assert button(dialog, "chats-import").isEnabled()
    button(dialog, "chats-import").click()
    await settle()
    dialog.busy.stop.click()
    await settle(20)
    assert dialog.busy.text.text() == "Stopped. Nothing was imported."
    button(dialog, "chats-import").click()
    await settle()
    read = len(atelier.calls("chats.preview"))
    dialog.reject()
    await settle(20)
    assert len(atelier.calls("chats.preview")) == read, "a closed dialog reads no file"


async def test_an_unreadable_file_shows_the_reason(atelier: FakeAtelier, parent: QWidget) -> None:
    async def refuse(*_args: object) -> None:
        raise UsageError("export.zip cannot be read: cut. Export it again.")

    atelier.set("chats", "preview", refuse)
    dialog = await opened(atelier, parent)
    assert "cannot be read" in dialog.busy.text.text()
    assert not button(dialog, "chats-import").isEnabled()


def workflow_preview(text: str) -> ChatPreview:
    """What a file with this name in it holds; "broken" cannot be read."""
    if text == "broken":
        raise UsageError("It is no workflow.")
    return ChatPreview(f"id of {text}", "", text, 6, DAY, DAY, there="h" if text == "Herons" else "", new_turns=3)


@pytest.fixture
def exports() -> FakeAtelier:
    async def preview(text: str) -> ChatPreview:
        found = workflow_preview(text)
        return replace(found, new_turns=0) if found.there else found

    async def is_export(path: Path) -> bool:
        return path.suffix == ".json"

    async def import_(text: str) -> Imported:
        return Imported(Workflow(id=f"new {text}", name=text), "created")

    return FakeAtelier(
        chats={"is_workflow": True, "is_export": is_export},
        workflows={"preview": preview, "import_": import_, "delete": Workflow(name="x")},
    )


async def dropped(
    atelier: FakeAtelier, parent: QWidget, folder: Path, *names: str
) -> tuple[ChatImportDialog, list[str]]:
    """The dialog after files with these contents were dropped, and what it opened."""
    importer = Importer(FakeBridge(atelier), parent)
    shown: list[str] = []
    importer.imported.connect(shown.append)
    files = [folder / f"{name}.json" for name in names]
    for file in files:
        file.write_text(file.stem)
    assert await importer.import_dropped([*map(str, files), "/x/letter.txt"]) == ["/x/letter.txt"]
    async with asyncio.timeout(10):
        while not (dialogs := parent.findChildren(ChatImportDialog)) or dialogs[0].busy.running:
            await settle()
    [dialog] = dialogs
    return dialog, shown


async def test_a_workflow_is_previewed_imported_and_undone(
    exports: FakeAtelier, parent: QWidget, tmp_path: Path
) -> None:
    dialog, shown = await dropped(exports, parent, tmp_path, "Frogs")
    assert dialog.windowTitle() == "Import workflows"
    assert dialog.found.text() == "Frogs.json · 1 workflow · 2025-03-01"
    assert dialog.rows.index(0).data() == "Frogs  ·  6 messages  ·  2025-03-01  ·  not imported yet"
    assert exports.calls("workflows.import_") == [], "nothing is stored before it is confirmed"
    assert button(dialog, "chats-import").text() == "Import 1 workflow"
    button(dialog, "chats-import").click()
    async with asyncio.timeout(10):
        while dialog.busy.running or not shown:
            await settle()
    assert shown == ["new Frogs"]
    assert dialog.busy.text.text() == "1 workflow imported"
    button(dialog, "chats-undo").click()
    await settle()
    assert [args for args, _fields in exports.calls("workflows.delete")] == [("new Frogs",)]
    assert dialog.busy.text.text() == "1 imported workflow deleted"


async def test_exported_workflows_are_selected_in_one_dialog_without_those_that_exist(
    exports: FakeAtelier, parent: QWidget, tmp_path: Path
) -> None:
    dialog, _shown = await dropped(exports, parent, tmp_path, "Frogs", "Herons", "broken", "Newts")
    assert dialog.found.text() == "4 files · 3 workflows · 2025-03-01 · 1 already exists"
    assert "already exists, imported as a copy" in dialog.rows.index(1).data()
    assert "1 file cannot be read and was left out." in dialog.busy.text.text()
    assert [Path(each).stem for each in dialog.rows.chosen()] == ["Frogs", "Newts"]
    dialog.rows.setData(dialog.rows.index(1), Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    assert button(dialog, "chats-import").text() == "Import 3 workflows", "a copy can be wanted"


async def test_a_full_disk_is_no_damaged_file(exports: FakeAtelier, parent: QWidget, tmp_path: Path) -> None:
    async def full(_text: str) -> Imported:
        raise StorageError("The disk is full.")

    exports.set("workflows", "import_", full)
    dialog, _shown = await dropped(exports, parent, tmp_path, "Frogs", "Newts")
    button(dialog, "chats-import").click()
    async with asyncio.timeout(10):
        while dialog.busy.running:
            await settle()
    assert "The disk is full." in dialog.busy.text.text()


async def test_a_long_title_hides_no_state_and_the_list_does_not_scroll_sideways(
    atelier: FakeAtelier, parent: QWidget
) -> None:
    chat = replace(CHATS[0], source="", title="How the herons of the northern lake nest " * 6, there="h")
    atelier.set("chats", "preview", ChatFilePreview((chat, CHATS[1]), {}))
    dialog = await opened(atelier, parent)
    view, option = dialog.list, QStyleOptionViewItem()
    view.initViewItemOption(option)
    assert view.horizontalScrollBar().maximum() == 0
    option.rect = view.visualRect(dialog.rows.index(0))
    assert option.rect.width() <= view.viewport().width()
    rows = view.itemDelegate()
    assert isinstance(rows, QStyledItemDelegate)
    rows.initStyleOption(option, dialog.rows.index(0))
    assert option.text.startswith("How the herons")
    assert option.text.endswith("already exists, imported as a copy")
    assert option.fontMetrics.horizontalAdvance(option.text) < option.rect.width()
    assert "herons" in dialog.rows.index(0).data(Qt.ItemDataRole.ToolTipRole)


async def test_a_damaged_workflow_file_shows_the_reason(exports: FakeAtelier, parent: QWidget, tmp_path: Path) -> None:
    dialog, _shown = await dropped(exports, parent, tmp_path, "broken")
    assert "It is no workflow." in dialog.busy.text.text()
    assert not button(dialog, "chats-import").isEnabled()


async def test_several_exports_dropped_at_once_are_shown_one_after_another(
    atelier: FakeAtelier, parent: QWidget
) -> None:
    importer = Importer(FakeBridge(atelier), parent)

    def in_view() -> list[str]:
        dialogs = parent.findChildren(ChatImportDialog)
        return [each.found.text().split(" ")[0] for each in dialogs if each.isVisible()]

    names = ["/x/a.zip", "/x/b.zip", "/x/a.zip", "/x/c.zip"]
    assert await importer.import_dropped(names) == []
    for name in ("a.zip", "b.zip", "c.zip"):
        await settle()
        assert in_view() == [name]
        next(each for each in parent.findChildren(ChatImportDialog) if each.isVisible()).reject()
    await settle()
    assert in_view() == []
    importer.import_files([Path("/x/a.zip")])
    await settle()
    assert in_view() == ["a.zip"]


async def test_ten_thousand_chats_are_shown_and_selected_without_creating_their_texts(
    atelier: FakeAtelier, parent: QWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window did not answer for seconds when it showed the chats of years, and for a moment after each click."""
    text = Mock(wraps=chat_rows._text)
    monkeypatch.setattr(chat_rows, "_text", text)
    chats = tuple(ChatPreview(f"chatgpt:{n}", "chatgpt", f"Chat {n}", 4, DAY, DAY, new_turns=1) for n in range(10_000))
    atelier.set("chats", "preview", ChatFilePreview(chats, {}))
    dialog = await opened(atelier, parent)
    assert button(dialog, "chats-import").text() == "Import 10,000 chats"
    dialog.list.setCurrentIndex(dialog.rows.index(1))
    QTest.keyClick(dialog.list, Qt.Key.Key_Space)
    assert button(dialog, "chats-import").text() == "Import 9,999 chats"
    assert "chatgpt:1" not in dialog.rows.chosen()
    dialog.filter.setText("chat 99")
    assert dialog.rows.rowCount() == 111
    button(dialog, "chats-none").click()
    assert len(dialog.rows.chosen()) == 9_999 - 111
    assert len({call.args[0].key for call in text.call_args_list}) < 200
