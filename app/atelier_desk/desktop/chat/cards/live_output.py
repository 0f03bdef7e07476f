"""Live output of a running command in its card: the newest lines, with colours."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QWidget

from atelier_desk.desktop.chat.markdown import ansi
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.support.i18n import _

LIVE_LINES = 8
"""Number of lines shown."""
_SIDES, _BELOW = (13, 11), 10


class LiveOutput(QLabel):
    """``tool-live``: hidden while there is no output.

    With ``steady`` it has its full height from the start, so that nothing moves while output grows.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("tool-live")
        mark(self, "mono")
        self.setContentsMargins(_SIDES[0], 0, _SIDES[1], _BELOW)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._card = parent
        self.steady = False
        self._lines = 0
        self.hide()

    def show_output(self, text: str, spans: Sequence[ansi.Span]) -> bool:
        """Show the newest lines, each cut at the card's edge; returns True if the height changes."""
        visible = bool(text) or self.steady
        if not visible and not self.isVisibleTo(self._card):
            return False
        edge, room = self.fontMetrics(), max(80, self._card.width() - sum(_SIDES) - 2)
        found = list(ansi.lines(text, spans))[-LIVE_LINES:] if text else []
        shown = [edge.elidedText(line, Qt.TextElideMode.ElideRight, room) for line, _part in found]
        plain = "\n".join(shown) or (_("No output yet") if self.steady else "")
        self.setAccessibleName(plain)
        self.setTextFormat(Qt.TextFormat.RichText if spans else Qt.TextFormat.PlainText)
        coloured = (ansi.html(line, part, theme().tokens) for line, (_full, part) in zip(shown, found, strict=True))
        self.setText("<br>".join(coloured) if spans else plain)
        lines = LIVE_LINES if self.steady else len(shown)
        grown = visible != self.isVisibleTo(self._card) or lines != self._lines
        self._lines = lines
        self.setVisible(visible)
        return grown

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return (
            QSize(hint.width(), LIVE_LINES * (self.fontMetrics().lineSpacing() + 2) + _BELOW) if self.steady else hint
        )

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())
