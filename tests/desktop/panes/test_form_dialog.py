"""A form is no higher than the screen, and its buttons are always visible."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QRect, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.line_wrapping import TextField


class Form(FormDialog):
    def problem(self) -> str:
        return "Something is wrong."

    def submit(self) -> None:
        return None


@pytest.mark.parametrize("fields", [2, 40])
def test_the_buttons_are_in_view(qtbot: QtBot, fields: int) -> None:
    form = Form("Many fields")
    qtbot.addWidget(form)
    for number in range(fields):
        form.add_field(
            f"Field {number}",
            QLineEdit(form),
            "What it is for, in a sentence that takes a line or two of a narrow form.",
        )
    form.finish("Save")
    form.show()
    form._press()
    assert form.height() <= form.screen().availableSize().height()
    for widget in (form._ok, form._cancel, form._error):
        box = QRect(widget.mapTo(form, widget.rect().topLeft()), widget.size())
        assert form.rect().contains(box), widget.objectName()
    scrolls = form.area.verticalScrollBar().maximum() > 0
    assert scrolls == (fields > 2)


class Sent(FormDialog):
    sent = 0

    def problem(self) -> str:
        return ""

    def submit(self) -> None:
        self.sent += 1


@pytest.fixture
def filled(qtbot: QtBot) -> Sent:
    form = Sent("Note")
    form.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(form)
    form.note = TextField("one", form)  # type: ignore[attr-defined]
    form.add_field("Note", form.note)  # type: ignore[attr-defined]
    form.finish("Save")
    form.show()
    form.activateWindow()
    return form


def test_enter_sends_from_a_text_of_several_lines_and_shift_breaks_it(filled: Any) -> None:
    filled.note.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClick(filled.note, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(filled.note, "two")
    assert (filled.note.toPlainText(), filled.sent) == ("one\ntwo", 0)
    QTest.keyClick(filled.note, Qt.Key.Key_Return)
    assert (filled.note.toPlainText(), filled.sent) == ("one\ntwo", 1)


def test_a_held_key_submits_nothing_and_enter_on_cancel_cancels(filled: Any, qtbot: QtBot) -> None:
    """Enter on Cancel saved the form."""
    repeated = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "\r", True)
    QCoreApplication.sendEvent(filled.note, repeated)
    assert (filled.note.toPlainText(), filled.sent) == ("one", 0)
    qtbot.waitUntil(filled.isActiveWindow)
    filled._cancel.setFocus()
    with qtbot.waitSignal(filled.rejected):
        QTest.keyClick(filled._cancel, Qt.Key.Key_Return)
    assert filled.sent == 0


def test_the_button_shows_its_key(filled: Any) -> None:
    assert not filled._ok.icon().isNull()
    assert filled._ok.layoutDirection() == Qt.LayoutDirection.RightToLeft, "after its words"


def test_an_open_form_follows_the_text_size_and_back(qtbot: QtBot) -> None:
    """It is then as large as a new one, and none of them scrolls."""

    def shown() -> Form:
        form = Form("Note")
        qtbot.addWidget(form)
        for name in ("Name", "Place"):
            form.add_field(
                name, QLineEdit(form), "What it is for, in a sentence that takes two lines of a narrow form."
            )
        form.finish("Save")
        form.show()
        qtbot.waitExposed(form)
        assert form.area.verticalScrollBar().maximum() == 0
        return form

    form = shown()
    before = form.size()
    theme().set_scale(150)
    large = shown().size()
    assert large.width() > before.width()
    assert large.height() > before.height()
    qtbot.waitUntil(lambda: form.size() == large)
    theme().set_scale(100)
    qtbot.waitUntil(lambda: form.size() == before)
    assert form.area.verticalScrollBar().maximum() == 0
