"""The languages of a project as a stacked bar with a legend."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.presentation.project_text import language_word
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.locale_format import NARROW, percent

COLOURS = ("accent", "teal", "warn", "ok", "keyword", "err", "function")
MOST = len(COLOURS)
"""Maximum number of languages shown separately; the others share a grey part."""


def parts_of(languages: Mapping[str, int]) -> list[tuple[str, int]]:
    """Languages by size; those beyond ``MOST`` are combined under the empty name."""
    order = sorted(
        ((name, count) for name, count in languages.items() if count > 0), key=lambda each: (-each[1], each[0])
    )
    rest = sum(count for _name, count in order[MOST:])
    return [*order[:MOST], *([("", rest)] if rest else [])]


def share_word(count: int, total: int) -> str:
    """A share in percent; never 0 for a positive count."""
    share = count / max(1, total)
    return f"<{NARROW}{percent(0.01)}" if share < 0.01 else percent(share)


class LanguageBar(QWidget):
    """``language-bar``: the parts to scale, with names and shares below on as many lines as needed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("language-bar")
        self._parts: list[tuple[str, int]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        bind(self.updateGeometry)
        bind_text(self, name=self._spoken)

    def show_languages(self, languages: Mapping[str, int]) -> None:
        """Set the number of files by language."""
        self._parts = parts_of(languages)
        self.setVisible(bool(self._parts))
        bind_text(self, name=self._spoken)
        self.updateGeometry()
        self.update()

    def _spoken(self) -> str:
        return (
            _("Languages: {names}", names=", ".join(text for text, _colour in self._texts()))
            if self._parts
            else _("Languages")
        )

    def _name(self, language: str, at: int) -> str:
        return language_word(language) if language or at < MOST else _("Other")

    def _texts(self) -> list[tuple[str, str]]:
        """Text and colour of each part."""
        total = sum(count for _name, count in self._parts)
        return [
            (f"{self._name(name, at)} {share_word(count, total)}", COLOURS[at] if at < MOST else "muted")
            for at, (name, count) in enumerate(self._parts)
        ]

    def _places(self, width: int) -> tuple[list[tuple[int, int]], int]:
        """Left edge and line of each name, and the number of lines."""
        metrics, style = QFontMetrics(theme().font(12)), theme()
        x, line, places = 0, 0, []
        for text, _colour in self._texts():
            wide = style.px(14) + metrics.horizontalAdvance(text)
            if x and x + wide > width:
                x, line = 0, line + 1
            places.append((x, line))
            x += wide + style.px(14)
        return places, line + 1

    def heightForWidth(self, width: int) -> int:
        return theme().px(18) + self._places(width)[1] * theme().px(20)

    def sizeHint(self) -> QSize:
        return QSize(theme().px(240), self.heightForWidth(max(200, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(120), self.heightForWidth(max(200, self.width())))

    def paintEvent(self, event: QPaintEvent) -> None:
        style = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shape = QPainterPath()
        shape.addRoundedRect(QRectF(0, 0, self.width(), style.px(10)), 5, 5)
        painter.setClipPath(shape)
        total = sum(count for _name, count in self._parts) or 1
        texts, x = self._texts(), 0.0
        for (_name, count), (_text, colour) in zip(self._parts, texts, strict=True):
            wide = self.width() * count / total
            painter.fillRect(QRectF(x, 0, max(1.0, wide - 1), style.px(10)), style.colour(colour))
            x += wide
        painter.setClipping(False)
        painter.setFont(style.font(12))
        places, _lines = self._places(self.width())
        row, side = style.px(20), style.px(8)
        for (left, line), (text, colour) in zip(places, texts, strict=True):
            top = style.px(16) + line * row
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.colour(colour))
            painter.drawEllipse(QRectF(left, top + (row - side) / 2, side, side))
            painter.setPen(QColor(style.tokens.muted))
            painter.drawText(
                QRectF(left + style.px(14), top, self.width(), row), int(Qt.AlignmentFlag.AlignVCenter), text
            )
        painter.end()

    def event(self, event: QEvent) -> bool:
        """The tool tip shows the number of files of the part under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and event.pos().y() <= theme().px(12):
            total, x = sum(count for _name, count in self._parts) or 1, 0.0
            for at, (name, count) in enumerate(self._parts):
                x += self.width() * count / total
                if event.pos().x() <= x:
                    words = ngettext("{n} file", "{n} files", count)
                    QToolTip.showText(
                        event.globalPos(), plain_tip(_("{name}: {text}", name=self._name(name, at), text=words)), self
                    )
                    break
            return True
        return super().event(event)
