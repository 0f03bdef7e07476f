"""In a narrow window the panes at the side yield: they lie in a drawer over the conversation instead of standing beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QDockWidget, QWidget

from atelier_desk.desktop.dock_tabs import full_height
from atelier_desk.desktop.theme import theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMainWindow

NARROW = 1280
"""Below this width of the window, in logical pixels, the conversation has no room for panes beside it."""
LEAST_SEEN = 60
"""Pixels of the conversation that an open drawer leaves in sight: the place to click that closes it."""
_SIDES = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)


class _Shade(QWidget):
    """Darkens what lies beside the open drawer and takes the click that closes it.

    Signals:
        pressed: somebody clicked beside the drawer.
    """

    pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("drawer-shade")

    def cover(self, part: QRect) -> None:
        """Lie over this part of the parent, above everything in it."""
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
    """Decides whether the panes docked at the sides stand beside the conversation, and opens and closes them over it in a narrow window.

    The panes stay docks of the window all the time, and so can be moved, stacked and torn off in the drawer as beside the conversation.
    What makes them lie over it: the conversation keeps the width it would have without them, and what is under them is not seen.

    Attributes:
        narrow: the panes are in the drawer.
        open: the drawer is open; always False in a wide window.
        names: the panes that were in sight last, or are.
        front: those of them that no other one hid.

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
        """Of the panes beside the conversation: Qt squeezes them before they yield, and gives a place that was empty another size."""
        self._over: tuple[QWidget, QWidget, QWidget, QWidget] | None = None
        self._shades: tuple[_Shade, ...] = ()
        """Over the conversation and over what stands left of it."""
        self._least = 0
        self._column = 0
        """Width of the sidebar, as it was last while the panes had their place."""
        window.installEventFilter(self)
        for dock in docks.values():
            dock.installEventFilter(self)
            dock.topLevelChanged.connect(self._on_moved)
            dock.visibilityChanged.connect(self._on_visible)

    def overlay(self, pages: QWidget, middle: QWidget, sidebar: QWidget, strip: QWidget) -> None:
        """``pages`` is what the panes take room from, ``middle`` what keeps its width in it; the conversation lies between ``sidebar`` and
        ``strip``."""
        self._over = pages, middle, sidebar, strip
        pages.installEventFilter(self)
        sidebar.installEventFilter(self)

    # -- what is shown ----------------------------------------------------------------------------------------------------------------
    def at_side(self, name: str) -> bool:
        """Whether a pane is docked at a side, and not torn off or below the conversation."""
        dock = self._docks[name]
        return not dock.isFloating() and self._window.dockWidgetArea(dock) in _SIDES

    def docked_panes(self) -> set[str]:
        """The panes that stand at the sides where there is room: what a layout that is kept says of them."""
        if not self.narrow:
            return self._shown()
        self.note()
        return set(self.names) if self._docked_beside else set()

    def restore(self, names: Collection[str]) -> None:
        """Panes that a kept layout says stand at the sides; the drawer is closed."""
        self.narrow = self.open = False
        self._close_over()
        self._show(names)
        self.follow()

    def follow(self) -> None:
        """The window has another width."""
        narrow = self._window.width() < NARROW
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
            before = dict(self._sizes)  # those that Qt gives the panes first are no one's choice
            self._show(self.names if self._docked_beside else ())
            QTimer.singleShot(0, self, lambda: self._size(before))

    def _preserve_sidebar_width(self) -> None:
        """The left column has its width whether the panes come or go: Qt takes it from there first, and does not give it back."""
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
        """Open the drawer, with this pane among the others."""
        names = {each for each in self.names if self.at_side(each)} | ({name} if name else set())
        if not self.open:
            self.open = True
            self._open_over()
        self._show(names or self._usual)
        self.opened.emit()

    def shut(self) -> None:
        """Close the drawer; what a person hid or showed in it stays so."""
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
        """Remember what is in sight, to show the same again."""
        if shown := self._shown():
            self.names = shown
            self.front = [name for name in shown if not self._docks[name].visibleRegion().isEmpty()]

    def _show(self, names: Iterable[str]) -> None:
        wanted = set(names)
        for name, dock in self._docks.items():
            if self.at_side(name):
                dock.setVisible(name in wanted)
        for name in self.front:
            if name in wanted:
                self._docks[name].raise_()

    # -- lying over the conversation --------------------------------------------------------------------------------------------------
    def _open_over(self) -> None:
        if self._over is None:
            return
        pages, middle, *_beside = self._over
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
            pages, middle, *_beside = self._over
            middle.setContentsMargins(0, 0, 0, 0)
            pages.setMinimumWidth(0)
            middle.setMinimumWidth(self._least)

    def size_middle(self, least: int) -> None:
        """Smallest width of the conversation, in pixels, while nothing lies over it."""
        self._least = least
        if self._over is not None and not self.open:
            self._over[1].setMinimumWidth(least)

    def _stretch(self) -> None:
        """Give the conversation the room under the drawer too, at whichever side it is."""
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
            right += 1  # the line at that side, which is there only beside panes
        for shade, part in zip(self._shades, (pages.rect(), QRect(0, 0, left, self._window.height())), strict=True):
            shade.cover(part)
        middle.setContentsMargins(-max(0, free), 0, -right, 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._window:
            if kind in (QEvent.Type.Resize, QEvent.Type.Show):
                self.follow()
            elif kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self.open:
                self.shut()  # nothing in the drawer had a use for the key
        elif kind == QEvent.Type.Resize and watched is not (self._over and self._over[0]):
            if self.narrow == (self._window.width() < NARROW):  # else the panes have not come or gone yet
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
        """A pane that is put back into a closed drawer opens it: it would be gone otherwise."""
        if self.narrow and not floating and not self.open:
            self.show(next((name for name, dock in self._docks.items() if dock is self.sender()), ""))

    def _on_visible(self, visible: bool) -> None:
        if not visible and self.open and not self._shown():
            self.shut()
