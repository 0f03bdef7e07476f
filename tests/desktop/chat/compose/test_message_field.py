"""Earlier messages are recalled by a key that does not interfere with the arrows."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.compose.message_field import MessageField
from atelier_desk.desktop.theme import theme
from tests.helpers.pixel_colours import colours

UP, DOWN = Qt.Key.Key_Up, Qt.Key.Key_Down


@pytest.fixture
def composer(qtbot: QtBot) -> Composer:
    made = Composer()
    qtbot.addWidget(made)
    made.field.history = lambda: ["first", "second\nof two lines"]
    made.resize(600, 200)
    made.show()
    return made


def press(qtbot: QtBot, field: MessageField, *keys: Qt.Key) -> str:
    for key in keys:
        qtbot.keyClick(field, key)
    return field.toPlainText()


def test_up_shows_what_was_sent_and_down_goes_back(qtbot: QtBot, composer: Composer) -> None:
    field = composer.field
    assert press(qtbot, field, UP) == "second\nof two lines"
    assert press(qtbot, field, UP) == "first"
    assert press(qtbot, field, UP) == "first", "there is nothing older"
    assert press(qtbot, field, DOWN) == "second\nof two lines"
    assert press(qtbot, field, DOWN) == ""


def test_the_unsent_text_is_restored_after_recalling(qtbot: QtBot, composer: Composer) -> None:
    field = composer.field
    field.setPlainText("half a thought")
    field.moveCursor(field.textCursor().MoveOperation.Start)
    assert press(qtbot, field, UP) == "second\nof two lines"
    assert press(qtbot, field, DOWN) == "half a thought"


def test_arrows_inside_a_text_move_the_cursor(qtbot: QtBot, composer: Composer) -> None:
    field = composer.field
    field.setPlainText("one\ntwo")
    field.moveCursor(field.textCursor().MoveOperation.End)
    assert press(qtbot, field, UP) == "one\ntwo"
    assert field.textCursor().blockNumber() == 0
    assert press(qtbot, field, DOWN, DOWN) == "one\ntwo"


def test_an_edited_recalled_text_is_a_new_draft(qtbot: QtBot, composer: Composer) -> None:
    field = composer.field
    press(qtbot, field, UP)
    qtbot.keyClicks(field, "!")
    assert press(qtbot, field, DOWN) == "second\nof two lines!"


def test_a_click_beside_the_text_focuses_the_field(qtbot: QtBot, composer: Composer) -> None:
    composer.attach.setFocus()
    qtbot.mouseClick(composer, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    qtbot.waitUntil(composer.field.hasFocus)


@pytest.mark.parametrize(("width", "complete"), [(820, True), (420, False)])
def test_a_hint_is_shown_in_full_or_not_at_all(qtbot: QtBot, composer: Composer, width: int, complete: bool) -> None:
    theme().set_scale(150)
    composer.set_running(True)
    composer.resize(width, 200)
    hint = composer._hint
    qtbot.wait(20)
    assert (hint.fontMetrics().horizontalAdvance(hint.text()) <= hint.contentsRect().width()) is complete
    assert (len(colours(hint.grab().toImage())) > 1) is complete


@pytest.mark.parametrize("scale", [100, 150, 200])
def test_all_buttons_have_one_height(qtbot: QtBot, composer: Composer, scale: int) -> None:
    composer.set_running(True)
    theme().set_scale(scale)
    heights = {part.height() for part in (composer.attach, composer.strategies, composer.stop, composer.send)}
    assert heights == {theme().px(32)}
