"""The pieces a message is made of: each knows its height at a width, and says when that changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QImage,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QWidget

from atelier_desk.desktop.chat.markdown.writer import QUOTE_DEPTH, ImageCheck, Writer, refuse_images
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import say
from atelier_desk.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.markdown.parser import Block

_OPENABLE = {"http", "https", "mailto"}
MAX_IMAGE_SIDE = 4096


class Fitting(Protocol):
    """A widget that lays itself out for a width."""

    def fit(self, width: int) -> int:
        """Take this width and return the height needed, in logical pixels."""
        ...


class ProseBlock(QTextBrowser):
    """Text with its formats, selectable, as high as its content.

    Signals:
        height_changed: call ``fit`` again.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None, image: ImageCheck = refuse_images) -> None:
        super().__init__(parent)
        self._image = image
        self._quotes = False
        mark(self, "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)  # the width is given by ``fit``, not by the widget's own size
        self.setOpenLinks(False)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        say(self, name=N_("Text"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the message has one menu for all its parts
        self.anchorClicked.connect(_open_link)
        self._writer = Writer(self.document(), image)

    def append_blocks(self, blocks: Iterable[Block]) -> None:
        """Add finished blocks at the end."""
        for block in blocks:
            self._quotes = self._quotes or any(token.type == "blockquote_open" for token in block.tokens)
            if any(each.type == "link_open" for token in block.tokens for each in token.children or ()):
                self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # its links are followed with Tab and Enter
            self._writer.write(block.tokens)

    def show_blocks(self, blocks: Iterable[Block]) -> None:
        """Replace everything."""
        self.document().clear()
        self._writer = Writer(self.document(), self._image)
        self._quotes = False
        self.append_blocks(blocks)

    def show_plain(self, text: str) -> None:
        """Plain text, line breaks kept."""
        self.document().clear()
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
        """The width the text would take on its own, at most ``most``."""
        self.setLineWrapColumnOrWidth(most)
        return min(most, math.ceil(self.document().idealWidth()) + 2)

    def loadResource(self, kind: int, url: QUrl | str) -> Any:
        """Pictures come from allowed files alone, shrunk to the column; style sheets and pages are never loaded."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return None
        path = self._image(url.toString() if isinstance(url, QUrl) else url)
        if path is None:
            return None
        image = QImage(path)
        if image.isNull() or max(image.width(), image.height()) > MAX_IMAGE_SIDE:
            return None
        widest = max(80, self.width() - 4)
        return image.scaledToWidth(widest, Qt.TransformationMode.SmoothTransformation) if image.width() > widest else image

    def highlight(self, needle: str) -> int:
        """Mark every place of ``needle`` (no case); an empty one clears. Returns how many there are."""
        marks: list[QTextEdit.ExtraSelection] = []
        if needle:
            form = QTextCharFormat()
            form.setBackground(QColor(theme().tokens.warn_soft))
            form.setForeground(QColor(theme().tokens.text))
            form.setFontUnderline(True)
            cursor = self.document().find(needle)
            while not cursor.isNull():
                selection = QTextEdit.ExtraSelection()
                selection.cursor, selection.format = cursor, form
                marks.append(selection)
                cursor = self.document().find(needle, cursor)
        self.setExtraSelections(marks)
        return len(marks)

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

    def _paint_quote_bars(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        colour = theme().colour("border")
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
                    painter.fillRect(QRectF(level * step, top, 3, box.bottom() - top), colour)
            previous = depth
            block = block.next()
        painter.end()


class RuleBlock(QFrame):
    """A line across the column."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        mark(self, "line")

    def fit(self, width: int) -> int:
        return 1

    def highlight(self, needle: str) -> int:
        return 0


class TableBlock(ProseBlock):
    """One table; a table wider than the column scrolls sideways inside itself."""

    def __init__(self, parent: QWidget | None = None, image: ImageCheck = refuse_images) -> None:
        super().__init__(parent, image)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def fit(self, width: int) -> int:
        height = super().fit(width)
        wide = self.document().idealWidth() > width + 1 or self.document().size().width() > width + 1
        return height + (self.horizontalScrollBar().sizeHint().height() if wide else 0)


def _open_link(url: QUrl) -> None:
    """Open web and mail addresses in their own programs; nothing else."""
    if url.scheme() in _OPENABLE:
        QDesktopServices.openUrl(url)
