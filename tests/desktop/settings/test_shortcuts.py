"""Settings → Shortcuts: recording other keys for an action."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMainWindow, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.main_window.action_registry import ActionRegistry, action, refusal
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.widgets import ToastHost
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.support import i18n
from tests.desktop.settings.conftest import Engine
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeBridge, settle


class Window(QMainWindow):
    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.toasts = ToastHost(self)
        self.actions_ = ActionRegistry(self)

    @action("first", "Show tasks", group="view", shortcut="Ctrl+1")
    def first(self) -> None:
        self.ran.append("first")

    @action("second", "Search everywhere", group="workflow", shortcut="Ctrl+Shift+F")
    def second(self) -> None:
        self.ran.append("second")

    @action("third", "Reset the layout", group="view")
    def third(self) -> None:
        self.ran.append("third")


@pytest.fixture
def main(qtbot: QtBot) -> Window:
    made = Window()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
async def page(main: Window, bridge: FakeBridge) -> Any:
    made = SettingsWindow(bridge, main)
    made.show()
    made.show_page("shortcuts")
    await settle()
    return made.page("shortcuts")


def button(page: Any, name: str) -> QPushButton:
    found = page.findChild(QPushButton, f"shortcut-{name}")
    assert isinstance(found, QPushButton)
    return found


async def press(
    page: Any, name: str, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.ControlModifier
) -> None:
    """Click the keys of an action, and press others."""
    page.window().activateWindow()
    button(page, name).click()
    edit = page.findChild(QWidget, f"shortcut-edit-{name}")
    assert edit.isVisible()
    QTest.keyClick(edit, key, modifiers)
    await settle()


async def test_new_keys_are_recorded_stored_and_work_at_once(page: Any, main: Window, atelier: Engine) -> None:
    assert button(page, "first").text() == "Ctrl+1"
    assert button(page, "third").text() == "none"
    await press(page, "first", Qt.Key.Key_J)
    assert atelier.stored.shortcuts == {"first": "Ctrl+J"}
    assert button(page, "first").text() == "Ctrl+J"
    assert main.actions_["first"].shortcut() == QKeySequence("Ctrl+J")
    page.window().hide()
    main.activateWindow()
    await settle()
    QTest.keyClick(main, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(main, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert main.ran == ["first"]


async def test_a_change_can_be_undone(page: Any, main: Window, atelier: Engine) -> None:
    await press(page, "third", Qt.Key.Key_F7, Qt.KeyboardModifier.NoModifier)
    assert atelier.stored.shortcuts == {"third": "F7"}
    undo = page.window().findChild(QPushButton, "toast-action") or main.findChild(QPushButton, "toast-action")
    assert undo is not None
    undo.click()
    await settle()
    assert atelier.stored.shortcuts == {}
    assert button(page, "third").text() == "none"


async def test_a_conflict_is_named_and_nothing_changes(page: Any, main: Window, atelier: Engine) -> None:
    await press(page, "first", Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert (
        page._rows["first"].hint.text()
        == "Ctrl+Shift+F is already used by “Search everywhere”. Change or clear that shortcut first."
    )
    assert atelier.stored.shortcuts == {}
    assert main.actions_["second"].shortcut() == QKeySequence("Ctrl+Shift+F")
    await press(page, "first", Qt.Key.Key_J)
    assert not page._rows["first"].hint.isVisible()


async def test_keys_are_cleared_cancelled_and_reset_one_by_one_or_all_at_once(
    page: Any, main: Window, atelier: Engine
) -> None:
    await press(page, "second", Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    assert (atelier.stored.shortcuts, button(page, "second").isVisible()) == ({}, True)
    await press(page, "second", Qt.Key.Key_Backspace, Qt.KeyboardModifier.NoModifier)
    assert atelier.stored.shortcuts == {"second": ""}
    assert main.actions_["second"].shortcut().isEmpty()
    await press(page, "third", Qt.Key.Key_J)
    child(page, QAbstractButton, "shortcut-reset-second").click()
    await settle()
    assert atelier.stored.shortcuts == {"third": "Ctrl+J"}
    child(page, QAbstractButton, "shortcuts-reset-all").click()
    await settle()
    assert atelier.stored.shortcuts == {}
    assert main.actions_["third"].shortcut().isEmpty()


async def test_a_letter_alone_is_no_shortcut(page: Any, atelier: Engine) -> None:
    await press(page, "first", Qt.Key.Key_A, Qt.KeyboardModifier.NoModifier)
    assert page._rows["first"].hint.text().startswith("Keys that type text or move the cursor need")
    assert atelier.stored.shortcuts == {}


@pytest.mark.parametrize(
    ("key", "modifiers", "french"),
    [
        (Qt.Key.Key_A, Qt.KeyboardModifier.NoModifier, "Les touches"),
        (
            Qt.Key.Key_F,
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
            "est déjà utilisé par",
        ),
    ],
)
async def test_a_refusal_follows_the_language(
    page: Any, key: Qt.Key, modifiers: Qt.KeyboardModifier, french: str
) -> None:
    await press(page, "first", key, modifiers)
    i18n.set_language("fr")
    refresh_texts()
    assert french in page._rows["first"].hint.text()


@pytest.mark.parametrize(
    ("keys", "fine"),
    [("Ctrl+J", True), ("Alt+Up", True), ("F9", True), ("", True), ("Return", False), ("Shift+A", False)],
)
def test_valid_and_invalid_shortcuts(keys: str, fine: bool) -> None:
    assert (refusal(QKeySequence(keys)) == "") is fine


def test_an_action_registered_later_has_the_chosen_keys(main: Window) -> None:
    from atelier_desk.desktop.main_window.action_registry import ActionSpec

    main.actions_.set_shortcuts({"later": "Ctrl+9", "gone": "Ctrl+8"})
    main.actions_.add(ActionSpec("later", "Later", "view", "Ctrl+7"), lambda: None)
    assert main.actions_["later"].shortcut() == QKeySequence("Ctrl+9")
