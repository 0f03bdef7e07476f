"""The text field of the composer: grows with its text, sends with Enter, accepts images, recalls sent messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QFocusEvent, QImage, QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets.enter_key import sends
from atelier_desk.desktop.widgets.input_method import composing
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.workspace_folders.controller import accept_copy, files_of, folders_of

_LINES = (1, 10)
_ADDRESS = re.compile(r"(?:https?|data|blob):\S+")
LONG = 10_000
"""Characters of a pasted text above which it is attached as a file."""


class MessageField(TextField):
    """The text field: grows from one line to ten; Enter sends, Shift+Enter starts a new line.

    Signals:
        submitted: Enter was pressed.
        files_given: files were pasted or dropped, as a list of paths.
        pictures_given: an image was pasted or dropped, as a list of one QImage.
        text_given: a text was pasted that is too long for a field.
        focus_changed: it got or lost the focus.
        resized: its size changed.
    """

    submitted = Signal()
    files_given = Signal(object)
    pictures_given = Signal(object)
    text_given = Signal(str)
    focus_changed = Signal(bool)
    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chat-input")
        mark(self, "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        composing().watch(self)
        self.accepts_files = False
        """What is pasted and dropped may go along, instead of being written."""
        self.history: Callable[[], Sequence[str]] = tuple
        """What was sent before, the oldest first."""
        self._recalled = -1
        self._unsent = ""
        self.textChanged.connect(self.fit)
        bind(self.fit)

    def fit(self) -> None:
        """Adjust the height to the text, within limits."""
        line = self.fontMetrics().lineSpacing()
        lines = round(self.document().size().height())
        shown_lines = min(max(lines, _LINES[0]), _LINES[1])
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > _LINES[1] else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )
        self.setFixedHeight(shown_lines * line + theme().px(6))

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit()
        self.resized.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if sends(event):
            if not event.isAutoRepeat():
                self.submitted.emit()
            return
        arrow = (
            event.key() in {Qt.Key.Key_Up, Qt.Key.Key_Down}
            and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        )
        if arrow and self._recall(older=event.key() == Qt.Key.Key_Up):
            return
        super().keyPressEvent(event)

    def _recall(self, *, older: bool) -> bool:
        """Up at the very start recalls older messages.

        Down at the very end recalls newer ones, and finally the unsent text.
        """
        cursor = self.textCursor()
        sent = [*reversed(list(self.history()))]
        at_edge = cursor.position() == (0 if older else len(self.toPlainText())) and not cursor.hasSelection()
        if self._recalled >= 0 and (self._recalled >= len(sent) or self.toPlainText() != sent[self._recalled]):
            self._recalled = -1  # a recalled message was edited: from now on it is a new text
        if older and self._recalled >= 0 and cursor.atEnd():
            at_edge = True  # the previous Up put the cursor there
        index = self._recalled + (1 if older else -1)
        if not at_edge or not -1 <= index < len(sent) or (not older and self._recalled < 0):
            return False
        if self._recalled < 0:
            self._unsent = self.toPlainText()
        self._recalled = index
        self.setPlainText(sent[index] if index >= 0 else self._unsent)
        self.moveCursor(cursor.MoveOperation.End)
        return True

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return (self.accepts_files and (source.hasImage() or bool(files_of(source)))) or super().canInsertFromMimeData(
            source
        )

    def insertFromMimeData(self, source: QMimeData) -> None:
        if not self.accepts_files:
            super().insertFromMimeData(source)
        elif files := files_of(source):
            self.files_given.emit(files)
        elif (picture := picture_of(source)) is not None:
            self.pictures_given.emit([picture])
        elif source.hasText() and len(source.text()) > LONG:
            self.text_given.emit(source.text())
        else:
            super().insertFromMimeData(source)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._drag(event, super().dragEnterEvent)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._drag(event, super().dragMoveEvent)

    def dropEvent(self, event: QDropEvent) -> None:
        self._drag(event, super().dropEvent)

    def _drag(self, event: QDropEvent, handle: Callable[..., None]) -> None:
        """Files and pictures are copied, even if their program would move them; a field that takes none refuses files.

        Folders are not accepted as text: the window handles them.
        """
        data = event.mimeData()
        files = files_of(data)
        if folders_of(data) or (files and not self.accepts_files):
            event.ignore()
            return
        handle(event)
        if self.accepts_files and (files or data.hasImage()) and event.isAccepted():
            accept_copy(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)


def picture_of(source: QMimeData) -> QImage | None:
    """The image in pasted or dropped data.

    Data that also contains text, such as table cells, is pasted as text. An image dragged from a browser provides
    only its address.
    """
    if source.hasImage() and all(_ADDRESS.fullmatch(line) for line in source.text().split()):
        data = source.imageData()
        if isinstance(data, QImage) and not data.isNull():
            return data
    return None
