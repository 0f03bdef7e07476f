"""In a narrow window the side panes lie in a drawer over the chat instead of next to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QDockWidget, QWidget

from atelier_desk.desktop.panes.dock_tabs import full_height
from atelier_desk.desktop.theme import theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMainWindow

NARROW = 1280
"""Below this window width, in logical pixels, there is no room for panes next to the chat."""
LEAST_SEEN = 60
"""Pixels of the chat that stay visible beside an open drawer: clicking there closes it."""
_SIDES = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)


class _Shade(QWidget):
    """Dims what is beside the open drawer and receives the click that closes it.

    Signals:
        pressed: a click beside the drawer.
    """

    pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("drawer-shade")

    def cover(self, part: QRect) -> None:
        """Cover this rectangle of the parent, above all its children."""
        self.setGeometry(part)
        self.show()
        self.raise_()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self.pressed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        colour = QColor(0, 0, 0, 110 if theme().tokens.dark else 45)
        QPainter(self).fillRect(event.rect(), colour)


class SideDrawer(QObject):
    """Decides whether side panes are docked next to the chat, or shown and hidden over it in a narrow window.

    The panes remain docks of the window, so they can be moved, stacked and detached in the drawer as well. They cover
    the chat because the chat keeps the width it would have without them.

    Attributes:
        narrow: the panes are in the drawer.
        open: the drawer is open; always False in a wide window.
        names: the panes that are or were last visible.
        front: those of them that were not behind another tab.

    Signals:
        opened: the drawer was opened, or a pane was shown in the open one.
    """

    opened = Signal()

    def __init__(self, window: QMainWindow, docks: Mapping[str, QDockWidget], usual: Collection[str]) -> None:
        super().__init__(window)
        self._window, self._docks, self._usual = window, docks, set(usual)
        self.narrow = self.open = False
        self._docked_beside = True
        """A person wants panes beside the conversation where there is room."""
        self.names: set[str] = set()
        self.front: list[str] = []
        self._sizes: dict[str, QSize] = {}
        """Of the panes beside the conversation: Qt squeezes them before they yield, and gives a place that was empty
        another size.
        """
        self._over: tuple[QWidget, QWidget, QWidget, QWidget] | None = None
        self._shades: tuple[_Shade, ...] = ()
        """Over the conversation and over what stands left of it."""
        self._least = 0
        self._column = 0
        """Width of the sidebar, as it was last while the panes had their place."""
        window.installEventFilter(self)

    def watch_docks(self) -> None:
        """Follow the docks, which are made later than the drawer."""
        for dock in self._docks.values():
            dock.installEventFilter(self)
            dock.topLevelChanged.connect(self._on_moved)
            dock.visibilityChanged.connect(self._on_visible)

    def overlay(self, pages: QWidget, middle: QWidget, sidebar: QWidget, strip: QWidget) -> None:
        """Lay the drawer over the chat.

        Args:
            pages: the widget that the panes take width from.
            middle: its child that keeps its width.
            sidebar, strip: the widgets at the left and right of the chat.
        """
        self._over = pages, middle, sidebar, strip
        pages.installEventFilter(self)
        sidebar.installEventFilter(self)

    def at_side(self, name: str) -> bool:
        """Whether a pane is docked at a side, not floating and not below the chat."""
        dock = self._docks[name]
        return not dock.isFloating() and self._window.dockWidgetArea(dock) in _SIDES

    def holds(self, name: str) -> bool:
        """Whether a pane is in the open drawer: among others, which are behind its tab or above it."""
        return self.open and self.at_side(name)

    def docked_panes(self) -> set[str]:
        """The panes docked at the sides in a wide window, as saved with the layout."""
        if not self.narrow:
            return self._shown()
        self.note()
        return set(self.names) if self._docked_beside else set()

    def restore(self, names: Collection[str]) -> None:
        """Set the side panes of a saved layout; the drawer is closed."""
        self.narrow = self.open = False
        self._close_over()
        self._show(names)
        self.follow()

    def follow(self) -> None:
        """Adapt to a new window width."""
        narrow = self._window.width() < NARROW
        self._free_width(narrow)
        if narrow == self.narrow:
            return
        self._preserve_sidebar_width()
        if narrow:
            self._docked_beside = bool(self._shown())
            self.note()
            self.narrow = True
            self._show(())
        else:
            self.shut()
            self.narrow = False
            before = dict(self._sizes)  # sizes that Qt assigns first were not chosen by the user
            self._show(self.names if self._docked_beside else ())
            QTimer.singleShot(0, self, lambda: self._size(before))

    def _free_width(self, narrow: bool) -> None:
        """Let the window become narrow in one step, as when it is put beside another one: the panes beside the
        conversation need more room than it will have, and yield only once it has less."""
        if self._over is None:
            return
        *_pages, sidebar, strip = self._over
        held = self._window.minimumSizeHint().width() > NARROW  # large text: it would be squeezed before it is narrow
        least = self._least + sidebar.minimumWidth() + strip.sizeHint().width()
        self._window.setMinimumWidth(0 if narrow or held else least)

    def _preserve_sidebar_width(self) -> None:
        """Preserve the width of the left column when panes come or go: Qt shrinks it and does not restore it."""
        column = self._over[2].parentWidget() if self._over is not None else None
        if isinstance(column, QDockWidget) and self._column:
            width = self._column
            QTimer.singleShot(0, self, lambda: self._window.resizeDocks([column], [width], Qt.Orientation.Horizontal))

    def _size(self, sizes: Mapping[str, QSize]) -> None:
        sized = [(self._docks[name], sizes[name]) for name in self.front if name in self._shown() and name in sizes]
        docks = [dock for dock, _size in sized]
        self._window.resizeDocks(docks, [size.width() for _dock, size in sized], Qt.Orientation.Horizontal)
        self._window.resizeDocks(docks, [size.height() for _dock, size in sized], Qt.Orientation.Vertical)

    def show(self, name: str = "") -> None:
        """Open the drawer with this pane among the others."""
        names = {each for each in self.names if self.at_side(each)} | ({name} if name else set())
        if not self.open:
            self.open = True
            self._open_over()
        self._show(names or self._usual)
        self.opened.emit()

    def widen(self, least: int) -> None:
        """Give the open drawer this width in pixels at least: panes beside the chat are squeezed while the window is
        made narrow, and the drawer has room, because it covers the chat.
        """
        shown = [dock for name, dock in self._docks.items() if self.holds(name) and not dock.isHidden()]
        if shown and max(dock.width() for dock in shown) < least:
            self._window.resizeDocks(shown[:1], [least], Qt.Orientation.Horizontal)

    def shut(self) -> None:
        """Close the drawer; which panes the user showed or hid in it is remembered."""
        if not self.open:
            return
        self.note()
        self._docked_beside = self._docked_beside and bool(self._shown())
        self.open = False
        self._show(())
        self._close_over()

    def _shown(self) -> set[str]:
        return {name for name, dock in self._docks.items() if self.at_side(name) and not dock.isHidden()}

    def note(self) -> None:
        """Remember which panes are visible, to show them again."""
        if shown := self._shown():
            self.names = shown
            self.front = [name for name in shown if not self._docks[name].visibleRegion().isEmpty()]

    def _show(self, names: Iterable[str]) -> None:
        selected = set(names)
        for name, dock in self._docks.items():
            if self.at_side(name):
                dock.setVisible(name in selected)
        for name in self.front:
            if name in selected:
                self._docks[name].raise_()

    def _open_over(self) -> None:
        if self._over is None:
            return
        pages, middle, *_others = self._over
        middle.setMinimumWidth(LEAST_SEEN)
        pages.setMinimumWidth(LEAST_SEEN)
        self._shades = (_Shade(pages), _Shade(self._window))
        for shade in self._shades:
            shade.pressed.connect(self.shut)

    def _close_over(self) -> None:
        for shade in self._shades:
            shade.hide()
            shade.deleteLater()
        self._shades = ()
        if self._over is not None:
            pages, middle, *_others = self._over
            middle.setContentsMargins(0, 0, 0, 0)
            pages.setMinimumWidth(0)
            middle.setMinimumWidth(self._least)

    def size_middle(self, least: int) -> None:
        """Smallest width of the chat in pixels while nothing covers it."""
        self._least = least
        if self._over is not None and not self.open:
            self._over[1].setMinimumWidth(least)

    def _stretch(self) -> None:
        """Extend the chat under the drawer, on whichever side it is."""
        if self._over is None or not self.open:
            return
        pages, middle, sidebar, strip = self._over
        style = self._window.style()
        gap = style.pixelMetric(style.PixelMetric.PM_DockWidgetSeparatorExtent)
        left = sidebar.mapTo(self._window, sidebar.rect().topRight()).x() + 1 + gap if sidebar.isVisible() else 0
        free = pages.x() - left
        right = self._window.width() - pages.geometry().right() - 1
        if strip.isVisible():
            right -= strip.width()
        elif right:
            right += 1  # the separator line, which exists only next to panes
        for shade, part in zip(self._shades, (pages.rect(), QRect(0, 0, left, self._window.height())), strict=True):
            shade.cover(part)
        middle.setContentsMargins(-max(0, free), 0, -right, 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._window:
            if kind in (QEvent.Type.Resize, QEvent.Type.Show):
                self.follow()
            elif (
                kind == QEvent.Type.KeyPress
                and isinstance(event, QKeyEvent)
                and event.key() == Qt.Key.Key_Escape
                and self.open
            ):
                self.shut()  # nothing in the drawer handled the key
        elif kind == QEvent.Type.Resize and watched is not (self._over and self._over[0]):
            if self.narrow == (self._window.width() < NARROW):  # otherwise the panes have not been moved yet
                self._measure(watched)
        elif kind in (QEvent.Type.Resize, QEvent.Type.Move) and self._over is not None and watched is self._over[0]:
            self._stretch()
        return False

    def _measure(self, resized: QObject) -> None:
        if self._over is not None and resized is self._over[2]:
            self._column = self._over[2].width()
        elif isinstance(resized, QDockWidget) and not self.narrow:
            name = next(name for name, dock in self._docks.items() if dock is resized)
            self._sizes[name] = QSize(resized.width(), full_height(self._window, resized))

    def _on_moved(self, floating: bool) -> None:
        """A pane docked into a closed drawer opens it: the pane would otherwise disappear."""
        if self.narrow and not floating and not self.open:
            self.show(next((name for name, dock in self._docks.items() if dock is self.sender()), ""))

    def _on_visible(self, visible: bool) -> None:
        if not visible and self.open and not self._shown():
            self.shut()
