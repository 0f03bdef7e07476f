"""Read-only code: font, background, line numbers, and wheel handling."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from atelier_desk.desktop.theme import mark, theme


class _Gutter(QWidget):
    """The gutter, which scrolls with the lines."""

    def __init__(self, text: CodeText) -> None:
        super().__init__(text)
        self._text = text

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._text.font())
        for number, top, height in self._text.lines_in_view():
            self._text.paint_gutter(painter, QRect(0, top, self.width(), height), number)
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._text.wheelEvent(event)


class CodeText(QPlainTextEdit):
    """Read-only text in the code font.

    Args:
        scrolls: it scrolls by itself; otherwise it is as high as its text, and the wheel scrolls its container, with
            Shift horizontally.
        ground: token of its background; empty for its container's.
    """

    def __init__(self, parent: QWidget | None = None, *, scrolls: bool = True, ground: str = "") -> None:
        super().__init__(parent)
        mark(self, "plain")
        self._scrolls, self._ground_token = scrolls, ground
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        if not scrolls:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self._gutter = _Gutter(self)
        self.blockCountChanged.connect(lambda _count: self._fit_gutter())
        self.updateRequest.connect(self._on_update)

    def apply_style(self) -> None:
        """Apply font, background and gutter of the current theme."""
        font = theme().font(13, mono=True)
        font.setFeature(QFont.Tag("calt"), 0)  # code as written: no ligatures for "->" and "---"
        self.setFont(font)
        ground = (
            f"background: {getattr(theme().tokens, self._ground_token)}; border: none;" if self._ground_token else ""
        )
        self.setStyleSheet(
            f"QPlainTextEdit {{ font-family: '{font.family()}'; font-size: {font.pixelSize()}px; {ground} }}"
        )
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self._fit_gutter()
        self.viewport().update()

    @property
    def gutter_width(self) -> int:
        """Width of the gutter in pixels."""
        return 0

    def paint_gutter(self, painter: QPainter, line: QRect, number: int) -> None:
        """Paint the gutter of a line, counted from 0."""

    def line_height(self) -> float:
        """Pixels from one line to the next."""
        block = self.document().firstBlock()
        return self.blockBoundingRect(block).height() / max(1, block.lineCount())

    def lines_in_view(self) -> list[tuple[int, int, int]]:
        """Number, top and height of each visible line, in viewport pixels."""
        found = []
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top < self.viewport().height():
            height = self.blockBoundingRect(block).height()
            found.append((block.blockNumber(), round(top), round(top + height) - round(top)))
            top += height
            block = block.next()
        return found

    def repaint_gutter(self) -> None:
        """Repaint the gutter after its content changed."""
        self._gutter.update()

    def _on_update(self, _area: QRect, down: int) -> None:
        if down:
            self._gutter.scroll(0, down)
        self._gutter.update()

    def _fit_gutter(self) -> None:
        wide = self.gutter_width
        if wide != self.viewportMargins().left() and wide:
            self.setViewportMargins(wide, 0, 0, 0)
        area = self.contentsRect()
        self._gutter.setGeometry(area.left(), area.top(), wide, area.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_gutter()

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(event.angleDelta().x()) > abs(
            event.angleDelta().y()
        )
        if self._scrolls or sideways:
            super().wheelEvent(event)
        else:
            event.ignore()
