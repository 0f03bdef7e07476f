"""Highlighted source with line numbers; the lines of one entity are marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QPainter, QTextCursor, QTextFormat
from PySide6.QtWidgets import QTextEdit, QWidget

from atelier_desk.desktop.chat.markdown.syntax_highlighter import Highlighter
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.code_text import CodeText
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import number

FOUND = 2_000
"""Maximum number of matches shown."""


class SourceText(CodeText):
    """``code-text``: read only.

    Signals:
        line_reached: the cursor moved to another line, counted from 1.
    """

    line_reached = Signal(int)

    def __init__(self, parent: QWidget) -> None:
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

    def show_source(self, text: str, path: str, first: int, last: int) -> None:
        """Show a file, with lines ``first`` to ``last`` marked and visible."""
        if text != self.toPlainText() or self._language != f"file:{path}":
            self._quiet = True
            self.setPlainText(text)
            self._quiet = False
            self._language = f"file:{path}"
            self._highlighter.start(text, self._language)
        self.mark_lines(first, last)

    def mark_lines(self, first: int, last: int) -> None:
        """Mark these lines, and go to the first."""
        count = self.blockCount()
        self.first = min(max(first, 0), count)
        self.last = min(max(last, self.first), count)
        self._mark()
        self.go_to_line(max(1, self.first))

    def go_to_line(self, line: int) -> None:
        """Move the cursor to the start of a line, scrolled to a third below the top."""
        block = self.document().findBlockByNumber(min(max(line, 1), self.blockCount()) - 1)
        self._quiet = True
        self.setTextCursor(QTextCursor(block))
        self._quiet = False
        self._line = block.blockNumber() + 1
        seen = max(1, self.viewport().height() // max(1, self.fontMetrics().lineSpacing()))
        self.verticalScrollBar().setValue(max(0, block.blockNumber() - seen // 3))
        self.horizontalScrollBar().setValue(0)

    def places_of(self, needle: str) -> list[QTextCursor]:
        """Matches of a text, ignoring case; at most ``FOUND``, from the top."""
        places: list[QTextCursor] = []
        place = self.document().find(needle) if needle else QTextCursor()
        while not place.isNull() and len(places) <= FOUND:
            places.append(place)
            place = self.document().find(needle, place)
        self.found_more = len(places) > FOUND
        return places[:FOUND]

    def show_found(self, places: Sequence[QTextCursor]) -> None:
        """Highlight these matches."""
        self.found, self._found_at = list(places), -1
        self.found_more = self.found_more and bool(places)
        self._mark()

    def show_match(self, row: int, *, move: bool = True) -> None:
        """Emphasize one match and scroll to it, without changing the selected entity."""
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
        """Replace the text after a change of the file; scroll position and cursor line stay."""
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
        """The cursor's line, from 1."""
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
        """Paint a line's number, emphasized for marked lines."""
        painter.fillRect(line, theme().colour("code"))
        painter.setPen(theme().colour("accent" if self.first <= number + 1 <= self.last else "muted"))
        place = line.adjusted(0, 0, -theme().px(10), 0)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(number + 1))

    def apply_style(self) -> None:
        super().apply_style()
        self._mark()
        if self._language:
            self._highlighter.start(self.toPlainText(), self._language)
