"""Renders Markdown tokens into a QTextDocument with the theme's fonts and spacing.

HTML is neither created nor interpreted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QImage,
    QPainter,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextImageFormat,
    QTextLength,
    QTextListFormat,
    QTextTable,
    QTextTableFormat,
)

from atelier_desk.desktop.chat.markdown.draw_process import EM
from atelier_desk.desktop.chat.markdown.formula import formulas
from atelier_desk.desktop.theme import Theme, theme
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.markdown.syntax_extensions import ALERTS
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

QUOTE_DEPTH = QTextFormat.Property.UserProperty + 1
"""Block format property: the quote depth; the painter of the document draws the bars."""
QUOTE_COLOUR = QTextFormat.Property.UserProperty + 6
"""Block format property: the theme colour name of the innermost bar, if the quote is an alert."""
CODE_BLOCK = QTextFormat.Property.UserProperty + 2
CHECKED = QTextFormat.Property.UserProperty + 5
"""Block format property of a task list item: whether it is checked."""
ISOLATE = QTextFormat.Property.UserProperty + 7
"""Character format property of the isolates around code in right-to-left lines; they are not copied."""
FORMULA_PX = QTextFormat.Property.UserProperty + 4
FORMULA = QTextFormat.Property.UserProperty + 3
"""Character format property: a formula's source, on its text and on the image that replaces it."""
LINE_HEIGHT = 140
"""Percent of the font's own line height: 24 px for 14 px text."""
_GAP = 12
_QUOTE_STEP = 16
_HEADINGS = {1: (20, 600, 20), 2: (17, 600, 18), 3: (15, 600, 16), 4: (14, 600, 14), 5: (14, 600, 14), 6: (13, 600, 14)}
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_DISCS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)

_formats: dict[tuple[object, ...], QTextCharFormat] = {}
"""Character formats by style: they are requested thousands of times a second while a reply streams."""

ImageCheck = Callable[[str], str | None]
"""Returns the local file an image may be loaded from, or None if not allowed."""


def refuse_images(source: str) -> str | None:
    """An ``ImageCheck`` that refuses all images."""
    return None


def show_formula(
    document: QTextDocument, start: int, end: int, source: str, px: int, colour: str, style: Theme
) -> None:
    """Replace a formula's source between ``start`` and ``end`` by its image; an invalid one remains as source."""
    screen = QGuiApplication.primaryScreen()
    image = formulas().picture(source, px, colour, screen.devicePixelRatio() if screen else 1.0)
    drawing = formulas().drawing(source)
    if image is None or drawing is None:
        return
    digest = hashlib.sha256(f"{source}|{px}|{colour}".encode(errors="surrogatepass")).hexdigest()
    name = QUrl(f"formula:{digest}")
    scale = px / EM
    depth = drawing.depth * scale
    # An image sits on its font's descent: a font with a descent equal to the formula's depth aligns the baselines.
    font, size = style.font(14), px
    font.setPixelSize(size)
    while QFontMetricsF(font).descent() < depth and size < 400:
        size += 1
        font.setPixelSize(size)
    below = QFontMetricsF(font).descent() - depth
    document.addResource(QTextDocument.ResourceType.ImageResource.value, name, _padded(image, below))
    form = QTextImageFormat()
    form.setName(name.toString())
    form.setWidth(drawing.width * scale)
    form.setHeight(drawing.height * scale + below)
    form.setMaximumWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    form.setFont(font)
    form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)
    form.setToolTip(plain_tip(source))
    form.setProperty(FORMULA, source)
    form.setProperty(FORMULA_PX, px)
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    cursor.insertImage(form)


def _padded(image: QImage, below: float) -> QImage:
    """An image padded with empty pixels at the bottom."""
    ratio = image.devicePixelRatio()
    tall = QImage(image.width(), image.height() + round(below * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    tall.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tall)
    plain = QImage(image)
    plain.setDevicePixelRatio(1)
    painter.drawImage(0, 0, plain)
    painter.end()
    tall.setDevicePixelRatio(ratio)
    return tall


class Writer:
    """Appends blocks to a document. One writer per document; ``write`` may be called repeatedly."""

    def __init__(self, document: QTextDocument, image: ImageCheck = refuse_images, look: Theme | None = None) -> None:
        self._document = document
        self._image = image
        self._theme = look or theme()
        self._cursor = QTextCursor(document)
        self._quotes = 0
        self._alerts: list[str] = []
        self._list_formats: list[QTextListFormat] = []
        self._lists: list[object | None] = []
        self._fresh_item = False
        self._checked: bool | None = None
        self.formulas: list[str] = []
        """The sources of the formulas written so far."""
        self.boxes = False
        """A task list was written: whoever paints the document draws its boxes."""
        self.isolates = False
        """Signs around code were written that no copy has."""
        self._rtl = False
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setDefaultFont(self._theme.font(14))
        document.setIndentWidth(self._theme.px(22))

    def write(self, tokens: Iterable[Token]) -> None:
        """Append the tokens of complete top-level blocks."""
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        self._cursor.beginEditBlock()
        items = list(tokens)
        index = 0
        while index < len(items):
            if items[index].type == "table_open":
                index = self._table(items, index)
            else:
                self._block_token(items[index])
                index += 1
        self._cursor.endEditBlock()

    def _block_token(self, token: Token) -> None:
        kind = token.type
        if kind == "paragraph_open":
            self._begin(top=4 if (token.hidden or self._in_list) else _GAP)
        elif kind == "heading_open":
            level = int(token.tag[1])
            self._begin(top=_HEADINGS[level][2], heading=level)
        elif kind == "inline":
            self._inline(token.children or [])
        elif kind in {"fence", "code_block"}:
            self._code(token.content.removesuffix("\n"))
        elif kind == "hr":
            self._rule()
        elif kind in {"bullet_list_open", "ordered_list_open"}:
            self._open_list(token)
        elif kind in {"bullet_list_close", "ordered_list_close"}:
            self._list_formats.pop()
            self._lists.pop()
        elif kind == "list_item_open":
            self._fresh_item = True
            self._checked = token.meta.get("checked")
        elif kind == "math_block":
            self._begin(top=_GAP)
            middle = self._cursor.blockFormat()
            middle.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._cursor.setBlockFormat(middle)
            self._formula(token.content, self._char())
        elif kind == "list_item_close":
            if self._fresh_item:  # an empty item still has its marker
                self._begin(top=4)
            self._fresh_item = False
        elif kind == "blockquote_open":
            self._quotes += 1
            self._alerts.append(ALERTS[token.meta["alert"]][1] if "alert" in token.meta else "")
        elif kind == "blockquote_close":
            self._quotes -= 1
            self._alerts.pop()

    @property
    def _in_list(self) -> bool:
        return bool(self._list_formats)

    @property
    def _numbered(self) -> bool:
        return self._list_formats[-1].style() == QTextListFormat.Style.ListDecimal

    def _begin(self, *, top: int, heading: int = 0, code: bool = False) -> None:
        """Start a text block at the document's end, reusing an empty first one."""
        style = self._theme
        form = QTextBlockFormat()
        form.setLineHeight(LINE_HEIGHT if not code else 130, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        first = self._document.isEmpty() and self._document.blockCount() == 1
        form.setTopMargin(0 if first else style.px(top))
        form.setLeftMargin(style.px(_QUOTE_STEP) * self._quotes)
        if self._quotes:
            form.setProperty(QUOTE_DEPTH, self._quotes)
            if self._alerts and self._alerts[-1]:
                form.setProperty(QUOTE_COLOUR, self._alerts[-1])
        if heading:
            form.setHeadingLevel(heading)
        if self._in_list and not self._fresh_item:
            form.setIndent(len(self._list_formats))
        if code:
            form.setBackground(QBrush(QColor(style.tokens.code)))
            form.setProperty(CODE_BLOCK, 1)
        chars = self._char(heading=heading, mono=code)
        if first:
            self._cursor.setBlockFormat(form)
            self._cursor.setBlockCharFormat(chars)
        else:
            self._cursor.insertBlock(form, chars)
            current = self._cursor.currentList()
            if current is not None and not (self._in_list and self._fresh_item):
                current.remove(self._cursor.block())
                self._cursor.setBlockFormat(form)
        if self._in_list and self._fresh_item:
            self._join_list()
            if self._checked is not None and self._numbered:
                self._cursor.insertText("☑ " if self._checked else "☐ ", self._char())
            elif self._checked is not None:
                boxed = self._cursor.blockFormat()
                boxed.setProperty(CHECKED, self._checked)
                self._cursor.setBlockFormat(boxed)
                self.boxes = True
            self._fresh_item, self._checked = False, None

    def _open_list(self, token: Token) -> None:
        depth = len(self._list_formats)
        form = QTextListFormat()
        form.setIndent(depth + 1)
        if token.type == "ordered_list_open":
            form.setStyle(QTextListFormat.Style.ListDecimal)
            start = token.attrGet("start")
            if isinstance(start, int):
                form.setStart(start)
        else:
            form.setStyle(_DISCS[min(depth, len(_DISCS) - 1)])
        self._list_formats.append(form)
        self._lists.append(None)
        self._fresh_item = False

    def _join_list(self) -> None:
        if self._checked is not None and not self._numbered:  # its check box replaces the marker
            plain = QTextListFormat(self._list_formats[-1])
            plain.setStyle(QTextListFormat.Style.ListStyleUndefined)
            self._cursor.createList(plain)
            return
        current = self._lists[-1]
        if current is None:
            self._lists[-1] = self._cursor.createList(self._list_formats[-1])
        else:
            current.add(self._cursor.block())  # type: ignore[attr-defined]

    def _code(self, text: str) -> None:
        """Code inside a list or quote: monospaced text on its own background."""
        for number, line in enumerate(text.split("\n")):
            self._begin(top=8 if number == 0 else 0, code=True)
            self._cursor.insertText(line, self._char(mono=True))

    def _rule(self) -> None:
        """A rule: a block one pixel high, filled with the border colour."""
        self._begin(top=_GAP)
        form = self._cursor.blockFormat()
        form.setBackground(QBrush(QColor(self._theme.tokens.border)))
        form.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        form.setBottomMargin(self._theme.px(4))
        chars = QTextCharFormat()
        tiny = self._theme.font(14)
        tiny.setPixelSize(1)
        chars.setFont(tiny)
        self._cursor.setBlockFormat(form)
        self._cursor.setBlockCharFormat(chars)

    def _table(self, tokens: list[Token], start: int) -> int:
        """Render the table that begins at ``start``; returns the index after its end."""
        end = next(i for i in range(start, len(tokens)) if tokens[i].type == "table_close")
        rows: list[list[Token]] = []
        aligns: list[str] = []
        header_rows = 0
        for token in tokens[start:end]:
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                if token.type == "th_open":
                    header_rows = 1
                    aligns.append(str(token.attrGet("style") or ""))
            elif token.type == "inline":
                rows[-1].append(token)
        columns = max(len(row) for row in rows)
        if not self._document.isEmpty():
            self._cursor.movePosition(QTextCursor.MoveOperation.End)
        form = self._table_format(header_rows)
        if rows[0] and _RIGHT_TO_LEFT.match("".join(rows[0][0].content.split())):
            form.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # Qt keeps it but does not apply it
            form.setAlignment(Qt.AlignmentFlag.AlignRight)
        table = self._cursor.insertTable(len(rows), columns, form)
        for y, row in enumerate(rows):
            for x, cell in enumerate(row):
                place = columns - 1 - x if form.layoutDirection() is Qt.LayoutDirection.RightToLeft else x
                self._cell(table, y, place, cell, aligns[x] if x < len(aligns) else "", header=y < header_rows)
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        tail = QTextBlockFormat()
        tail.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._cursor.setBlockFormat(tail)
        return end + 1

    def _table_format(self, header_rows: int) -> QTextTableFormat:
        form = QTextTableFormat()
        form.setBorderCollapse(True)
        form.setBorder(1)
        form.setBorderBrush(QBrush(QColor(self._theme.tokens.border)))
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setCellPadding(self._theme.px(8))
        form.setCellSpacing(0)
        form.setHeaderRowCount(header_rows)
        return form

    def _cell(self, table: QTextTable, row: int, column: int, token: Token, align: str, *, header: bool) -> None:
        cell = table.cellAt(row, column)
        if header:
            ground = cell.format()
            ground.setBackground(QBrush(QColor(self._theme.tokens.code)))
            cell.setFormat(ground)
        self._cursor = cell.firstCursorPosition()
        block = QTextBlockFormat()
        block.setLineHeight(125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if "right" in align:
            block.setAlignment(Qt.AlignmentFlag.AlignRight)
        elif "center" in align:
            block.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._cursor.setBlockFormat(block)
        self._inline(token.children or [], strong=header)
        self._cursor = QTextCursor(self._document)

    def _inline(self, tokens: list[Token], *, strong: bool = False) -> None:
        block = self._cursor.blockFormat()
        heading = block.headingLevel()
        bold, italic, struck, href = (1 if strong else 0), 0, 0, ""
        self._rtl = any(_RIGHT_TO_LEFT.search(token.content) for token in tokens)
        for token in tokens:
            kind = token.type
            if kind in {"strong_open", "strong_close"}:
                bold += token.nesting
            elif kind in {"em_open", "em_close"}:
                italic += token.nesting
            elif kind in {"s_open", "s_close"}:
                struck += token.nesting
            elif kind == "link_open":
                href = str(token.attrGet("href") or "")
            elif kind == "link_close":
                href = ""
            elif kind == "image":
                self._picture(str(token.attrGet("src") or ""), token.content)
            else:
                form = self._char(heading=heading, bold=bold > 0, italic=italic > 0, struck=struck > 0, href=href)
                self._leaf(token, form)
        if self._quotes and self._rtl and self._cursor.block().textDirection() is Qt.LayoutDirection.RightToLeft:
            mirrored = self._cursor.blockFormat()
            mirrored.setRightMargin(mirrored.leftMargin())
            mirrored.setLeftMargin(0)
            self._cursor.setBlockFormat(mirrored)

    def _leaf(self, token: Token, form: QTextCharFormat) -> None:
        if token.type == "math_inline":
            self._formula(token.content, form)
        elif token.type == "code_inline":
            mono = self._theme.font(13, 600 if form.fontWeight() >= QFont.Weight.DemiBold else 400, mono=True)
            form.setFont(mono, QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly)
            form.setBackground(QColor(self._theme.tokens.inline_code))
            self._isolate("\u2066")
            self._cursor.insertText(visible(token.content), form)
            self._isolate("\u2069")
        elif token.type == "footnote":
            form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSuperScript)
            self._cursor.insertText(token.content, form)
        elif token.type == "softbreak":
            self._cursor.insertText(" ", form)
        elif token.type == "hardbreak":
            self._cursor.insertText("\u2028", form)
        elif token.content:
            self._cursor.insertText(token.content, form)

    def _isolate(self, sign: str) -> None:
        """Isolate left-to-right code in a line of Arabic or Hebrew; otherwise its brackets change sides."""
        if self._rtl:
            form = self._char()
            form.setProperty(ISOLATE, True)
            self._cursor.insertText(sign, form)
            self.isolates = True

    def _formula(self, source: str, form: QTextCharFormat) -> None:
        """Write a formula's source, which is replaced once drawn and remains if invalid."""
        px = max(1, form.font().pixelSize())
        mono = self._theme.font(13, 400, mono=True)
        form.setFont(mono, QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly)
        form.setProperty(FORMULA, source)
        form.setProperty(FORMULA_PX, px)
        self.formulas.append(source)
        start = self._cursor.position()
        self._cursor.insertText(source.replace("\n", "\u2028"), form)
        if formulas().want(source):
            end = self._cursor.position()
            show_formula(self._document, start, end, source, px, form.foreground().color().name(), self._theme)
            self._cursor.movePosition(QTextCursor.MoveOperation.End)

    def _picture(self, source: str, alternative: str) -> None:
        path = self._image(source)
        if path is not None:
            picture = QTextImageFormat()
            picture.setName(path)
            picture.setToolTip(plain_tip(alternative))
            self._cursor.insertImage(picture)
            return
        form = self._char()
        form.setForeground(QColor(self._theme.tokens.muted))
        text = alternative or source
        self._cursor.insertText(_("[image not loaded: {name}]", name=text), form)

    def _char(
        self,
        *,
        heading: int = 0,
        mono: bool = False,
        bold: bool = False,
        italic: bool = False,
        struck: bool = False,
        href: str = "",
    ) -> QTextCharFormat:
        style = self._theme
        key = (style.tokens.name, style.scale, heading, mono, bold, italic, struck, self._quotes > 0)
        known = _formats.get(key)
        if known is not None and not href:
            return QTextCharFormat(known)
        size, weight, _gap = _HEADINGS.get(heading, (14, 400, 0))
        form = QTextCharFormat()
        form.setFont(style.font(13 if mono else size, 600 if bold else weight, mono=mono, italic=italic))
        form.setForeground(QColor(style.tokens.muted if self._quotes and not href else style.tokens.text))
        form.setFontStrikeOut(struck)
        if href:
            form.setAnchor(True)
            form.setAnchorHref(href)
            form.setForeground(QColor(style.tokens.accent))
            form.setFontUnderline(True)
            form.setToolTip(plain_tip(href))
        else:
            _formats[key] = QTextCharFormat(form)
        return form
