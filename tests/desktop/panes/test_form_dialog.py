"""A form is no higher than its screen, and its buttons are in view however much it holds."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.form_dialog import FormDialog


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
        form.add_field(f"Field {number}", QLineEdit(form), "What it is for, in a sentence that takes a line or two of a narrow form.")
    form.finish("Save")
    form.show()
    form._press()
    assert form.height() <= form.screen().availableSize().height()
    for widget in (form._ok, form._cancel, form._error):
        place = QRect(widget.mapTo(form, widget.rect().topLeft()), widget.size())
        assert form.rect().contains(place), widget.objectName()
    scrolls = form.area.verticalScrollBar().maximum() > 0
    assert scrolls == (fields > 2)
