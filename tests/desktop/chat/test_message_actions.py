"""Actions on a message: in its menu by mouse and keyboard, the row below it, the palette, and the pinned list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat import text_to_speech
from atelier_desk.desktop.chat.text_to_speech import Speaker, Voice
from atelier_desk.desktop.chat.transcript.sent_message_editor import BubbleEditor
from atelier_desk.desktop.main_window.action_registry import ActionRegistry
from atelier_desk.desktop.widgets.picker import PickerMenu
from atelier_desk.domain.workflow import Message, MessageRole
from tests.desktop.chat.message_menus import menu_of, widget
from tests.desktop.chat.panel_harness import PanelHarness
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

ANSWER = "It is **bold**.\n\n- one\n- [link](https://example.org)"


@pytest.fixture
async def harness(qtbot: QtBot) -> PanelHarness:
    made = PanelHarness(qtbot)
    made.rows[1] = made.rows[1].model_copy(update={"content": ANSWER})
    await made.open()
    return made


def choose(menu: QMenu, name: str) -> None:
    action = menu.findChild(QAction, f"message-{name}")
    assert action is not None, [each.text() for each in menu.actions()]
    action.trigger()
    menu.close()


def names(menu: QMenu) -> list[str]:
    return [
        each.objectName().removeprefix("message-") or each.text() for each in menu.actions() if not each.isSeparator()
    ]


async def test_the_menu_offers_actions_for_the_message(harness: PanelHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.panel.commands, "_spoken", False)
    menu = menu_of(harness, 1)
    expected = [
        "copy",
        "copy-text",
        "quote",
        "read-aloud",
        "export",
        "print",
        "regenerate",
        "regenerate-with",
        "branch",
        "pin",
        "delete-branch",
    ]
    assert names(menu) == expected
    assert menu.activeAction() is menu.actions()[0], "the keyboard works in it"
    menu.close()
    assert names(menu_of(harness, 0)) == [
        "copy",
        "copy-text",
        "quote",
        "read-aloud",
        "edit",
        "branch",
        "pin",
        "delete-branch",
    ]


async def test_the_row_has_the_same_menu(harness: PanelHarness) -> None:
    more = widget(harness, 1).findChild(QToolButton, "message-more")
    assert more is not None
    assert more.accessibleName() == "More"
    QTest.mouseClick(more, Qt.MouseButton.LeftButton)
    menu = widget(harness, 1).findChild(QMenu, "message-menu")
    assert menu is not None
    assert "copy-text" in names(menu)


async def test_copy_formatted_copy_as_plain_text_and_quote(harness: PanelHarness) -> None:
    choose(menu_of(harness, 1), "copy-text")
    assert QGuiApplication.clipboard().text() == "It is bold.\n\n- one\n- link"
    assert not QGuiApplication.clipboard().mimeData().hasHtml()
    button = child(widget(harness, 1), QToolButton, "copy-message")
    copies: list[Callable[[], None]] = [
        lambda: choose(menu_of(harness, 1), "copy"),
        lambda: QTest.mouseClick(button, Qt.MouseButton.LeftButton),
    ]
    for copy in copies:
        QGuiApplication.clipboard().clear()
        copy()
        data = QGuiApplication.clipboard().mimeData()
        assert data.text() == ANSWER
        assert "<strong>bold</strong>" in data.html()
        assert bytes(data.data("text/markdown").data()).decode() == ANSWER
    harness.panel.composer.set_draft("")
    choose(menu_of(harness, 1), "quote")
    assert harness.panel.composer.field.toPlainText().startswith("> It is **bold**.")


async def test_edit_opens_the_field(harness: PanelHarness) -> None:
    choose(menu_of(harness, 0), "edit")
    editor = widget(harness, 0).findChild(BubbleEditor)
    assert editor is not None
    assert editor.field.toPlainText() == "Question"


async def test_another_model_answers_without_changing_the_chosen_model(harness: PanelHarness) -> None:
    choose(menu_of(harness, 1), "regenerate-with")
    picker = harness.panel.view.findChild(PickerMenu, "picker-menu")
    assert picker is not None
    assert picker.isVisible()
    assert picker.current == "p/m", "the one that answered"
    picker._star("p/big")
    QTest.keyClick(picker, Qt.Key.Key_Down)
    QTest.keyClick(picker, Qt.Key.Key_Return)
    await settle()
    assert harness.engine.calls("settings.update") == [((), {"favourite_models": ("p/big",)})]
    assert harness.engine.calls("runs.regenerate") == [(("w1", "r1", "a1"), {"provider": "p", "model": "big"})]
    assert harness.panel.choices.model == ("p", "m")


async def test_a_pin_is_stored_shown_and_listed(harness: PanelHarness) -> None:
    assert harness.panel.pinned.pins == []
    choose(menu_of(harness, 1), "pin")
    await settle()
    assert harness.engine.calls("messages.set_pinned") == [(("a1", True), {})]
    pinned = Message(
        id="a1", workflow_id="w1", run_id="r1", seq=2, role=MessageRole.ASSISTANT, content=ANSWER, pinned=True
    )
    harness.engine.set("messages", "pinned", [pinned])
    harness.event("context_changed", run_id="r1", reason="pinned", origin="r1:2", message_id="a1")
    assert harness.panel.view.entries[1].pinned
    button = widget(harness, 1).findChild(QToolButton, "pin-message")
    assert button is not None
    assert button.accessibleName() == "Unpin"
    await settle()
    more = QMenu()
    harness.panel.pinned.add_to(more)
    assert [each.text() for each in more.actions()] == ["1 pinned message"]
    menu = harness.panel.pinned.open()
    assert [each.text() for each in menu.actions()] == ["The agent: It is bold. - one - link"]
    menu.close()


async def test_a_deleted_branch_can_be_undone(harness: PanelHarness) -> None:
    deleted: list[tuple[str, Any]] = []
    harness.panel.commands.deleted.connect(lambda *arguments: deleted.append(arguments))
    choose(menu_of(harness, 1), "delete-branch")
    await settle()
    assert harness.engine.calls("workflows.delete_branch") == [(("w1", "r1"), {})]
    ((_text, undo),) = deleted
    undo()
    await settle()
    assert harness.engine.calls("workflows.undo_delete_branch") == [(("w1", "r1"), {})]


async def test_every_command_is_an_action_of_the_palette(qtbot: QtBot, harness: PanelHarness) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    registry = ActionRegistry(window)
    harness.panel.commands.register(registry)
    registry["message-copy"].trigger()
    assert QGuiApplication.clipboard().text() == ANSWER, "the newest answer"
    widget(harness, 0).setFocus()
    registry["message-edit"].trigger()
    assert widget(harness, 0).findChild(BubbleEditor) is not None
    registry["message-regenerate-with"].trigger()
    menu = harness.panel.view.findChild(PickerMenu, "picker-menu")
    assert menu is not None
    assert menu.isVisible()
    menu.close()


async def test_messages_of_a_sub_agent_can_only_be_copied_quoted_and_read_aloud(
    harness: PanelHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.panel.commands, "_spoken", True)
    harness.panel.host.versions = False
    menu = QMenu(harness.panel)
    harness.panel.commands.fill(menu, harness.panel.view.entries[1], harness.panel.host)
    assert names(menu) == ["copy", "copy-text", "quote", "read-aloud", "export", "print"]


async def test_without_a_voice_reading_aloud_explains_why_it_is_unavailable(
    harness: PanelHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.panel.commands, "_spoken", False)
    monkeypatch.setattr("sys.platform", "linux")
    errors: list[str] = []
    harness.panel.commands.status_changed.connect(errors.append)
    entry = child(menu_of(harness, 1), QAction, "message-read-aloud")
    assert not entry.isEnabled()
    assert entry.text() == "Read aloud: no voice is installed"
    why = "No voice is installed. Install speech-dispatcher or espeak-ng to have messages read aloud."
    assert entry.toolTip() == why
    harness.panel.commands.read_aloud(harness.panel.view.entries[1])
    assert errors == [why]


def test_the_voice_is_one_of_the_machines_voices() -> None:
    assert text_to_speech.voice("linux", lambda name: None) is None
    assert text_to_speech.voice("linux", lambda name: name if name == "espeak" else None) == Voice(
        "espeak", ("-v", "en", "--stdin")
    )
    assert text_to_speech.voice("darwin", lambda name: name) == Voice("say", ("-f", "-"))


async def test_reading_aloud_gets_the_plain_text_and_can_be_stopped(
    qtbot: QtBot, harness: PanelHarness, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    spoken = tmp_path / "heard.txt"
    script = f"cat > {spoken}.part && mv {spoken}.part {spoken}; exec tail -f /dev/null"
    monkeypatch.setattr(text_to_speech, "voice", lambda: Voice("sh", ("-c", script)))
    monkeypatch.setattr(harness.panel.commands, "_spoken", True)
    speaker: Speaker = harness.panel.commands.speaker
    choose(menu_of(harness, 1), "read-aloud")
    qtbot.waitUntil(spoken.exists, timeout=20_000)
    assert spoken.read_text() == "It is bold.\n\n- one\n- link"
    assert speaker.key == "a1"
    menu = menu_of(harness, 1)
    assert "Stop reading" in [each.text() for each in menu.actions()]
    choose(menu, "read-aloud")
    assert speaker.key == ""
    assert speaker._process is None


async def test_the_menu_opens_at_the_pointer(harness: PanelHarness) -> None:
    target = widget(harness, 1)
    QApplication.sendEvent(
        target, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, QPoint(5, 5), target.mapToGlobal(QPoint(5, 5)))
    )
    assert target.findChild(QMenu, "message-menu") is not None
