"""Source with line numbers, coloured, and with the lines of one entity marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QPainter, QTextCursor, QTextFormat
from PySide6.QtWidgets import QTextEdit, QWidget

from atelier_desk.desktop.chat.search.highlight import Highlighter
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.code_text import CodeText
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.number_format import number

FOUND = 2_000
"""Places that are shown of what is looked for."""


class SourceText(CodeText):
    """``code-text``: read only.

    Signals:
        line_reached: the cursor was put into another line, from 1.
    """

    line_reached = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, ground="code")
        self.setObjectName("code-text")
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
        self._highlighter = Highlighter(self.document())
        self.cursorPositionChanged.connect(self._on_cursor)
        bind_text(self, name=N_("Source"))
        bind(self.apply_style, on="look")

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
        self.go_to_line(max(1, self.first))

    def go_to_line(self, line: int) -> None:
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

    def show_match(self, row: int, *, move: bool = True) -> None:
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
        self.repaint_gutter()

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

    @property
    def gutter_width(self) -> int:
        digits = max(3, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("9") * digits + theme().px(20)

    def paint_gutter(self, painter: QPainter, line: QRect, number: int) -> None:
        """Its number; that of a marked one stands out."""
        painter.fillRect(line, theme().colour("code"))
        painter.setPen(theme().colour("accent" if self.first <= number + 1 <= self.last else "muted"))
        place = line.adjusted(0, 0, -theme().px(10), 0)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(number + 1))

    def apply_style(self) -> None:
        super().apply_style()
        self._mark()
        if self._language:
            self._highlighter.start(self.toPlainText(), self._language)
