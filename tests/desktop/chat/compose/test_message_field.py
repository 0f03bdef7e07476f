"""Earlier messages are recalled by a key that does not interfere with the arrows."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.compose.message_field import MessageField
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import fill
from atelier_desk.desktop.workspace_folders.drag_and_drop import FolderDrop
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


def press(field: MessageField, *keys: Qt.Key) -> str:
    for key in keys:
        QTest.keyClick(field, key)
    return field.toPlainText()


def test_up_shows_what_was_sent_and_down_goes_back(composer: Composer) -> None:
    field = composer.field
    assert press(field, UP) == "second\nof two lines"
    assert press(field, UP) == "first"
    assert press(field, UP) == "first", "there is nothing older"
    assert press(field, DOWN) == "second\nof two lines"
    assert press(field, DOWN) == ""


def test_the_unsent_text_is_restored_after_recalling(composer: Composer) -> None:
    field = composer.field
    field.setPlainText("half a thought")
    field.moveCursor(field.textCursor().MoveOperation.Start)
    assert press(field, UP) == "second\nof two lines"
    assert press(field, DOWN) == "half a thought"


def test_arrows_inside_a_text_move_the_cursor(composer: Composer) -> None:
    field = composer.field
    field.setPlainText("one\ntwo")
    field.moveCursor(field.textCursor().MoveOperation.End)
    assert press(field, UP) == "one\ntwo"
    assert field.textCursor().blockNumber() == 0
    assert press(field, DOWN, DOWN) == "one\ntwo"


def test_an_edited_recalled_text_is_a_new_draft(composer: Composer) -> None:
    field = composer.field
    press(field, UP)
    QTest.keyClicks(field, "!")
    assert press(field, DOWN) == "second\nof two lines!"


def test_a_click_beside_the_text_focuses_the_field(qtbot: QtBot, composer: Composer) -> None:
    composer.attach.setFocus()
    QTest.mouseClick(composer, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
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
def test_all_buttons_have_one_height(composer: Composer, scale: int) -> None:
    composer.set_running(True)
    theme().set_scale(scale)
    heights = {part.height() for part in (composer.attach, composer.strategies, composer.stop, composer.send)}
    assert heights == {theme().px(32)}


def drag_and_drop(
    over: QWidget, mime: QMimeData, offered: Qt.DropAction = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
) -> tuple[list[bool], list[Qt.DropAction]]:
    """Whether each event was accepted, and its action; the source proposes to move.

    As in Qt, a movement keeps what the previous event decided unless it is handled, and a refusal ends the drag.
    """
    left, shift = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
    accepted: list[bool] = []
    actions: list[Qt.DropAction] = []
    for event in (
        QDragEnterEvent(QPoint(5, 5), offered, mime, left, shift),
        QDragMoveEvent(QPoint(5, 5), offered, mime, left, shift),
        QDropEvent(QPointF(5, 5), offered, mime, left, shift),
    ):
        assert event.proposedAction() == Qt.DropAction.MoveAction
        if isinstance(event, QDragMoveEvent) and actions:
            event.setDropAction(actions[-1])
            event.accept()
        QApplication.sendEvent(over, event)
        accepted.append(event.isAccepted())
        actions.append(event.dropAction())
        if not event.isAccepted():
            break
    return accepted, actions


def file_of(folder: Path) -> QMimeData:
    """A file as file managers offer it, with its path as text."""
    file, mime = folder / "file.txt", QMimeData()
    file.touch()
    mime.setUrls([QUrl.fromLocalFile(str(file))])
    mime.setText(str(file))
    return mime


@pytest.mark.parametrize("inside", [True, False])
def test_a_dropped_file_is_copied_without_a_window_that_watches(
    composer: Composer, tmp_path: Path, inside: bool
) -> None:
    given: list[object] = []
    composer.files_given.connect(given.extend)
    mime = file_of(tmp_path)
    accepted, actions = drag_and_drop(composer.field.viewport() if inside else composer, mime)
    assert (accepted, actions) == ([True] * 3, [Qt.DropAction.CopyAction] * 3)
    assert given == [str(tmp_path / "file.txt")]
    assert composer.field.toPlainText() == ""


def test_a_field_that_takes_no_files_refuses_a_dropped_one_and_takes_text(qtbot: QtBot, tmp_path: Path) -> None:
    composer = Composer(pictures=False)
    qtbot.addWidget(composer)
    field = composer.field
    mime = file_of(tmp_path)
    assert drag_and_drop(field.viewport(), mime)[0] == [False]
    assert field.toPlainText() == ""
    text = QMimeData()
    text.setText("some words")
    accepted, actions = drag_and_drop(field.viewport(), text)
    assert (accepted, actions) == ([True] * 3, [Qt.DropAction.MoveAction] * 3), "text may be moved"
    assert field.toPlainText() == "some words"


@pytest.mark.parametrize("inside", [True, False])
def test_a_file_that_can_only_be_moved_is_refused(
    qtbot: QtBot, composer: Composer, tmp_path: Path, inside: bool
) -> None:
    """Its source would delete it."""
    given: list[object] = []
    composer.files_given.connect(given.extend)
    over = composer.field.viewport() if inside else composer
    accepted, actions = drag_and_drop(over, file_of(tmp_path), Qt.DropAction.MoveAction)
    assert (accepted, given) == ([False], [])
    assert Qt.DropAction.MoveAction not in actions


def test_a_file_that_a_field_refuses_is_offered_to_the_window_behind(qtbot: QtBot, tmp_path: Path) -> None:
    """As over the field of a sub-agent: the file is attached to the message, as from anywhere on the window."""
    window = QWidget()
    qtbot.addWidget(window)
    main, other = Composer(window), Composer(window, pictures=False)
    fill(QVBoxLayout(window), main, other)
    attached: list[str] = []
    FolderDrop(window, list[str]().extend, attached.extend, main.field, QWidget(window))
    window.resize(400, 400)
    window.show()
    accepted, actions = drag_and_drop(other.field.viewport(), file_of(tmp_path))
    assert (accepted, actions) == ([True] * 3, [Qt.DropAction.CopyAction] * 3)
    assert attached == [str(tmp_path / "file.txt")]
    assert other.field.toPlainText() == ""
