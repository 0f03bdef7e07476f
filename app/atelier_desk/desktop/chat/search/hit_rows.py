"""The rows of search everywhere: what was found, in the words people know it by, with the searched words marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from atelier_desk.desktop.chat.markdown.plain import excerpt_line
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.icons import known
from atelier_desk.desktop.widgets.format import moment
from atelier_desk.domain.text import visible
from atelier_desk.i18n import _
from atelier_desk.storage.text import word_places

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import SearchHit

HIT = Qt.ItemDataRole.UserRole
NEEDLE = Qt.ItemDataRole.UserRole + 1
_ICONS = {"message": "message-square", "tool_execution": "terminal", "report": "file-text", "memory": "brain"}
_BEFORE = 24
"""Characters that stay before the first searched word when a text is too long for its row."""


def who(hit: SearchHit) -> str:
    """What a hit is, in words: who said it, what a call did, which kind of thing."""
    if hit.kind == "message":
        return hit.who or (_("Message to {agent}", agent=hit.to) if hit.to else _("You"))
    if hit.kind == "tool_execution":
        said = hit.presentation.words(over=True).localized(_) if hit.presentation.summary.text else ""
        return said or _(hit.presentation.title) or hit.tool
    return {"report": _("Report"), "memory": _("Memory")}.get(hit.kind, hit.kind)


def spoken(hit: SearchHit) -> str:
    """The row for a screen reader."""
    return ", ".join(filter(None, (who(hit), moment(hit.at), said(hit))))


def said(hit: SearchHit) -> str:
    """The words around what was found, in one line. What calls were given is no Markdown."""
    return " ".join(hit.excerpt.split()) if hit.kind == "tool_execution" else excerpt_line(hit.excerpt)


class HitDelegate(QStyledItemDelegate):
    """A heading, or two lines: what it is with its date, and the text around the searched words."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, theme().px(34 if index.data(HIT) is None else 54))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect: QRect = option.rect
        hit: SearchHit | None = index.data(HIT)
        if hit is None:
            self._heading(painter, rect, visible(str(index.data())))
        else:
            self._hit(painter, rect, hit, str(index.data(NEEDLE)), bool(option.state & QStyle.StateFlag.State_Selected))
        painter.restore()

    def _heading(self, painter: QPainter, rect: QRect, name: str) -> None:
        look = theme()
        painter.setFont(look.font(12, 600))
        painter.setPen(look.colour("muted"))
        inner = rect.adjusted(14, look.px(8), -12, -look.px(4))
        text = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignBottom), text)

    def _hit(self, painter: QPainter, rect: QRect, hit: SearchHit, needle: str, selected: bool) -> None:
        look = theme()
        if selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.colour("accent_soft"))
            painter.drawRoundedRect(rect.adjusted(2, 1, -2, -1), 8, 8)
        side = look.px(16)
        icon = known(hit.presentation.icon) if hit.kind == "tool_execution" else _ICONS.get(hit.kind, "search")
        picture = look.pixmap(icon, "muted", side, painter.device().devicePixelRatio())
        painter.drawPixmap(rect.left() + 14, rect.top() + look.px(10), picture)
        inner = rect.adjusted(14 + side + 10, look.px(7), -14, -look.px(7))
        painter.setFont(look.font(12))
        painter.setPen(look.colour("text" if selected else "muted"))
        date = moment(hit.at)
        wide = painter.fontMetrics().horizontalAdvance(date)
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight), date)
        painter.setFont(look.font(12, 600))
        painter.setPen(look.colour("text"))
        title = painter.fontMetrics().elidedText(visible(who(hit)), Qt.TextElideMode.ElideRight, inner.width() - wide - 12)
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignTop), title)
        draw_marked(painter, inner, said(hit), needle, look.font(13))


def draw_marked(painter: QPainter, inner: QRect, text: str, needle: str, font: QFont) -> None:
    """One line of text at the bottom of ``inner``, from a little before the first searched word on, with those words marked."""
    look = theme()
    metrics = QFontMetricsF(font)
    found = word_places(text, needle)
    if found and metrics.horizontalAdvance(text[: found[0][1]]) > inner.width() - 40:
        text = "…" + text[max(0, found[0][0] - _BEFORE) :]
        found = word_places(text, needle)
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, inner.width())
    form = QTextCharFormat()
    form.setBackground(QColor(look.tokens.warn_soft))
    form.setForeground(QColor(look.tokens.text))
    form.setFontUnderline(True)
    marks = []
    for start, end in found:
        if end < len(shown) or shown == text:
            mark = QTextLayout.FormatRange()
            mark.start, mark.length, mark.format = _units(shown[:start]), _units(shown[start:end]), form
            marks.append(mark)
    layout = QTextLayout(shown, font)
    layout.setFormats(marks)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(inner.width() + 100)
    layout.endLayout()
    painter.setPen(look.colour("text"))
    layout.draw(painter, QPointF(inner.left(), inner.bottom() + 1 - line.height()))


def _units(text: str) -> int:
    """Length as Qt counts it."""
    return len(text.encode("utf-16-le")) // 2
