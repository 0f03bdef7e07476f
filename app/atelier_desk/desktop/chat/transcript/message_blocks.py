"""The blocks of a message: each computes its height for a width, and signals changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QGuiApplication,
    QImage,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QWidget

from atelier_desk.desktop.chat.markdown.document_writer import (
    CHECKED,
    FORMULA,
    FORMULA_PX,
    ISOLATE,
    QUOTE_COLOUR,
    QUOTE_DEPTH,
    ImageCheck,
    Writer,
    refuse_images,
    show_formula,
)
from atelier_desk.desktop.chat.markdown.formula import formulas
from atelier_desk.desktop.chat.search.match_highlights import places
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import IconButton, bind_text
from atelier_desk.desktop.widgets.line_wrapping import LONG_RUN
from atelier_desk.desktop.widgets.untrusted_links import follow
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.markdown.parser import Block

MAX_IMAGE_SIDE = 4096
_SPOKEN_ROWS = 20
"""Rows of a table read by screen readers as its name; the rest is in its text."""


_FIRST_WIDTH = 800
"""Pixels before ``fit`` is called: with none, each letter would be a line of its own."""


class ProseBlock(QTextBrowser):
    """Formatted, selectable text, as high as its content.

    Signals:
        height_changed: call ``fit`` again.
    """

    height_changed = Signal()
    wraps = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere

    def __init__(self, parent: QWidget | None = None, image: ImageCheck = refuse_images) -> None:
        super().__init__(parent)
        self._image = image
        self._quotes = False
        self._awaits = False
        self._needle = ""
        mark(self, "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The width is set by ``fit``, not by the widget's size.
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setOpenLinks(False)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        bind_text(self, name=N_("Text"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the message has one menu for all its parts
        self.anchorClicked.connect(lambda url: follow(url, self))
        self._writer = Writer(self.document(), image)
        self.setLineWrapColumnOrWidth(_FIRST_WIDTH)

    def append_blocks(self, blocks: Iterable[Block]) -> None:
        """Append finished blocks."""
        for block in blocks:
            self._wrap_for(*(token.content for token in block.tokens))
            self._quotes = self._quotes or any(token.type == "blockquote_open" for token in block.tokens)
            if any(each.type == "link_open" for token in block.tokens for each in token.children or ()):
                self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # its links are followed with Tab and Enter
            self._writer.write(block.tokens)
        self._await_formulas()

    def _wrap_for(self, *texts: str) -> None:
        if self.wraps is not QTextOption.WrapMode.WordWrap and any(map(LONG_RUN.search, texts)):
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)

    def _await_formulas(self) -> None:
        """Subscribe when the first undrawn formula is added; its source is shown until then."""
        sources = self._writer.formulas
        if sources:
            self.setAccessibleDescription(visible("; ".join(sources)))
        if not self._awaits and not all(formulas().want(each) for each in sources):
            self._awaits = True
            formulas().drawn.connect(self._on_drawn)

    def _on_drawn(self, source: str) -> None:
        if source in self._writer.formulas:
            places = [place for place in _formula_places(self.document()) if place[2] == source and not place[4]]
            for start, end, _source, form, _drawn in reversed(places):
                px, colour = form.intProperty(FORMULA_PX), form.foreground().color().name()
                show_formula(self.document(), start, end, source, px, colour, theme())
            if places:
                self.height_changed.emit()

    def selected_source(self) -> str:
        """The selected text, formulas as source."""
        cursor = self.textCursor()
        return _source_between(self.document(), cursor.selectionStart(), cursor.selectionEnd())

    def createMimeDataFromSelection(self) -> QMimeData:
        data = super().createMimeDataFromSelection()
        if self._writer.formulas or self._writer.isolates:
            data = QMimeData()
            data.setText(self.selected_source())
        return data

    def show_blocks(self, blocks: Iterable[Block]) -> None:
        """Replace all content."""
        self.document().clear()
        self.setWordWrapMode(self.wraps)
        self._writer = Writer(self.document(), self._image)
        self._quotes = False
        self.append_blocks(blocks)

    def show_plain(self, text: str) -> None:
        """Show plain text with line breaks."""
        self.document().clear()
        self.setWordWrapMode(self.wraps)
        self._wrap_for(text)
        self._writer = Writer(self.document(), self._image)
        cursor = QTextCursor(self.document())
        form = cursor.blockFormat()
        form.setLineHeight(135, 1)
        cursor.setBlockFormat(form)
        chars = QTextCharFormat()
        chars.setFont(theme().font(14))
        chars.setForeground(theme().colour("text"))
        cursor.insertText(text, chars)

    def fit(self, width: int) -> int:
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
        return math.ceil(self.document().size().height())

    def natural_width(self, most: int) -> int:
        """The text's own width, at most ``most`` pixels."""
        self.setLineWrapColumnOrWidth(most)
        return min(most, math.ceil(self.document().idealWidth()) + 2)

    def loadResource(self, kind: int, url: QUrl | str) -> object:
        """Load images only from allowed files, scaled to the column; style sheets and pages are never loaded."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return None
        path = self._image(url.toString() if isinstance(url, QUrl) else url)
        if path is None:
            return None
        image = QImage(path)
        if image.isNull() or max(image.width(), image.height()) > MAX_IMAGE_SIDE:
            return None
        widest = max(80, self.width() - 4)
        return (
            image.scaledToWidth(widest, Qt.TransformationMode.SmoothTransformation) if image.width() > widest else image
        )

    def highlight(self, needle: str) -> int:
        """Highlight all matches of ``needle``, ignoring case; empty clears. Returns their number."""
        self._needle = needle
        marks = places(self.document(), needle)
        self.setExtraSelections(marks)
        return len(marks)

    def place_of(self, number: int) -> int:
        """Distance in pixels from the top to match ``number`` (from 0), which becomes the current one."""
        marks = places(self.document(), self._needle, number)
        self.setExtraSelections(marks)
        return self.cursorRect(marks[min(number, len(marks) - 1)].cursor).top() if marks else 0

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def sizeHint(self) -> QSize:
        return QSize(200, 24)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._quotes:
            self._paint_quote_bars(event)
        if self._writer.boxes:
            self._paint_boxes(event)

    def _paint_boxes(self, event: QPaintEvent) -> None:
        """Paint the check boxes of task lists in place of markers."""
        painter = QPainter(self.viewport())
        layout = self.document().documentLayout()
        side, ratio = theme().px(15), self.devicePixelRatioF()
        block = self.document().begin()
        while block.isValid():
            checked = block.blockFormat().property(CHECKED)
            box = layout.blockBoundingRect(block)
            if checked is not None and box.intersects(QRectF(event.rect()).adjusted(0, -40, 0, 40)):
                line = block.layout().lineAt(0)
                top = block.layout().position().y() + line.y() + line.ascent() - theme().px(12)
                left = block.layout().position().x() + line.x() - theme().px(5) - side
                picture = theme().pixmap(
                    "square-check" if checked else "square", "accent" if checked else "muted", side, ratio
                )
                painter.drawPixmap(QPointF(left, top), picture)
            block = block.next()
        painter.end()

    def _paint_quote_bars(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        layout = self.document().documentLayout()
        step = theme().px(16)
        block = self.document().begin()
        previous = 0
        while block.isValid():
            depth = block.blockFormat().intProperty(QUOTE_DEPTH)
            box = layout.blockBoundingRect(block)
            if depth and box.intersects(QRectF(event.rect()).adjusted(0, -40, 0, 40)):
                top = box.top() - (block.blockFormat().topMargin() if previous else 0)
                for level in range(depth):
                    alert = block.blockFormat().stringProperty(QUOTE_COLOUR) if level == depth - 1 else ""
                    colour = theme().colour(alert or "border")
                    left = float(level * step)
                    if block.textDirection() is Qt.LayoutDirection.RightToLeft:
                        left = self.document().size().width() - left - 3
                    painter.fillRect(QRectF(left, top, 3, box.bottom() - top), colour)
            previous = depth
            block = block.next()
        painter.end()


class RuleBlock(QFrame):
    """A horizontal rule."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        mark(self, "line")

    def fit(self, width: int) -> int:
        return 1

    def highlight(self, needle: str) -> int:
        return 0

    def place_of(self, number: int) -> int:
        return 0


class TableBlock(ProseBlock):
    """A table; if wider than the column it scrolls horizontally, also with Shift and the wheel.

    Its copy button is visible on hover.
    """

    wraps = QTextOption.WrapMode.WordWrap
    """# a column is at least as wide as its longest word"""

    def __init__(self, parent: QWidget | None = None, image: ImageCheck = refuse_images) -> None:
        super().__init__(parent, image)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setWordWrapMode(self.wraps)
        self._copy = _Unseen("copy", N_("Copy table"), self, size=14)
        self._copy.setObjectName("table-copy")
        self._copy.clicked.connect(lambda *_: self.copy_table())

    def fit(self, width: int) -> int:
        height = super().fit(width)
        used = self.document().size().width()
        wide = self.document().idealWidth() > width + 1 or used > width + 1
        side = self._copy.sizeHint().width()
        column = min(round(self.document().idealWidth()) + 6, width - side - 4)
        self._copy.move(width - side - column if self._mirrored else column, 4)
        return height + (self.horizontalScrollBar().sizeHint().height() if wide else 0)

    def append_blocks(self, blocks: Iterable[Block]) -> None:
        super().append_blocks(blocks)
        cells = "; ".join(row.replace("\t", ", ") for row in self.cells().split("\n")[:_SPOKEN_ROWS])
        bind_text(self, name=lambda: _("Table: {cells}", cells=cells))
        if not self.textCursor().hasSelection() and (table := self._table) is not None:
            # Writing moved the cursor to the end, and the view follows it.
            self.setTextCursor(table.cellAt(0, table.columns() - 1 if self._mirrored else 0).firstCursorPosition())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll horizontally as far as possible; vertical scrolling goes to the transcript."""
        turned, bar = event.angleDelta(), self.horizontalScrollBar()
        sideways = turned.y() if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else turned.x()
        if not sideways or bar.maximum() == 0:
            super().wheelEvent(event)
            return
        bar.setValue(bar.value() - round(sideways / 120 * 3 * bar.singleStep()))
        event.accept()

    def copy_table(self) -> None:
        """Copy the cells separated by tabs for spreadsheets, and as a table for word processors."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        data = QMimeData()
        data.setText(self.cells())
        data.setHtml(cursor.selection().toHtml())
        QGuiApplication.clipboard().setMimeData(data)

    @property
    def _table(self) -> QTextTable | None:
        return next((each for each in self.document().rootFrame().childFrames() if isinstance(each, QTextTable)), None)

    @property
    def _mirrored(self) -> bool:
        """Whether the first column is on the right."""
        return self._table is not None and self._table.format().layoutDirection() is Qt.LayoutDirection.RightToLeft

    def cells(self) -> str:
        """The text of the table: a line per row, tabs between cells."""
        table = self._table
        if table is None:
            return ""
        rows = []
        for row in range(table.rows()):
            found = [table.cellAt(row, column) for column in range(table.columns())]
            if self._mirrored:
                found.reverse()
            spans = [(cell.firstCursorPosition().position(), cell.lastCursorPosition().position()) for cell in found]
            rows.append("\t".join(_source_between(self.document(), *span).replace("\n", " ") for span in spans))
        return "\n".join(rows)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._copy.show_it(True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._copy.show_it(False)


class _Unseen(IconButton):
    """A button always in the tab order, painted only while focused or shown."""

    _shown = False

    def show_it(self, on: bool) -> None:
        self._shown = on
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shown or self.hasFocus():
            super().paintEvent(event)


def _formula_places(document: QTextDocument) -> list[tuple[int, int, str, QTextCharFormat, bool]]:
    """Parts of a document displayed differently from their source, in order.

    Each as start, end, source, format, and whether the source is copied in its place: True for formulas drawn as
    images, False for the isolates around code.
    """
    found: list[tuple[int, int, str, QTextCharFormat, bool]] = []
    block = document.begin()
    while block.isValid():
        fragments = block.begin()
        while not fragments.atEnd():
            fragment = fragments.fragment()
            form = fragment.charFormat()
            if form.boolProperty(ISOLATE):
                found.append((fragment.position(), fragment.position() + fragment.length(), "", form, True))
            elif source := form.stringProperty(FORMULA):
                found.append(
                    (fragment.position(), fragment.position() + fragment.length(), source, form, form.isImageFormat())
                )
            fragments += 1
        block = block.next()
    return found


def _source_between(document: QTextDocument, first: int, last: int) -> str:
    """A part of a document as text, formulas as source."""
    text, at = [], first
    for start, end, source, _form, drawn in _formula_places(document):
        if drawn and first <= start and end <= last:
            text += [_between(document, at, start), source]
            at = end
    text.append(_between(document, at, last))
    return "".join(text)


def _between(document: QTextDocument, start: int, end: int) -> str:
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText().replace("\u2029", "\n").replace("\u2028", "\n")
