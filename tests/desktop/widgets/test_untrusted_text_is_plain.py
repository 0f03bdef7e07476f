"""Texts from untrusted sources are shown as they are in tool tips, labels, rows and message boxes, never as HTML."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import Qt as QtText
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QListWidgetItem,
    QPushButton,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets import IconButton, PlainLabel, bind_text, label
from atelier_desk.desktop.widgets.list_rows import ListRow, show_row
from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.desktop.widgets.tool_tips import plain_tip, wrapped_tip

POISON = [
    "<b>Approved</b> by you",
    '<img src="http://evil.example/seen.png">',
    "  <h1>Update required</h1>",
    "report &lt;b&gt;",
    "<?xml version='1.0'?><b>x</b>",
    "<!DOCTYPE html>",
    "<\u2060b>twice",
    "<a href='file:///etc/passwd'>open</a>",
    "x\n<b>y</b>",
    "\n<b>y</b>",
]


def shown(text: str) -> str:
    """What is seen of a text: Qt guesses whether it is HTML."""
    return QTextDocumentFragment.fromHtml(text).toPlainText() if QtText.mightBeRichText(text) else text


@pytest.mark.parametrize("text", POISON)
def test_a_tip_shows_the_text_itself(text: str) -> None:
    made = plain_tip(text)
    assert shown(made) == made
    assert made.replace("\u2060", "") == text.replace("\u2060", "")
    assert plain_tip(made) == made
    assert shown(wrapped_tip(text.strip())).strip().startswith(text.strip()[0])


def test_usual_texts_and_hidden_characters() -> None:
    for text in ("a < 2 and c > d", "Read & write", "List<int>", "", "two\nlines"):
        assert plain_tip(text) == text
    assert plain_tip("a\u202eb") == "a⟨U+202E⟩b"
    assert "⟨U+202E⟩" in wrapped_tip("a\u202eb")


def _bound(text: str) -> str:
    return bind_text(QPushButton(), "Go", tip=lambda: text).toolTip()


def _icon(text: str) -> str:
    return IconButton("plus", lambda: text).toolTip()


def _label(text: str) -> str:
    made = label("x")
    made.setToolTip(text)
    return made.toolTip()


def _row(text: str) -> str:
    item = QListWidgetItem()
    show_row(item, ListRow(text))
    return item.toolTip()


@pytest.mark.parametrize("made", [_bound, _icon, _label, _row])
@pytest.mark.parametrize("text", POISON)
def test_every_way_to_a_tip_is_plain(qtbot: QtBot, made: Callable[[str], str], text: str) -> None:
    assert not QtText.mightBeRichText(made(text))


def test_what_qt_shows_as_a_tip(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    QToolTip.showText(QPoint(5, 5), plain_tip(POISON[0]), widget)
    labels = [each for each in QApplication.topLevelWidgets() if isinstance(each, QLabel)]
    (tip,) = [each for each in labels if each.objectName() == "qtooltip_label"]
    assert "<" in shown(tip.text())
    QToolTip.hideText()


def test_labels_and_message_boxes_are_plain(qtbot: QtBot) -> None:
    box = MessageBox(None, "box")
    qtbot.addWidget(box)
    formats = {box.textFormat(), PlainLabel("<b>x</b>").textFormat(), label("<b>x</b>").textFormat()}
    assert formats == {Qt.TextFormat.PlainText}
