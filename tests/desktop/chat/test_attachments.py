"""Attachments: added to the composer, preserved over a restart, sent, shown in the transcript, enlarged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMenu, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.attachment_preview import Preview
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.document_formats import COMPOUND
from atelier_desk.domain.limits import ATTACHED_FILE
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, open_atelier
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeBridge
from tests.helpers.list_texts import titles
from tests.helpers.sample_documents import word
from tests.helpers.sample_images import png

__all__ = ["open_atelier"]


ROOMS: list[Room] = []


@pytest.fixture(autouse=True)
def _left() -> Iterator[None]:
    """Stops timers of a panel that would fire after the test's loop has ended."""
    yield
    while ROOMS:
        ROOMS.pop().bridge.ready = False


class Room:
    """A panel over a real engine."""

    def __init__(self, qtbot: QtBot, engine: Atelier) -> None:
        self.qtbot, self.engine = qtbot, engine
        self.bridge = FakeBridge(engine)
        engine.bus.subscribe(self.bridge.stream_event.emit)
        self.panel = ChatPanel(self.bridge)
        qtbot.addWidget(self.panel)
        self.panel.resize(900, 800)
        self.panel.show()
        ROOMS.append(self)

    async def until(self, condition: Callable[[], Any], what: str = "") -> Any:
        for _ in range(4000):
            if found := condition():
                return found
            QCoreApplication.processEvents()
            await asyncio.sleep(0.002)
        raise AssertionError(f"it never came true: {what}; {self.bridge.errors}")

    async def open(self, workflow_id: str) -> None:
        await self.panel.choices.load()
        self.panel.open_workflow(workflow_id)
        await self.until(
            lambda: self.panel.pages.current is not None and self.panel.sending.workflow_id == workflow_id, "it is read"
        )

    def drop(self, *paths: Path) -> None:
        mime = QMimeData()
        mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        event = QDropEvent(
            QPointF(5, 5), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )
        self.panel.composer.dropEvent(event)

    async def attached(self, *names: str) -> None:
        row = self.panel.composer.attachments
        await self.until(
            lambda: [item.name for item in row.items] == list(names) and not row.unready, f"{names} are there"
        )

    @property
    def note(self) -> str:
        label = child(self.panel.composer, QLabel, "attachment-note")
        return "" if label.isHidden() else label.text()

    def chips(self) -> list[QPushButton]:
        found = self.panel.view.findChildren(QPushButton, "attached-file")
        return [chip for chip in found if chip.isVisibleTo(self.panel.view)]


@pytest.fixture
async def engine(open_atelier: Opener) -> AsyncIterator[Atelier]:
    async with open_atelier(ScriptedModel(["I see."])) as atelier:
        yield atelier


async def test_files_are_dropped_saved_in_the_draft_sent_and_enlarged(
    qtbot: QtBot, open_atelier: Opener, tmp_path: Path
) -> None:
    (tmp_path / "dot.png").write_bytes(png(40, 30))
    (tmp_path / "notes.txt").write_text("The sea is blue.", "utf-8")
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04\x00\x00")
    async with open_atelier() as atelier:
        workflow = await atelier.workflows.create()
        room = Room(qtbot, atelier)
        await room.open(workflow.id)
        room.drop(tmp_path / "dot.png", tmp_path / "notes.txt", tmp_path / "a.zip", tmp_path / "gone.txt")
        row = room.panel.composer.attachments
        await room.until(
            lambda: sum(bool(item.problem) for item in row.items) == 2 and len(row.ready) == 2, "two are refused"
        )
        for chip in row.chips[2:]:
            assert "a.zip cannot be attached" in chip.toolTip() or "gone.txt cannot be read" in chip.toolTip()
            assert chip.toolTip() in room.note
            QTest.mouseClick(chip.remove, Qt.MouseButton.LeftButton)
        await room.attached("dot.png", "notes.txt")
        assert "attached, then" not in room.note
        room.drop(tmp_path / "dot.png")
        await room.until(lambda: any("dot.png is already attached" in error for error in room.bridge.errors))
        await room.attached("dot.png", "notes.txt")
        room.panel.sending.save_draft()
        await room.bridge.jobs.settled()
    (tmp_path / "notes.txt").unlink()
    model = ScriptedModel(["I see."])
    async with open_atelier(model) as atelier:
        room = Room(qtbot, atelier)
        await room.open(workflow.id)
        await room.attached("dot.png", "notes.txt")
        assert room.panel.composer.attachments.items[0].thumbnail is not None
        room.panel.composer.field.setPlainText("Look")
        QTest.mouseClick(room.panel.composer.send, Qt.MouseButton.LeftButton)
        await room.until(lambda: "I see." in [entry.content for entry in room.panel.view.entries], "an answer")
        await room.until(lambda: len(room.chips()) == 2 and not room.panel.view.entries[0].pending)
        assert [image.name for image in model.requests[0].messages[-1].images] == ["dot.png"]
        assert "The sea is blue." in model.requests[0].messages[-1].content
        await room.bridge.jobs.settled()
        assert (await atelier.workflows.get(workflow.id)).draft_attachments == ()
        room.chips()[1].click()
        shown = await room.until(lambda: room.panel.window().findChildren(Preview), "the text is shown")
        assert shown[0].findChild(QPlainTextEdit, "preview-text").toPlainText() == "The sea is blue."
        shown[0].close()
        again = Room(qtbot, atelier)
        await again.open(workflow.id)
        await again.until(lambda: len(again.chips()) == 2, "the same after a reload")
        assert [chip.accessibleName() for chip in again.chips()] == [chip.accessibleName() for chip in room.chips()]
        again.chips()[0].click()
        shown = await again.until(lambda: again.panel.window().findChildren(Preview), "the picture is shown")
        assert shown[0].findChild(QLabel, "preview-picture").pixmap().width() == 40
        await again.bridge.jobs.settled()


async def test_nothing_is_sent_until_a_refused_document_is_removed(
    qtbot: QtBot, open_atelier: Opener, tmp_path: Path
) -> None:
    (tmp_path / "letter.docx").write_bytes(word("A letter of Ada"))
    (tmp_path / "locked.xlsx").write_bytes(COMPOUND + "EncryptedPackage".encode("utf-16-le"))
    model = ScriptedModel(["I see."])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create()
        room = Room(qtbot, atelier)
        await room.open(workflow.id)
        composer = room.panel.composer
        room.drop(tmp_path / "letter.docx", tmp_path / "locked.xlsx")
        await room.until(
            lambda: any(item.problem for item in composer.attachments.items) and len(composer.attachments.ready) == 1
        )
        refused = composer.attachments.chips[1]
        assert "locked.xlsx has a password" in refused.accessibleName()
        assert room.note.startswith("locked.xlsx has a password")
        composer.field.setPlainText("Look")
        assert not composer.send.isEnabled()
        QTest.keyClick(composer.field, Qt.Key.Key_Return)
        await room.bridge.jobs.settled()
        assert (composer.field.toPlainText(), len(composer.attachments.items), model.requests) == ("Look", 2, [])
        QTest.keyClick(refused, Qt.Key.Key_Delete)
        assert (composer.send.isEnabled(), room.note) == (True, "")
        QTest.keyClick(composer.field, Qt.Key.Key_Return)
        await room.until(lambda: "I see." in [entry.content for entry in room.panel.view.entries], "an answer")
        assert "A letter of Ada, voir [ici](https://a.example/)" in model.requests[0].messages[-1].content
        await room.bridge.jobs.settled()


async def test_a_picture_in_a_user_message_has_the_menu_of_a_picture(
    qtbot: QtBot, engine: Atelier, tmp_path: Path
) -> None:
    workflow = await engine.workflows.create()
    (tmp_path / "dot.png").write_bytes(png(40, 40))
    (tmp_path / "notes.txt").write_text("The sea is blue.")
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    room.drop(tmp_path / "dot.png", tmp_path / "notes.txt")
    await room.attached("dot.png", "notes.txt")
    room.panel.composer.field.setPlainText("Look")
    QTest.mouseClick(room.panel.composer.send, Qt.MouseButton.LeftButton)
    await room.until(lambda: len(room.chips()) == 2 and not room.panel.view.entries[0].pending)

    def right_click(chip: QWidget) -> QMenu:
        center = chip.rect().center()
        QApplication.sendEvent(
            chip, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, center, chip.mapToGlobal(center))
        )
        (menu,) = (each for each in room.panel.window().findChildren(QMenu) if each.isVisible())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        menu.close()
        return menu

    picture, text = room.chips()
    menu = right_click(picture)
    assert menu.objectName() == "picture-menu"
    large, save, copy = menu.actions()
    QApplication.clipboard().clear()
    copy.trigger()
    await room.until(lambda: QApplication.clipboard().image().size() == QSize(40, 40), "it is in the clipboard")
    large.trigger()
    shown = await room.until(lambda: room.panel.window().findChildren(Preview), "the picture is shown")
    assert shown[0].findChild(QLabel, "preview-picture").pixmap().width() == 40
    shown[0].close()
    save.trigger()
    (asked,) = (each for each in room.panel.window().findChildren(QFileDialog) if each.isVisible())
    asked.fileSelected.emit(str(tmp_path / "saved.png"))
    asked.close()
    saved, dot = tmp_path / "saved.png", (tmp_path / "dot.png").read_bytes()
    await room.until(lambda: saved.is_file() and saved.read_bytes() == dot, "it is saved completely")
    assert right_click(text).objectName() == "message-menu"
    await room.bridge.jobs.settled()


async def test_a_removed_attachment_is_deleted_from_draft_and_disk(
    qtbot: QtBot, engine: Atelier, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("The sea is blue.", "utf-8")
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    room.drop(tmp_path / "notes.txt")
    await room.attached("notes.txt")
    room.panel.sending.save_draft()
    await room.bridge.jobs.settled()
    assert (await engine.data.attachments())[0] == 1
    room.panel.composer.attachments.chips[0].remove.click()
    await room.bridge.jobs.settled()
    assert (await engine.workflows.get(workflow.id)).draft_attachments == ()
    assert (await engine.data.attachments())[0] == 0


async def test_a_chip_is_reached_and_removed_by_keyboard(qtbot: QtBot, engine: Atelier, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name, "utf-8")
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    room.drop(tmp_path / "a.txt")
    await room.attached("a.txt")
    room.drop(tmp_path / "b.txt")
    await room.attached("a.txt", "b.txt")
    composer = room.panel.composer
    room.panel.activateWindow()
    composer.field.setFocus()
    await room.until(composer.field.hasFocus)
    first, second = composer.attachments.chips
    QTest.keyClick(composer.field, Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert second.hasFocus()
    QTest.keyClick(second, Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert first.hasFocus()
    QTest.keyClick(first, Qt.Key.Key_Delete)
    await room.attached("b.txt")
    assert second.hasFocus()
    QTest.keyClick(second, Qt.Key.Key_Tab)
    assert composer.field.hasFocus()
    await room.bridge.jobs.settled()


async def test_the_keyboard_is_in_the_field_after_an_attachment_was_removed_by_mouse(
    qtbot: QtBot, engine: Atelier, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a", "utf-8")
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    composer = room.panel.composer
    room.drop(tmp_path / "a.txt", tmp_path / "gone.txt")
    await room.until(lambda: any(item.problem for item in composer.attachments.items) and composer.attachments.ready)
    room.panel.activateWindow()
    refused = next(chip for chip in composer.attachments.chips if chip.item.problem)
    composer.field.setFocus()
    await room.until(composer.field.hasFocus)
    QTest.mouseClick(refused.remove, Qt.MouseButton.LeftButton)
    await room.attached("a.txt")
    assert composer.field.hasFocus(), "Enter sends, and does not enlarge the other one"


async def test_pictures_and_long_texts_of_the_clipboard_are_attached(qtbot: QtBot, engine: Atelier) -> None:
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    image = QImage(300, 300, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.blue)
    for content in (image, "word " * 5_000):
        mime = QMimeData()
        if isinstance(content, str):
            mime.setText(content)
        else:
            mime.setImageData(content)
        room.panel.composer.field.insertFromMimeData(mime)
        await room.until(lambda: not room.panel.composer.attachments.unready)
    await room.attached("Image.jpg", "Pasted text.txt")
    assert room.panel.composer.field.toPlainText() == ""
    mime = QMimeData()
    mime.setText("x" * (ATTACHED_FILE + 1))
    room.panel.composer.field.insertFromMimeData(mime)
    await room.until(lambda: "too large to attach" in room.note, "it is refused")
    room.panel.composer.attachments.chips[-1].removed.emit()
    await room.attached("Image.jpg", "Pasted text.txt")
    room.panel.composer.files_given.emit([f"/nowhere/{number}" for number in range(30)])
    await room.until(lambda: any("at most 20 attachments" in error for error in room.bridge.errors))
    row = room.panel.composer.attachments
    await room.until(lambda: sum(bool(item.problem) for item in row.items) == 18)
    assert [item.name for item in row.items][:2] == ["Image.jpg", "Pasted text.txt"]
    await room.bridge.jobs.settled()


async def test_a_mentioned_file_is_found_by_name_and_attached(
    qtbot: QtBot, open_atelier: Opener, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "seascape.md").write_text("Blue waves.", "utf-8")
    (folder / ".env").write_text("KEY=1", "utf-8")
    model = ScriptedModel(["I see."])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create(workspace=(str(folder),))
        await atelier.memories.add("Seagulls are white.")
        await atelier.tasks.create(workflow.id, "Paint the sea")
        await atelier.reports.write(workflow.id, "sea-report", "Deep.")
        await atelier.agents.save(AgentConfig(name="Seafarer", provider="p", model="m", system_prompt="You sail."))
        room = Room(qtbot, atelier)
        await room.open(workflow.id)
        field = room.panel.composer.field
        room.panel.activateWindow()
        field.setFocus()
        await room.until(field.hasFocus)
        QTest.keyClicks(field, "Write to a@b.example about @sea")
        popup = await room.until(lambda: room.panel.sending.attaching.popup, "the popup is made")
        await room.until(popup.isVisible, "it is shown")
        assert titles(popup.list) == ["seascape.md", "Paint the sea", "sea-report", "Seagulls are white.", "Seafarer"]
        QTest.keyClick(field, Qt.Key.Key_Down)
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert not popup.isVisible()
        await room.attached("Paint the sea")
        assert field.toPlainText() == "Write to a@b.example about @Paint the sea "
        QTest.keyClicks(field, "@seasc")
        await room.until(popup.isVisible)
        QTest.keyClick(field, Qt.Key.Key_Tab)
        await room.attached("Paint the sea", "seascape.md")
        QTest.keyClicks(field, "@.env")
        await room.bridge.jobs.settled()
        assert not popup.isVisible()
        QTest.keyClick(field, Qt.Key.Key_Return)
        await room.until(lambda: model.requests, "it is sent")
        asked = model.requests[0].messages[-1].content
        assert '<mentioned_task name="Paint the sea">' in asked
        assert '<attached_file name="seascape.md" path="seascape.md">\nBlue waves.' in asked
        await room.until(lambda: "I see." in [entry.content for entry in room.panel.view.entries])
        await room.bridge.jobs.settled()


async def test_a_folder_is_attached_by_button_and_by_name(qtbot: QtBot, open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "poems" / "keys").mkdir(parents=True)
    (folder / "poems" / "sea.md").write_text("Blue waves.", "utf-8")
    (folder / "poems.txt").write_text("no folder", "utf-8")
    (folder / "poems" / "keys" / "server.pem").write_text("KEY=1", "utf-8")
    model = ScriptedModel(["I see."])
    async with open_atelier(model) as atelier:
        workflow = await atelier.workflows.create(workspace=(str(folder),))
        room = Room(qtbot, atelier)
        await room.open(workflow.id)
        composer = room.panel.composer
        composer.attach.click()
        menu = child(composer, QMenu, "attach-menu")
        assert [each.text() for each in menu.actions()] == ["Files…", "Folder…"]
        menu.actions()[1].trigger()
        dialog = child(composer, QFileDialog)
        dialog.fileSelected.emit(str(folder / "poems" / "keys"))
        dialog.close()
        menu.close()
        await room.attached("keys")
        assert "Files left out of keys because they look like secrets: server.pem" in room.note
        composer.attachments.chips[0].remove.click()
        field = composer.field
        room.panel.activateWindow()
        field.setFocus()
        await room.until(field.hasFocus)
        QTest.keyClicks(field, "@poems/")
        popup = await room.until(lambda: room.panel.sending.attaching.popup, "the popup is made")
        await room.until(popup.isVisible, "it is shown")
        assert titles(popup.list) == ["poems", "keys"]
        QTest.keyClick(field, Qt.Key.Key_Return)
        await room.attached("poems")
        assert composer.attachments.items[0].facts().startswith("Folder · ")
        QTest.keyClick(field, Qt.Key.Key_Return)
        await room.until(lambda: model.requests, "it is sent")
        asked = model.requests[0].messages[-1].content
        assert '<attached_folder name="poems" path="poems">\nkeys/server.pem (5 bytes)\nsea.md (11 bytes)' in asked
        assert "--- sea.md ---\nBlue waves." in asked
        assert "KEY=1" not in asked
        await room.until(lambda: "I see." in [entry.content for entry in room.panel.view.entries])
        await room.bridge.jobs.settled()


async def test_escape_closes_the_list_and_leaves_the_message_unchanged(qtbot: QtBot, engine: Atelier) -> None:
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    field = room.panel.composer.field
    room.panel.activateWindow()
    field.setFocus()
    await room.until(field.hasFocus)
    QTest.keyClicks(field, "@")
    popup = await room.until(lambda: room.panel.sending.attaching.popup)
    await room.until(popup.isVisible)
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not popup.isVisible()
    assert field.toPlainText() == "@"
    await room.bridge.jobs.settled()


async def test_warnings_about_secrets_long_texts_and_unsupported_images_come_before_sending(
    qtbot: QtBot, engine: Atelier, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("KEY=1", "utf-8")
    (tmp_path / "dot.png").write_bytes(png())
    (tmp_path / "long.txt").write_text("x" * 300_000, "utf-8")
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    room.drop(tmp_path / ".env")
    await room.attached(".env")
    assert ".env may contain secrets" in room.note
    room.panel.composer.attachments.chips[0].remove.click()
    assert room.note == ""
    choices = room.panel.choices
    await room.until(lambda: choices.model[1])
    await room.bridge.jobs.settled()  # the models are loaded
    from atelier_desk.domain.provider import ModelInfo

    provider, name = choices.model
    choices.models = [
        ModelInfo(provider=provider, name=name, label="Mole", context_window=8_000, supports_vision=False)
    ]
    room.drop(tmp_path / "dot.png", tmp_path / "long.txt")
    await room.attached("dot.png", "long.txt")
    assert "Mole cannot see images" in room.note
    assert "excerpts of about 10" in room.note
    choices.models = [ModelInfo(provider=provider, name=name, label="Mole")]
    room.panel.composer.attachments.chips[0].remove.click()
    assert "excerpts of about 41,943" in room.note, "an unknown context window is assumed to be small"
    choices.models = []
    room.drop(tmp_path / "dot.png")
    await room.attached("long.txt", "dot.png")
    assert "may receive only excerpts" in room.note, "until the models are read"
    await room.bridge.jobs.settled()


async def test_a_refused_message_gets_its_attachments_back(qtbot: QtBot, engine: Atelier, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("blue", "utf-8")
    workflow = await engine.workflows.create()
    room = Room(qtbot, engine)
    await room.open(workflow.id)
    room.drop(tmp_path / "notes.txt")
    await room.attached("notes.txt")
    room.panel.sending.save_draft()
    await room.bridge.jobs.settled()
    [attachment] = (await engine.workflows.get(workflow.id)).draft_attachments
    await engine.repos.artefacts.remove(workflow.id, [attachment.sha256])
    QTest.mouseClick(room.panel.composer.send, Qt.MouseButton.LeftButton)
    await room.until(
        lambda: any("notes.txt cannot be opened" in error for error in room.bridge.errors), "it is refused"
    )
    await room.attached("notes.txt")
    assert [entry for entry in room.panel.view.entries if entry.kind == "user"] == []
    await room.bridge.jobs.settled()


def test_chips_of_every_kind_have_a_text(qtbot: QtBot) -> None:
    from atelier_desk.desktop.chat.transcript.message_attachments import AttachedChips
    from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost

    entries = [
        {"name": "a & b.txt", "source": "file", "size": 2048, "characters": 2000, "text": "x" * 500, "sha256": "0"},
        {"name": "src", "source": "folder", "size": 10, "characters": 1, "text": "x", "sha256": "0"},
    ]
    frame = QWidget()
    qtbot.addWidget(frame)
    chips = AttachedChips(entries, TranscriptHost(), frame)
    assert [button.toolTip() for button in chips.buttons] == [
        "a & b.txt\n2\u202fkB · excerpt: 500 of 2,000 characters",
        "src\nFolder",
    ]
    assert 0 < chips.fit(120) != chips.fit(2_000)
    chips.fit(140)
    assert all(button.sizeHint().width() <= 140 for button in chips.buttons), "shortened, not cut off"
    assert chips.buttons[0].text().startswith("a && b.txt · ")
    assert chips.buttons[0].text().endswith("…")
    chips.natural_width(2_000)
    assert chips.buttons[0].text() == "a && b.txt · 2\u202fkB · excerpt: 500 of 2,000 characters"
    for entry in entries:
        alone = AttachedChips([entry], TranscriptHost(), frame)
        alone.fit(alone.natural_width(2_000))
        assert not alone.buttons[0].text().endswith("…"), "complete in a bubble as wide as the chip"
