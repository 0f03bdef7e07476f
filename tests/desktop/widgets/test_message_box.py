"""Message boxes with untrusted texts: complete words, all characters visible, never larger than the screen."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFontMetrics, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

import atelier_desk.desktop
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.message_box import LINES, MOST, MessageBox
from tests.helpers.child_widgets import child
from tests.helpers.focused_widget import focused

APP = Path(atelier_desk.desktop.__file__).parent


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def box(parent: QWidget) -> MessageBox:
    return MessageBox(parent, "test-box")


TEXTS = {
    "one word": "x" * 200_000,
    "blanks that do not break": "x\u202f" * 100_000,
    "a path": "/" + "/".join(["some-folder"] * 60),
    "marks": "e\u0301" * 5_000,
    "lines": "line\n" * 40_000,
    "words": "some words " * 20_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_any_text_fits_on_the_screen_and_no_word_is_clipped(box: MessageBox, text: str) -> None:
    box.setText(text)
    box.setInformativeText(text)
    box.setDetailedText(text)
    for shown in (box.text(), box.informativeText()):
        assert len(shown) <= MOST + 3
        assert shown.count("\n") <= LINES
    for label in box.findChildren(QLabel):
        metrics = QFontMetrics(label.font())
        widest = max(
            (metrics.horizontalAdvance(word) for word in label.text().replace("\u200b", " ").split()), default=0
        )
        assert widest <= 420, "Qt gives a text at least 500 pixels, and cuts off a word that is wider"
    box.show()
    QApplication.processEvents()
    assert box.height() <= 1100


def test_short_texts_and_the_ends_of_long_ones_are_unchanged(box: MessageBox) -> None:
    path = "/home/somebody/" + "long-folder-name/" * 10 + "file.txt"
    box.setText(path)
    assert box.text() == path
    box.setInformativeText("begin " + "word " * 2_000 + "end")
    assert (box.informativeText()[:6], box.informativeText()[-4:]) == ("begin ", " end")


def test_a_combining_mark_stays_with_its_letter(box: MessageBox) -> None:
    box.setText("e\u0301" * 60)
    [label] = [each for each in box.findChildren(QLabel) if each.objectName() == "qt_msgbox_label"]
    assert "\u200b" in label.text()
    assert "\u200b\u0301" not in label.text()


def test_nothing_is_hidden_and_nothing_is_markup(box: MessageBox, parent: QWidget) -> None:
    box.setText("<b>report\u202etxt.sh</b> \u200b")
    assert box.text() == "<b>report⟨U+202E⟩txt.sh</b> ⟨U+200B⟩"
    asked = confirm(parent, "<img src='http://example.com/x'>", "<b>details</b>", "Do it", lambda: None)
    assert {label.textFormat() for label in (box, asked)} == {box.textFormat()}
    assert "<b>details</b>" in asked.informativeText()


def test_every_message_box_is_of_this_class() -> None:
    made = []
    for file in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).startswith("QMessageBox")
                and "Button" not in ast.unparse(node.func)
            ):
                made.append(f"{file.name}: {ast.unparse(node)}")
    assert made == []


def shown(qtbot: QtBot, size: tuple[int, int]) -> tuple[QWidget, QPushButton, MessageBox]:
    """A window with a button that had the focus when the box opened."""
    window = QWidget()
    qtbot.addWidget(window)
    button = QPushButton("Delete", window)
    inner = QWidget(window)
    window.resize(*size)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    button.setFocus()
    asked = MessageBox(inner, "test-box")
    asked.setText("Delete the report?")
    asked.add("Delete", "yes", QMessageBox.ButtonRole.DestructiveRole, "danger")
    no = asked.add("Keep", "no", QMessageBox.ButtonRole.RejectRole)
    asked.setDefaultButton(no)
    asked.setEscapeButton(no)
    asked.open()
    return window, button, asked


def test_a_message_box_is_a_sheet_that_holds_the_focus_and_returns_it(qtbot: QtBot) -> None:
    window, button, asked = shown(qtbot, (800, 600))
    assert not asked.isWindow()
    assert window.rect().contains(asked.geometry())
    no, yes = child(asked, QPushButton, "no"), child(asked, QPushButton, "yes")
    qtbot.waitUntil(no.hasFocus)
    seen = set()
    for _tab in range(3):
        QTest.keyClick(focused(), Qt.Key.Key_Tab)
        seen.add(focused())
    assert seen == {no, yes}
    button.setFocus()
    assert asked.isAncestorOf(focused()), "what is under it cannot have the focus"
    with qtbot.waitSignal(asked.finished):
        QTest.keyClick(focused(), Qt.Key.Key_Escape)
    assert button.hasFocus()
    assert [each for each in window.findChildren(QWidget, "sheet-shade") if each.isVisible()] == []


def test_escape_closes_the_sheet_and_not_the_window_below(qtbot: QtBot) -> None:
    """The settings have a shortcut for it."""
    window, _button, asked = shown(qtbot, (800, 600))
    closed = []
    QShortcut(QKeySequence(Qt.Key.Key_Escape), window).activated.connect(lambda: closed.append(True))
    qtbot.waitUntil(child(asked, QPushButton, "no").hasFocus)
    with qtbot.waitSignal(asked.finished):
        QTest.keyClick(focused(), Qt.Key.Key_Escape)
    assert closed == []


def test_the_later_of_two_sheets_has_the_focus_and_returns_it(qtbot: QtBot) -> None:
    """Each took it from the other, endlessly."""
    window, button, first = shown(qtbot, (800, 600))
    no = child(first, QPushButton, "no")
    qtbot.waitUntil(no.hasFocus)
    second = MessageBox(window, "second-box")
    later = second.add("Close", "later", QMessageBox.ButtonRole.RejectRole)
    second.open()
    qtbot.waitUntil(later.hasFocus)
    no.setFocus()
    assert later.hasFocus(), "what is under it cannot have the focus"
    button.setFocus()
    assert later.hasFocus()
    second.close()
    qtbot.waitUntil(no.hasFocus)
    button.setFocus()
    assert no.hasFocus()


def test_a_key_meant_for_the_widget_below_answers_nothing(qtbot: QtBot) -> None:
    _window, _button, asked = shown(qtbot, (800, 600))
    answered: list[int] = []
    asked.finished.connect(answered.append)
    QTest.keyClick(focused(), Qt.Key.Key_Return)
    assert answered == []


def test_in_a_too_small_window_it_is_a_separate_window(qtbot: QtBot) -> None:
    _window, _button, asked = shown(qtbot, (120, 80))
    assert asked.isWindow()
    assert asked.isVisible()
    asked.close()


@pytest.mark.parametrize("width", [700, 1400])
def test_button_labels_are_never_clipped(qtbot: QtBot, width: int) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(width, 700)
    window.show()
    asked = MessageBox(window, "test-box")
    asked.setText("Agents are still working")
    for number in range(4):
        asked.add(f"Continue all of this at the next start {number}", f"b{number}", QMessageBox.ButtonRole.AcceptRole)
    asked.open()
    for button in asked.buttons():
        assert button.width() >= button.sizeHint().width()
        assert window.rect().contains(QRect(button.mapTo(window, QPoint()), button.size()))


def test_texts_and_buttons_are_left_aligned(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(800, 600)
    window.show()
    box = confirm(window, "Undo the changes?", "Later ones are kept.", "Undo changes to all these files", lambda: None)
    text, button = child(box, QLabel, "qt_msgbox_label"), child(box, QPushButton, "confirm-yes")
    assert text.mapTo(box, QPoint()).x() == button.mapTo(box, QPoint()).x()


def test_an_open_sheet_follows_the_size_of_text(qtbot: QtBot) -> None:
    """It is then laid out as a new one."""

    def opened() -> QMessageBox:
        window = QWidget()
        window.resize(900, 600)
        qtbot.addWidget(window)
        window.show()
        return confirm(window, "Delete it?", "It cannot be restored.", "Delete", lambda: None)

    def texts(box: QMessageBox) -> list[QRect]:
        QApplication.processEvents()
        return [each.geometry() for each in box.findChildren(QLabel) if each.isVisible()]

    box = opened()
    before = texts(box)
    theme().set_scale(150)
    assert texts(box) == texts(opened()) != before
    theme().set_scale(100)
    assert texts(box) == before


def test_a_long_path_is_broken_between_its_folders(box: MessageBox) -> None:
    path = "/home/ada/.local/share/Atelier/" + "a-folder-with-a-name-of-more-than-thirty-letters/keys.json"
    box.setText(path)
    assert box.text() == path
    parts = QMessageBox.text(box).split("\u200b")
    assert parts == [
        "/home/ada/.local/share/",
        "Atelier/",
        "a-folder-with-a-name-of-more-t",
        "han-thirty-letters/keys.json",
    ]
