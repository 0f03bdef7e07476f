"""The sizes of a request's parts: a stacked bar and its legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from atelier_desk.desktop.panes.time_format import number, short_number
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import percent

if TYPE_CHECKING:
    from atelier_desk.engine.services.request.sent_request_data import PartSize

PART_WORDS = {
    "system": N_("System"),
    "folder": N_("Folder"),
    "skills": N_("Skills"),
    "tools": N_("Tools"),
    "memory": N_("Memory"),
    "history": N_("History"),
    "results": N_("Results"),
    "message": N_("Your message"),
    "images": N_("Images"),
}
_COLOURS = {
    "system": "accent",
    "folder": "text",
    "skills": "teal",
    "tools": "ok",
    "memory": "keyword",
    "history": "muted",
    "results": "warn",
    "message": "function",
    "images": "err",
}
_Entry = tuple[int, int, "PartSize | None", str]
"""Line, left edge, part and text of a legend entry."""
BAR, KEY = 10, 20
"""Height of the bar and of a legend line, in pixels at 100 %."""


def part_colour(kind: str) -> QColor:
    """The colour of a part in bar and lists."""
    return theme().colour(_COLOURS.get(kind, "muted"))


def _lines(placed: Sequence[_Entry]) -> int:
    return max((line for line, *_rest in placed), default=0) + 1


class PartsBar(QWidget):
    """``context-parts``: the parts in order, with names and sizes below."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("context-parts")
        self.parts: tuple[PartSize, ...] = ()
        self.summary = ""
        self._most: int | None = None
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        bind(self._fit)
        bind(self.update)
        bind_text(
            self,
            name=N_("Size by part"),
            tip=lambda: "\n".join(self._part_texts()),
            about=lambda: "; ".join([*self._part_texts(), self.summary]),
        )

    def show_parts(self, parts: Sequence[PartSize], total_text: str) -> None:
        """Show these parts, without empty ones; ``total_text`` is the total in words."""
        self.parts = tuple(part for part in parts if part.tokens > 0)
        self.summary = total_text
        bind_text(self)
        self._fit()
        self.update()

    def limit(self, lines: int | None) -> None:
        """Limit the legend to this many lines, at least one; None removes the limit.

        The tool tip always has all entries.
        """
        limit = max(1, lines) if lines is not None else None
        if limit != self._most:
            self._most = limit
            self._fit()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(max(120, self.width())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Fit the height to the legend at this width."""
        self.setFixedHeight(self.heightForWidth(max(120, self.width())))

    def heightForWidth(self, width: int) -> int:
        return self.height_of(_lines(self._keys(width)))

    @staticmethod
    def height_of(lines: int) -> int:
        """Pixels for the bar and this many legend lines."""
        return theme().px(BAR) + theme().px(6) + lines * theme().px(KEY)

    def _keys(self, width: int) -> list[_Entry]:
        """Line, left edge, part and text of each legend entry; the last, without a part, is the total.

        If there is no room for all, the smallest parts are replaced by …
        """
        named = list(self.parts)
        placed = self._place(named, width)
        while self._most is not None and named and _lines(placed) > self._most:
            named.remove(min(named, key=lambda part: part.tokens))
            placed = self._place(named, width)
        return placed

    def _place(self, named: list[PartSize], width: int) -> list[_Entry]:
        metrics = QFontMetrics(theme().font(12))
        placed: list[_Entry] = []
        line, x = 0, 0
        entries: list[tuple[PartSize | None, str]] = [
            (part, f"{_(PART_WORDS[part.kind])} {short_number(part.tokens)}") for part in named
        ]
        if named and len(named) < len(self.parts):
            entries.append((None, "…"))
        if self.summary:
            entries.append((None, self.summary))
        for part, text in entries:
            wide = (theme().px(14) if part is not None else 0) + metrics.horizontalAdvance(text) + theme().px(12)
            if x and x + wide - theme().px(12) > width:
                line, x = line + 1, 0
            placed.append((line, x, part, text))
            x += wide
        return placed

    def paintEvent(self, event: QPaintEvent) -> None:
        style = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(0, 0, self.width(), style.px(BAR))
        outline = QPainterPath()
        outline.addRoundedRect(bar, bar.height() / 2, bar.height() / 2)
        painter.setClipPath(outline)
        painter.fillRect(bar, style.colour("border"))
        total = max(1, sum(part.tokens for part in self.parts))
        x = 0.0
        for each in self.parts:
            wide = max(2.0, each.tokens / total * bar.width())
            painter.fillRect(QRectF(x, 0, wide, bar.height()), part_colour(each.kind))
            x += wide
            if wide > 4 and each is not self.parts[-1]:
                painter.fillRect(QRectF(x - 1, 0, 1, bar.height()), style.colour("bg"))
        painter.setClipping(False)
        painter.setFont(style.font(12))
        side = style.px(8)
        for line, left, part, text in self._keys(self.width()):
            top = bar.height() + style.px(6) + line * style.px(KEY)
            indent = 0
            if part is not None:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(part_colour(part.kind))
                painter.drawRoundedRect(QRectF(left, top + (style.px(KEY) - side) / 2, side, side), 2, 2)
                indent = style.px(14)
            painter.setPen(style.colour("muted" if part is not None else "text"))
            room = QRectF(left + indent, top, self.width() - left - indent, style.px(KEY))
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
            painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
        painter.end()

    def _part_texts(self) -> list[str]:
        return [
            _(
                "{part}: {tokens}, {share}",
                part=_(PART_WORDS[part.kind]),
                tokens=ngettext("{number} token", "{number} tokens", part.tokens, number=number(part.tokens)),
                share=percent(part.share),
            )
            for part in self.parts
        ]
