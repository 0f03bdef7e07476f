"""The text field of an answer: multi-line, grows with its text, shows a counter near the limit."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QSizePolicy, QWidget

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.questions.digit_keys import digit_of
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain import limits
from atelier_desk.support.i18n import _

NEAR = 0.9
"""Share of the limit from which the counter is shown."""


class _Editor(TextField):
    """Tab leaves the field; keys that submit, toggle or close are left to its container.

    Signals:
        resized: its width changed.
    """

    resized = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.enter_sends = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.resized.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        toggles = event.modifiers() == Qt.KeyboardModifier.AltModifier and digit_of(event)
        if toggles or event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)


class AnswerField(QWidget):
    """``question-answer`` with its counter.

    Args:
        lines: its height when empty.
        most: its maximum height in lines, then it scrolls.
        limit: maximum length of the text in characters.
    """

    changed = Signal()

    def __init__(
        self, lines: int, parent: QWidget | None = None, *, limit: int = limits.QUESTION_TEXT_RESPONSE, most: int = 8
    ) -> None:
        super().__init__(parent)
        self._lines, self._most, self._limit = lines, most, limit
        self._placeholder = ""
        self.editor = _Editor(self)
        self.editor.setObjectName("question-answer")
        self.editor.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._counter = PlainLabel(parent=self)
        self._counter.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._counter.hide()
        vbox(self, self.editor, self._counter, spacing=4)
        self.editor.textChanged.connect(self._text_changed)
        self.editor.resized.connect(self._cut_placeholder)
        self.editor.document().documentLayout().documentSizeChanged.connect(self._grow)
        bind(self._grow)

    def text(self) -> str:
        return self.editor.toPlainText()

    def set_text(self, text: str) -> None:
        """Set a previously entered text, with the cursor at its end."""
        self.editor.setPlainText(text)
        self.editor.moveCursor(QTextCursor.MoveOperation.End)

    def set_placeholder(self, text: str) -> None:
        """Set the placeholder, elided to the field's width; the tool tip has the full text."""
        self._placeholder = text
        self._cut_placeholder()

    def _cut_placeholder(self) -> None:
        # Wrapped lines are not filled completely: words are not broken.
        room = int(self.editor.viewport().width() * (self._lines - (0.3 if self._lines > 1 else 0))) - 8
        cut = self.editor.fontMetrics().elidedText(
            " ".join(self._placeholder.split()), Qt.TextElideMode.ElideRight, max(room, 0)
        )
        self.editor.setPlaceholderText(cut)
        self.editor.setToolTip(
            plain_tip(self._placeholder if cut.endswith("…") and not self._placeholder.endswith("…") else "")
        )

    def over_limit(self) -> bool:
        """Whether the text exceeds the limit."""
        return len(self.text()) > self._limit

    def _text_changed(self) -> None:
        length, limit = len(self.text()), self._limit
        self._counter.setVisible(length >= NEAR * limit)
        self._counter.setText(_("{length} / {limit} characters", length=number(length), limit=number(limit)))
        mark(self._counter, "error" if length > limit else "muted")
        self.changed.emit()

    def _grow(self) -> None:
        metrics = self.editor.fontMetrics()
        lines = min(max(self._lines, int(self.editor.document().size().height())), self._most)
        self.editor.setFixedHeight(lines * metrics.lineSpacing() + round(22 * theme().scale))
