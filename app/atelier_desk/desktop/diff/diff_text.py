"""The text of one side of a diff: lines with numbers and signs in a gutter, on coloured backgrounds."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.diff.unified_diff_parser import Row
from atelier_desk.desktop.theme import Tokens, theme
from atelier_desk.desktop.widgets.code_text import CodeText
from atelier_desk.support.i18n import _

Span = tuple[int, int, str]
"""Start, end (exclusive) and colour of a part of a line."""
SIGNS = {"added": "+", "removed": "−"}


class DiffText(CodeText):
    """Read-only lines of a diff.

    Args:
        columns: the numbers in the gutter: ``old``, ``new``, or both.
        scrolls: it scrolls by itself; otherwise it is as high as its text, and the wheel scrolls its container.
    """

    def __init__(self, columns: Sequence[str], parent: QWidget, *, scrolls: bool) -> None:
        super().__init__(parent, scrolls=scrolls)
        self._columns = tuple(columns)
        self._rows: list[Row] = []
        self.places: list[int] = []
        self.apply_style()

    def show_rows(self, rows: list[Row], places: list[int]) -> None:
        """Show the rows with these numbers, -1 for an empty line."""
        self._rows, self.places = rows, places
        self.setPlainText("\n".join(self._words_of(place) for place in places))
        self.apply_style()

    @property
    def gutter_width(self) -> int:
        """Width of numbers and signs in pixels."""
        return self._number_width * len(self._columns) + self._sign_width

    @property
    def text_height(self) -> int:
        """Height of all lines in pixels."""
        height = self.line_height() or self.fontMetrics().height()
        wide = self.horizontalScrollBar().sizeHint().height() if self._too_wide() else 0
        return round(height * self.document().blockCount()) + wide + 2

    def colour(self, number: int, syntax: Sequence[Span], words: Sequence[Span]) -> None:
        """Highlight a line: its syntax, and the background of changed words."""
        block = self.document().findBlockByNumber(number)
        text = block.text()
        ranges = []
        for spans, ground in ((syntax, False), (words, True)):
            for first, last, colour in spans:
                form = QTextCharFormat()
                if ground:
                    form.setBackground(QColor(colour))
                    form.setForeground(QColor(theme().tokens.text))
                else:
                    form.setForeground(QColor(colour))
                made = QTextLayout.FormatRange()
                made.start, made.length, made.format = _units(text[:first]), _units(text[first:last]), form
                ranges.append(made)
        block.layout().setFormats(ranges)
        self.document().markContentsDirty(block.position(), block.length())

    def scroll_to(self, number: int) -> None:
        """Scroll a line to the top, and move the cursor to it."""
        cursor = self.textCursor()
        cursor.setPosition(self.document().findBlockByNumber(number).position())
        self.setTextCursor(cursor)
        self.verticalScrollBar().setValue(number)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        for number, top, height in self.lines_in_view():
            ground = self._ground(number, theme().tokens)
            if ground:
                painter.fillRect(QRect(0, top, self.viewport().width(), height), QColor(ground))
        painter.end()
        super().paintEvent(event)

    def paint_gutter(self, painter: QPainter, line: QRect, number: int) -> None:
        tokens, row = theme().tokens, self._row(number)
        ground = self._ground(number, tokens)
        if ground:
            painter.fillRect(line, QColor(ground))
        if row is None or row.kind in ("hunk", "note"):
            return
        painter.setPen(QColor(tokens.text if ground else tokens.muted))
        for column, which in enumerate(self._columns):
            shown = row.old if which == "old" else row.new
            if shown is not None:
                box = QRect(column * self._number_width, line.top(), self._number_width - self._space, line.height())
                painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(shown))
        if row.kind in SIGNS:
            painter.setPen(QColor(tokens.ok_text if row.kind == "added" else tokens.err_text))
            box = QRect(line.right() + 1 - self._sign_width, line.top(), self._sign_width, line.height())
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), SIGNS[row.kind])

    def _row(self, number: int) -> Row | None:
        place = self.places[number] if number < len(self.places) else -1
        return self._rows[place] if place >= 0 else None

    def _ground(self, number: int, tokens: Tokens) -> str:
        if number < len(self.places) and self.places[number] < 0:
            return tokens.sunken
        row = self._row(number)
        if row is None:
            return ""
        return {"added": tokens.ok_soft, "removed": tokens.err_soft, "hunk": tokens.accent_soft}.get(row.kind, "")

    def _words_of(self, place: int) -> str:
        if place < 0:
            return ""
        row = self._rows[place]
        if row.kind != "hunk":
            return row.text
        shown = row.new if "new" in self._columns else row.old
        line = shown or row.old or row.new  # 0 on the side of an empty file
        return _("Line {number}", number=line) + (f" · {row.text}" if row.text else "")

    @property
    def _space(self) -> int:
        return theme().px(4)

    @property
    def _number_width(self) -> int:
        most = max((row.old or row.new or 0 for row in self._rows), default=0)
        return self.fontMetrics().horizontalAdvance("9" * max(2, len(str(most)))) + 2 * self._space

    @property
    def _sign_width(self) -> int:
        return self.fontMetrics().horizontalAdvance("−") + 2 * self._space

    def _too_wide(self) -> bool:
        longest = max((len(self._words_of(place)) for place in self.places), default=0)
        return self.fontMetrics().horizontalAdvance("m") * longest > self.viewport().width()


def _units(text: str) -> int:
    """Length in UTF-16 units, in which Qt counts."""
    return len(text.encode("utf-16-le")) // 2
