"""The rows of the search in projects: what was found and where, and of its text the part around the searched words."""

from __future__ import annotations

from pathlib import PurePosixPath

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from atelier_desk.desktop.chat.search.hit_rows import draw_marked
from atelier_desk.desktop.panes.rows import paint_ground, quiet
from atelier_desk.desktop.projects.looks import KIND_COLOURS, KIND_ICONS
from atelier_desk.desktop.theme import icons, theme
from atelier_desk.domain.project import Found
from atelier_desk.domain.text import visible
from atelier_desk.project_words import describe, kind_word, place_word, title_word
from atelier_desk.storage.text import word_places

FOUND = Qt.ItemDataRole.UserRole
NEEDLE = Qt.ItemDataRole.UserRole + 1
PREVIEW_LINES = 2
_Index = QModelIndex | QPersistentModelIndex


def preview_lines(found: Found, needle: str) -> list[str]:
    """The lines of its text that say most: those with searched words, else its first; at most two."""
    text = found.preview or found.entity.docstring or found.entity.signature
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    order = sorted(range(len(lines)), key=lambda at: (-len({lines[at][a:b].casefold() for a, b in word_places(lines[at], needle)}), at))
    return [lines[at] for at in sorted(order[:PREVIEW_LINES])]


def spoken(found: Found) -> str:
    """The row for a screen reader."""
    return ", ".join(filter(None, (describe(found.entity), found.project, " ".join(found.preview.split())[:200])))


class ResultDelegate(QStyledItemDelegate):
    """Name and kind, beside them path and line; beneath, up to two lines of its text. All rows are equally high."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        text, code = QFontMetrics(theme().font(14)), QFontMetrics(theme().font(12, mono=True))
        return QSize(theme().px(120), text.height() + PREVIEW_LINES * (code.height() + 2) + theme().px(18))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        found: Found | None = index.data(FOUND)
        if found is None:
            return
        look, entity = theme(), found.entity
        painter.save()
        area = paint_ground(painter, option, 1)
        side = look.px(16)
        top = area.top() + look.px(8)
        colour = getattr(look.tokens, KIND_COLOURS[entity.kind])
        picture = icons.pixmap(KIND_ICONS[entity.kind], colour, side, painter.device().devicePixelRatioF())
        painter.drawPixmap(area.left() + look.px(12), top + 1, picture)
        left = area.left() + look.px(12) + side + look.px(10)
        inner = QRect(left, top, area.right() - look.px(12) - left, QFontMetrics(look.font(14)).height())
        self._head(painter, option, inner, found)
        font = look.font(12, mono=True)
        below = QFontMetrics(font).height() + 2
        line = QRect(left, inner.bottom() + 2, inner.width(), below)
        for text in preview_lines(found, str(index.data(NEEDLE))):
            draw_marked(painter, line, text, str(index.data(NEEDLE)), font)
            line.translate(0, below)
        painter.restore()

    @staticmethod
    def _head(painter: QPainter, option: QStyleOptionViewItem, inner: QRect, found: Found) -> None:
        """The name has up to three fifths; the path is cut at its beginning."""
        look, centre = theme(), int(Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(look.font(14, 600))
        metrics = painter.fontMetrics()
        name = metrics.elidedText(visible(title_word(found.entity)), Qt.TextElideMode.ElideMiddle, inner.width() * 3 // 5)
        painter.setPen(look.colour("text"))
        painter.drawText(inner, centre, name)
        used = metrics.horizontalAdvance(name) + look.px(8)
        painter.setFont(look.font(12))
        painter.setPen(quiet(option))
        small = painter.fontMetrics()
        kind = kind_word(found.entity)
        wide = small.horizontalAdvance(kind)
        if used + wide < inner.width():
            painter.drawText(inner.adjusted(used, 0, 0, 0), centre, kind)
            used += wide + look.px(12)
        room = inner.width() - used
        if room > look.px(60):
            where = " · ".join(filter(None, (place_word(found.entity), found.project)))
            if small.horizontalAdvance(where) > room and found.entity.path:
                where = place_word(found.entity)
            if small.horizontalAdvance(where) > room:
                parts = PurePosixPath(where).parts
                where = "…/" + "/".join(parts[-2:]) if len(parts) > 2 else where
            text = small.elidedText(visible(where), Qt.TextElideMode.ElideLeft, room)
            painter.drawText(inner, centre | int(Qt.AlignmentFlag.AlignRight), text)
