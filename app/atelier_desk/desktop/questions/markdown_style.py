"""Style a document that Qt parsed from Markdown: headings, code, tables and spacing of the theme."""

from __future__ import annotations

from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)

from atelier_desk.desktop.theme import theme

_HEADINGS = {1: 17, 2: 15, 3: 14}
_CODE = QTextFormat.Property.BlockCodeFence.value


def style_document(document: QTextDocument) -> None:
    """Set sizes, backgrounds and margins in place."""
    block = document.begin()
    while block.isValid():
        _style_block(block)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _style_table(frame)


def _style_block(block: QTextBlock) -> None:
    cursor = QTextCursor(block)
    layout, level = block.blockFormat(), block.blockFormat().headingLevel()
    changes = QTextBlockFormat()
    changes.setBottomMargin(theme().px(6))
    if level:
        changes.setTopMargin(theme().px(8) if block.position() else 0)
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
        font = QTextCharFormat()  # replaces Qt's relative size, which merging cannot remove
        font.setFont(theme().font(_HEADINGS.get(level, 14), 600))
        cursor.setCharFormat(font)
    elif layout.hasProperty(_CODE) or layout.nonBreakableLines():
        changes.setBackground(QColor(theme().tokens.sunken))
        changes.setBottomMargin(0)
        following = block.next()
        if not following.isValid() or not following.blockFormat().hasProperty(_CODE):
            changes.setBottomMargin(theme().px(6))
    elif block.textList() is not None:
        changes.setBottomMargin(theme().px(2))
    if not level:
        _lighten(block)
    at = QTextCursor(block)
    at.mergeBlockFormat(changes)


def _lighten(block: QTextBlock) -> None:
    """Show bold text in the boldest face there is, which Qt would make bolder still by smearing it."""
    heavy: list[tuple[int, int]] = []
    fragments = block.begin()
    while not fragments.atEnd():
        part = fragments.fragment()
        if part.charFormat().fontWeight() > QFont.Weight.DemiBold:
            heavy.append((part.position(), part.position() + part.length()))
        fragments += 1
    bold = QTextCharFormat()
    bold.setFontWeight(QFont.Weight.DemiBold)
    cursor = QTextCursor(block)
    for start, end in heavy:
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(bold)


def _style_table(table: QTextTable) -> None:
    form = table.format()
    form.setBorderCollapse(True)
    form.setBorder(1)
    form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    form.setBorderBrush(QBrush(QColor(theme().tokens.border)))
    form.setCellPadding(theme().px(4))
    form.setCellSpacing(0)
    form.setTopMargin(theme().px(4))
    form.setBottomMargin(theme().px(6))
    table.setFormat(form)
