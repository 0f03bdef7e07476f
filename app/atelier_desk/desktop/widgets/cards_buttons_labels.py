"""Cards, pills, icon buttons, labels: thin widgets over variants of the style sheet."""

from __future__ import annotations

from typing import Literal, TypeVar

from PySide6 import QtWidgets  # for QStyle: importing it makes its enums, 2 % of the time to the first paint
from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets.language_theme_bindings import Text, bind, bind_text
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.visible_and_shortened_text import visible

L = TypeVar("L", bound=QBoxLayout)
PillKind = Literal["", "accent", "ok", "warn", "err"]


class Card(QFrame):
    """A bordered background; ``body`` is its vertical layout.

    Variants: card, card-raised, card-sunken, card-selected, card-warn, card-err.
    """

    def __init__(
        self,
        parent: QWidget | None = None,
        variant: str = "card",
        margins: tuple[int, int, int, int] = (12, 10, 12, 10),
    ) -> None:
        super().__init__(parent)
        mark(self, variant)
        self.body = vbox(self, margins=margins, spacing=8)


class Line(QFrame):
    """A one-pixel rule."""

    def __init__(self, parent: QWidget, vertical: bool = False) -> None:
        super().__init__(parent)
        mark(self, "vline" if vertical else "line")


class PlainLabel(QLabel):
    """A label for untrusted texts: no HTML, and invisible and reordering characters are made visible."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(visible(text), parent)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:
        super().setText(visible(text))

    def setToolTip(self, text: str) -> None:
        super().setToolTip(plain_tip(text))

    def setAccessibleName(self, text: str) -> None:
        super().setAccessibleName(visible(text))


class Pill(PlainLabel):
    """A short status on a soft background."""

    def __init__(self, text: str, kind: PillKind, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.setIndent(0)  # a label with a frame has one of its own at the left
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)
        self.set_kind(kind)

    def set_kind(self, kind: PillKind) -> None:
        mark(self, f"pill-{kind}" if kind else "pill")

    def show_state(self, text: str, kind: PillKind) -> None:
        """Set text and colour together."""
        self.setText(text)
        self.set_kind(kind)


class IconButton(QToolButton):
    """A flat button with a bundled icon; its tool tip is also its accessible name.

    ``describe`` binds the text, ``set_icon`` sets the icon, which follows the theme.
    """

    def __init__(
        self, icon: str, tip: Text = "", parent: QWidget | None = None, *, role: Role = "muted", size: int = 16
    ) -> None:
        super().__init__(parent)
        self._icon, self._role, self._size = icon, role, size
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        bind(self._apply_style, on="look")
        if tip:
            self.describe(tip)

    def describe(self, tip: Text, shortcut: str = "") -> None:
        """Bind tool tip and accessible name; ``shortcut`` is shown in the tip only."""
        bind_text(self, tip=tip, keys=shortcut)

    def set_icon(self, icon: str, role: Role | None = None) -> None:
        before = self._icon, self._role
        self._icon, self._role = icon, role or self._role
        if before != (self._icon, self._role):
            self._apply_style()

    def _apply_style(self) -> None:
        self.setIcon(theme().icon(self._icon, self._role, self._size))
        side = theme().px(self._size)
        self.setIconSize(QSize(side, side))


class ElidedLabel(PlainLabel):
    """A line that is elided if it does not fit; then the tool tip has the full text."""

    def __init__(
        self, text: str = "", parent: QWidget | None = None, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        super().__init__("", parent)
        self._mode = mode
        self._fitted: tuple[str, int, QFontMetrics] | None = None
        self._measured: tuple[str, QFontMetrics, int] | None = None
        self._shown = ""
        self.setIndent(0)  # that of a label with a frame is not painted here
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(" ".join(text.split()) if "\n" in text else text)
        self.setAccessibleName(text)

    def show_full(self, most: int) -> None:
        """Fix the width to the text's, up to ``most`` pixels."""
        text, metrics = self.text(), self.fontMetrics()
        if self._measured is None or self._measured[:2] != (text, metrics):
            self._measured = text, metrics, metrics.horizontalAdvance(text) + 4
        full = self._measured[2]
        self.setMaximumWidth(full)
        self.setMinimumWidth(min(full, most))

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(24, hint.width()), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        text, box, metrics = self.text(), self.contentsRect(), self.fontMetrics()
        if self._fitted != (text, box.width(), metrics):
            self._fitted = (text, box.width(), metrics)
            self._shown = metrics.elidedText(text, self._mode, box.width())
            self.setToolTip(plain_tip(text) if self._shown != text else "")
        painter = QPainter(self)  # uses the pen of the label's foreground
        painter.drawText(box, int(self.alignment() | Qt.AlignmentFlag.AlignVCenter), self._shown)
        painter.end()


class ElidedButton(QPushButton):
    """A button that shrinks if there is little room, eliding its text; then the tool tip has the full text.

    It is elided while painting: setting a text during the layout's height calculation would invalidate the layout
    itself.
    """

    def __init__(self, parent: QWidget | None = None, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__(parent)
        self._mode, self._cut = mode, ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(60), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QtWidgets.QStyleOptionButton()
        self.initStyleOption(option)
        full = option.text
        room = self.style().subElementRect(QtWidgets.QStyle.SubElement.SE_PushButtonContents, option, self).width()
        if not option.icon.isNull():
            room -= option.iconSize.width() + 4  # a button's spacing between icon and text
        option.text = self.fontMetrics().elidedText(full, self._mode, room)
        QtWidgets.QStylePainter(self).drawControl(QtWidgets.QStyle.ControlElement.CE_PushButton, option)
        cut = plain_tip(full.replace("&&", "&")) if option.text != full else ""
        if cut != self._cut and self.toolTip() == self._cut:  # a tool tip of its own stays
            self._cut = cut
            self.setToolTip(plain_tip(cut))


class ElidedPill(ElidedLabel):
    """A pill that shrinks if there is little room, eliding its text."""

    def __init__(self, kind: PillKind, parent: QWidget) -> None:
        super().__init__("", parent)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)
        mark(self, f"pill-{kind}")

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(48), super().minimumSizeHint().height())


def tint(button: QAbstractButton, icon: str, role: Role = "muted", size: int = 16) -> None:
    """Give a button a bundled icon of ``size`` pixels at 100 %, which follows theme and scale."""
    bind(button.setIcon, lambda: theme().icon(icon, role, size), on="look")
    bind(button.setIconSize, lambda: QSize(theme().px(size), theme().px(size)), on="look")


def fitting(size: QSize, widget: QWidget) -> QSize:
    """A size scaled with the text, limited to the screen."""
    room = widget.screen().availableSize()
    return QSize(theme().px(size.width()), theme().px(size.height())).boundedTo(room * 0.95)


def fitted(frame: QRect, room: QRect) -> QRect:
    """A window's frame moved and shrunk into ``room``, no more than necessary."""
    width, height = min(frame.width(), room.width()), min(frame.height(), room.height())
    left = min(max(frame.left(), room.left()), room.left() + room.width() - width)
    top = min(max(frame.top(), room.top()), room.top() + room.height() - height)
    return QRect(left, top, width, height)


class _OnScreen(QObject):
    """Moves a window that has been placed back onto its screen when a change of text size has enlarged it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window, self._size = window, window.size()
        bind(self.move, on="look")

    def move(self) -> None:
        window = self._window
        if window.windowHandle() is not None and window.size() != self._size:
            window.move(fitted(window.frameGeometry(), window.screen().availableGeometry()).topLeft())
        self._size = window.size()


def fit_window(window: QWidget, size: QSize) -> None:
    """Give a window its ``fitting`` size, also after changes of text size until the user resizes it."""
    given: list[QSize] = []

    def asked_size() -> QSize:
        if given and window.size() != given[0].expandedTo(window.minimumSize()):
            return window.size()
        given[:] = [fitting(size, window)]
        return given[0]

    bind(window.resize, asked_size, on="look")
    _OnScreen(window)


def show_pixmap(shown: QLabel, pixmap: QPixmap) -> None:
    """``setPixmap``, unless unchanged: a label updates its layout even for the same image."""
    if shown.pixmap().cacheKey() != pixmap.cacheKey():
        shown.setPixmap(pixmap)


def label(text: str = "", variant: str = "", parent: QWidget | None = None, *, wrap: bool = False) -> QLabel:
    """A plain-text label with a style variant."""
    made = PlainLabel(text, parent)
    made.setWordWrap(wrap)
    if variant:
        mark(made, variant)
    return made


Item = QWidget | QLayout | int | tuple[QWidget | QLayout, int] | tuple[QWidget | QLayout, int, Qt.AlignmentFlag]


def fill(layout: L, *items: Item, margins: tuple[int, int, int, int] | None = None, spacing: int | None = None) -> L:
    """Fill a layout with widgets and layouts, each alone or with stretch and alignment; a number is a stretch."""
    if margins is not None:
        layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    for item in items:
        if isinstance(item, int):
            layout.addStretch(item)
            continue
        what, *place = item if isinstance(item, tuple) else (item,)
        if isinstance(what, QLayout):
            layout.addLayout(what, *place)
        else:
            layout.addWidget(what, *place)  # type: ignore[arg-type]
    return layout


def vbox(
    parent: QWidget | None,
    *items: Item,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    spacing: int | None = None,
) -> QVBoxLayout:
    """A vertical layout filled like ``fill``, of a widget or for another layout."""
    return fill(QVBoxLayout() if parent is None else QVBoxLayout(parent), *items, margins=margins, spacing=spacing)


def hbox(
    parent: QWidget | None,
    *items: Item,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    spacing: int | None = None,
) -> QHBoxLayout:
    """Like ``vbox``, horizontal."""
    return fill(QHBoxLayout() if parent is None else QHBoxLayout(parent), *items, margins=margins, spacing=spacing)
