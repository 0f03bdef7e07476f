"""An option as a card: the whole row is the check box, the text wraps, and its number is its shortcut."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen, QTextLayout, QTextOption
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.line_wrapping import wrap_mode
from atelier_desk.domain.question import QuestionOption
from atelier_desk.support.visible_and_shortened_text import visible


def _laid_out(text: str, font: QFont, width: int) -> tuple[QTextLayout, int]:
    """The text wrapped at words, or inside a word that is too long, and its height."""
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(wrap_mode(text))
    layout.setTextOption(option)
    layout.beginLayout()
    height = 0.0
    while (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        line.setPosition(QPointF(0, height))
        height += line.height()
    layout.endLayout()
    return layout, ceil(height)


class OptionCard(QCheckBox):
    """A check box drawn as a card. Further lines of a label are shown small below the first.

    ``number`` 1–9 is shown on the right as its shortcut; 0 shows none.
    """

    def __init__(self, option: QuestionOption, number: int, parent: QWidget) -> None:
        super().__init__(visible(option.label), parent)
        self.option_id = option.id
        self._number = number
        self.setObjectName(f"question-option-{option.id}")
        self.setAccessibleName(self.text())
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        bind(self.updateGeometry)
        bind(self.update)

    def _lines(self) -> tuple[str, str]:
        head, _, rest = self.text().partition("\n")
        return head.strip(), " ".join(rest.split())

    def _text_left(self) -> int:
        return theme().px(42)

    def _text_width(self, width: int) -> int:
        return max(40, width - self._text_left() - theme().px(32 if self._number else 14))

    def _heights(self, width: int) -> tuple[int, int]:
        head, rest = self._lines()
        room = self._text_width(width)
        second = _laid_out(rest, theme().font(12), room)[1] if rest else 0
        return _laid_out(head, theme().font(14, 500), room)[1], second

    def heightForWidth(self, width: int) -> int:
        first, second = self._heights(width)
        return first + (second + theme().px(2) if second else 0) + theme().px(20)

    def hasHeightForWidth(self) -> bool:
        return True

    def sizeHint(self) -> QSize:
        width = theme().px(320)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(160), theme().px(40))

    def hitButton(self, pos: QPoint) -> bool:
        """The whole row toggles."""
        return self.rect().contains(pos)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space toggles; Enter and digits go to the dialog."""
        if event.key() == Qt.Key.Key_Space:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Down)
        else:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave, QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens, painter = theme().tokens, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        checked, hot = self.isChecked(), self.underMouse() and self.isEnabled()
        # only the focus has a ring: the filled box and the background show the selection
        resting = tokens.accent_soft if checked else tokens.border
        edge = tokens.accent if self.hasFocus() else (tokens.muted if hot else resting)
        thick = 2 if self.hasFocus() else 1
        inset = thick / 2
        painter.setPen(QPen(QColor(edge), thick))
        painter.setBrush(QColor(tokens.accent_soft if checked else tokens.surface))
        radius = theme().px(8)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), radius, radius)
        if not self.isEnabled():
            painter.setOpacity(0.55)
        self._paint_box(painter, checked)
        self._paint_text(painter)
        painter.end()

    def _paint_box(self, painter: QPainter, checked: bool) -> None:
        tokens, side = theme().tokens, theme().px(18)
        first, _ = self._heights(self.width())
        line = QFontMetrics(theme().font(14, 500)).height()
        top = theme().px(10) + (min(first, line) - side) / 2
        box = QRectF(theme().px(13), top, side, side)
        painter.setPen(QPen(QColor(tokens.accent if checked else tokens.muted), 1.5))
        painter.setBrush(QColor(tokens.accent) if checked else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, theme().px(4), theme().px(4))
        if checked:
            pen = QPen(QColor(tokens.on_accent), max(1.6, side / 9))
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            painter.setPen(pen)
            at = [
                QPointF(box.x() + side * x, box.y() + side * y) for x, y in ((0.24, 0.52), (0.43, 0.70), (0.77, 0.32))
            ]
            painter.drawPolyline(at)

    def _paint_text(self, painter: QPainter) -> None:
        tokens = theme().tokens
        head, rest = self._lines()
        top, left, width = theme().px(10), self._text_left(), self._text_width(self.width())
        painter.setPen(QColor(tokens.text))
        layout, height = _laid_out(head, theme().font(14, 500), width)
        layout.draw(painter, QPointF(left, top))
        painter.setPen(QColor(tokens.muted))
        painter.setFont(theme().font(12))
        if rest:
            _laid_out(rest, theme().font(12), width)[0].draw(painter, QPointF(left, top + height + theme().px(2)))
        if self._number:
            hint = QRect(
                self.width() - theme().px(28), top, theme().px(16), QFontMetrics(theme().font(14, 500)).height()
            )
            painter.drawText(hint, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(self._number))
