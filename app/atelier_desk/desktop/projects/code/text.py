"""Source with line numbers, coloured, and with the lines of one entity marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QResizeEvent, QTextBlock, QTextCursor, QTextFormat
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from atelier_desk.desktop.chat.search.highlight import Highlighter
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, say
from atelier_desk.figures import number
from atelier_desk.i18n import N_, _

FOUND = 2_000
"""Places that are shown of what is looked for."""


class _Numbers(QWidget):
    """The column of line numbers."""

    def __init__(self, text: SourceText) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        return QSize(self._text.gutter(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._text.paint_numbers(event)


class SourceText(QPlainTextEdit):
    """``code-text``: read only.

    Signals:
        line_reached: the cursor was put into another line, from 1.
    """

    line_reached = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("code-text")
        mark(self, "plain")
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setCursorWidth(2)
        self.first, self.last = 0, 0
        """The marked lines, from 1; 0 for none."""
        self.found: list[QTextCursor] = []
        """The places of what is looked for; ``found_more`` when there are others after them."""
        self.found_more = False
        self._found_at = -1
        self._language = ""
        self._line = 0
        self._quiet = False
        self._numbers = _Numbers(self)
        self._highlighter = Highlighter(self.document())
        self.blockCountChanged.connect(lambda _count: self._fit())
        self.updateRequest.connect(self._on_update)
        self.cursorPositionChanged.connect(self._on_cursor)
        say(self, name=N_("Source"))
        bind(self._dress, on="look")

    # -- content ----------------------------------------------------------------------------------------------------------------

    def show_source(self, text: str, path: str, first: int = 0, last: int = 0) -> None:
        """Show a file, with the lines ``first`` to ``last`` marked and in view."""
        if text != self.toPlainText() or self._language != f"file:{path}":
            self._quiet = True
            self.setPlainText(text)
            self._quiet = False
            self._language = f"file:{path}"
            self._highlighter.start(text, self._language)
        self.mark_lines(first, last)

    def mark_lines(self, first: int, last: int) -> None:
        """Mark these, and go to the first."""
        count = self.blockCount()
        self.first = min(max(first, 0), count)
        self.last = min(max(last, self.first), count)
        self._mark()
        self.go_to(max(1, self.first))

    def go_to(self, line: int) -> None:
        """The cursor at the start of a line, which comes a third below the top."""
        block = self.document().findBlockByNumber(min(max(line, 1), self.blockCount()) - 1)
        self._quiet = True
        self.setTextCursor(QTextCursor(block))
        self._quiet = False
        self._line = block.blockNumber() + 1
        seen = max(1, self.viewport().height() // max(1, self.fontMetrics().lineSpacing()))
        self.verticalScrollBar().setValue(max(0, block.blockNumber() - seen // 3))
        self.horizontalScrollBar().setValue(0)

    def places_of(self, needle: str) -> list[QTextCursor]:
        """Where a text stands, in upper or lower case; at most ``FOUND`` places, from the top."""
        places: list[QTextCursor] = []
        place = self.document().find(needle) if needle else QTextCursor()
        while not place.isNull() and len(places) <= FOUND:
            places.append(place)
            place = self.document().find(needle, place)
        self.found_more = len(places) > FOUND
        return places[:FOUND]

    def show_found(self, places: Sequence[QTextCursor]) -> None:
        """Mark these places."""
        self.found, self._found_at = list(places), -1
        self.found_more = self.found_more and bool(places)
        self._mark()

    def go_to_found(self, row: int, *, move: bool = True) -> None:
        """Mark one of the marked places more strongly and bring it into view, without leaving the part that is chosen."""
        self._found_at = row
        if not move:
            self._mark()
            return
        self._quiet = True
        place = QTextCursor(self.found[row])
        place.setPosition(place.selectionStart())
        self.setTextCursor(place)
        self._line = self.line
        self.ensureCursorVisible()
        self._quiet = False
        self._mark()

    def renew(self, text: str, first: int, last: int) -> None:
        """The file has another text now: what was in view stays there, and the cursor in its line."""
        line, top, left = self.line, self.verticalScrollBar().value(), self.horizontalScrollBar().value()
        self._quiet = True
        self.setPlainText(text)
        self.setTextCursor(QTextCursor(self.document().findBlockByNumber(min(line, self.blockCount()) - 1)))
        self._line = self.line
        self._quiet = False
        self._highlighter.start(text, self._language)
        self.first, self.last = min(max(first, 0), self.blockCount()), min(max(last, first), self.blockCount())
        self.found, self._found_at = [], -1
        self._mark()
        self.verticalScrollBar().setValue(top)
        self.horizontalScrollBar().setValue(left)

    @property
    def line(self) -> int:
        """That of the cursor, from 1."""
        return self.textCursor().blockNumber() + 1

    def _on_cursor(self) -> None:
        if self.line != self._line and not self._quiet:
            self._line = self.line
            self.line_reached.emit(self._line)
        self.setAccessibleDescription(_("line {number}", number=number(self.line)))
        self._numbers.update()

    def _mark(self) -> None:
        marks = []
        if self.first:
            form = QTextEdit.ExtraSelection()
            form.format.setBackground(theme().colour("accent_soft"))
            form.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            block = self.document().findBlockByNumber(self.first - 1)
            while block.isValid() and block.blockNumber() < self.last:
                one = QTextEdit.ExtraSelection()
                one.format = form.format
                one.cursor = QTextCursor(block)
                marks.append(one)
                block = block.next()
        for row, place in enumerate(self.found):
            one = QTextEdit.ExtraSelection()
            one.cursor = place
            here = row == self._found_at
            one.format.setBackground(theme().colour("accent" if here else "warn_soft"))
            one.format.setForeground(theme().colour("on_accent" if here else "text"))
            marks.append(one)
        self.setExtraSelections(marks)

    # -- line numbers -----------------------------------------------------------------------------------------------------------

    def gutter(self) -> int:
        """Width of the line numbers, in pixels."""
        digits = max(3, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("9") * digits + theme().px(20)

    def _fit(self) -> None:
        self.setViewportMargins(self.gutter(), 0, 0, 0)
        area = self.contentsRect()
        self._numbers.setGeometry(QRect(area.left(), area.top(), self.gutter(), area.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _on_update(self, area: QRect, by: int) -> None:
        if by:
            self._numbers.scroll(0, by)
        else:
            self._numbers.update(0, area.y(), self._numbers.width(), area.height())

    def paint_numbers(self, event: QPaintEvent) -> None:
        """The numbers of the lines in view; those of the marked ones stand out."""
        look = theme()
        painter = QPainter(self._numbers)
        painter.fillRect(event.rect(), look.colour("code"))
        painter.setFont(self.font())
        block: QTextBlock = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        wide = self._numbers.width() - look.px(10)
        marked, plain = QColor(look.tokens.accent), QColor(look.tokens.muted)
        while block.isValid() and top <= event.rect().bottom():
            high = self.blockBoundingRect(block).height()
            line = block.blockNumber() + 1
            painter.setPen(marked if self.first <= line <= self.last else plain)
            painter.drawText(
                QRect(0, round(top), wide, round(high)), int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(line)
            )
            top += high
            block = block.next()
        painter.end()

    # -- look -------------------------------------------------------------------------------------------------------------------

    def _dress(self) -> None:
        font = theme().font(13, mono=True)
        font.setFeature(QFont.Tag("calt"), 0)  # code as it is written
        self.setFont(font)
        ground = theme().tokens.code
        self.setStyleSheet(
            f"QPlainTextEdit {{ font-family: '{font.family()}'; font-size: {font.pixelSize()}px; background: {ground}; border: none; }}"
        )
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self._fit()
        self._mark()
        if self._language:
            self._highlighter.start(self.toPlainText(), self._language)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_numbers"):
            self._fit()
