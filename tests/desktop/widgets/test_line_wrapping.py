"""Long runs of characters break anywhere, in every widget with untrusted text; other text only between words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QPaintEvent, QTextOption
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QTextEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.message_field import MessageField
from atelier_desk.desktop.chat.transcript.message_blocks import ProseBlock
from atelier_desk.desktop.questions.answer_field import AnswerField
from atelier_desk.desktop.questions.arguments_view import ArgumentsView
from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.markdown.parser import parse

Shown = QPlainTextEdit | QTextEdit


def _plain(text: str) -> Shown:
    block = ProseBlock()
    block.show_plain(text)
    return block


def _prose(text: str) -> Shown:
    block = ProseBlock()
    block.show_blocks(parse(text))
    return block


def _question(text: str) -> Shown:
    view = MarkdownView(fit_height=True)
    view.set_text(text)
    return view


def _report(text: str) -> Shown:
    view = MarkdownView()
    view.set_text(text)
    return view


def _set(text: str) -> Shown:
    field = MessageField()
    field.setPlainText(text)
    return field


def _pasted(text: str) -> Shown:
    field, data = TextField(), QMimeData()
    data.setText(text)
    field.insertFromMimeData(data)
    return field


async def _fits(_arguments: object) -> str:
    return ""


MAKERS: list[Callable[[str], Shown]] = [
    _plain,
    _prose,
    _question,
    _report,
    _set,
    _pasted,
    TextField,
    lambda text: ArgumentsView({"a": text}, _fits, opened=True).text,
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_long_run_of_letters_breaks_anywhere(qtbot: QtBot, make: Callable[[str], Shown]) -> None:
    long = make("x" * 5_000)
    assert long.wordWrapMode() is QTextOption.WrapMode.WrapAnywhere
    assert "x" * 5_000 in long.toPlainText()
    assert make("x\u202f" * 2_500).wordWrapMode() is QTextOption.WrapMode.WrapAnywhere, (
        "no line is broken at such a blank"
    )
    assert make("word " * 1_000).wordWrapMode() is QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def test_a_field_with_new_text_breaks_between_words_again(qtbot: QtBot) -> None:
    for make in (_plain("x" * 5_000), _prose("x" * 5_000)):
        assert isinstance(make, ProseBlock)
        make.show_plain("word")
        assert make.wordWrapMode() is QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
    answer = AnswerField(3)
    answer.editor.setPlainText("x" * 5_000)
    answer.editor.setPlainText("word")
    assert answer.editor.wordWrapMode() is QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def test_a_text_has_a_width_before_it_is_fitted(qtbot: QtBot) -> None:
    """With no width, each letter would be a line of its own."""
    assert _plain("x" * 500).document().size().height() < 200


class _PaintedField(TextField):
    """Remembers whether all of it was painted; a blinking cursor paints its own line."""

    whole = False

    def paintEvent(self, event: QPaintEvent) -> None:
        self.whole = self.whole or event.rect() == self.viewport().rect()
        super().paintEvent(event)


def test_a_changed_hint_is_painted_at_once(qtbot: QtBot) -> None:
    field = _PaintedField()
    qtbot.addWidget(field)
    field.setPlaceholderText("Message Team lead…")
    field.show()
    qtbot.waitUntil(lambda: field.whole)
    QApplication.processEvents()
    field.whole = False
    field.setPlaceholderText("Votre message à « Chef d’équipe »…")
    qtbot.waitUntil(lambda: field.whole, timeout=2000)
