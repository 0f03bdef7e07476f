"""The panes on the right and below: they can be hidden, detached, moved and stacked; the window saves their layout.

While all panes are empty the column is a strip of icons; it opens by itself once, when the first pane has content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from PySide6 import QtWidgets  # for QTabWidget: importing it makes its class before the first paint
from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.desktop.panes.dock_tabs import DockTabs, full_height, hide_replaced_bars
from atelier_desk.desktop.panes.icon_strip import PaneStrip
from atelier_desk.desktop.panes.registry import PaneEntry, PaneHost, Place, panes
from atelier_desk.desktop.panes.side_drawer import SideDrawer
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, bind_text, control, hbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.tab_stops import entrance
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import number

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.panes.pane_base import Pane
    from atelier_desk.desktop.questions.presenter import QuestionPresenter
    from atelier_desk.domain.stream.event import StreamEvent

DRAWER_HEIGHT = 320
DRAWER_SHARE = 0.42
"""Largest share of the window's height that the lower drawer takes when opened."""
WIDTH = 320
"""Width in pixels at 100 %: the French titles of all panes fit side by side."""
GROWTH = 0.7
"""How much of the growth of the text the column follows: at 150 % the French titles fit with a count on one of them."""
COMPACT_HEIGHTS = [300, 500]
"""Heights of the top and bottom pane where no more than two fit, in pixels at 100 %."""
ROOMY_SCALE = 1.2
"""Up to this font scale three panes fit above each other on a common screen."""
LOW = 760
"""Below this window height, in logical pixels, panes are never stacked: all are tabs."""
FIT_MS = 150
TORN_OFF = QSize(380, 460)
"""Size of a detached pane at 100 %, unless it was larger."""
GRIP = 6
"""Height in pixels of the handle by which a docked pane is dragged."""
USUAL = 200
"""Height in pixels at 100 % of an unfolding pane that declares none."""
FOLD_MS = 400
"""Milliseconds a pane is empty before it folds, so that content being loaded arrives first."""


Opening = Literal["once", "done", "never"]
OPENINGS: tuple[Opening, ...] = ("once", "done", "never")
"""Whether the column opens by itself: with the next content; no longer, as it was opened before; or never."""


class _DockTitle(QWidget):
    """The bar a pane is dragged by: a thin handle while docked, a title bar while floating.

    A docked pane has a heading of its own.
    """

    def __init__(self, dock: QDockWidget, entry: PaneEntry) -> None:
        super().__init__(dock)
        self._dock = dock
        mark(self, "side")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._text = control(ElidedLabel("", self), "", entry.title, look="small")
        hbox(self, (self._text, 1), margins=(12, 0, 12, 0))
        bind_text(self, tip=lambda: _("Drag to move {pane}", pane=_(entry.title)))
        dock.topLevelChanged.connect(self._on_floating)
        self._on_floating(dock.isFloating())

    def sizeHint(self) -> QSize:
        return QSize(80, theme().px(26) if self._dock.isFloating() else GRIP)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def _on_floating(self, on: bool) -> None:
        self._text.setVisible(on)
        self.updateGeometry()


class _DockButtons(QWidget):
    """Buttons to detach and hide a pane, on the right of its heading. In the drawer, the second one closes that."""

    def __init__(self, dock: QDockWidget, entry: PaneEntry, drawer: SideDrawer) -> None:
        super().__init__()
        self._float = control(
            IconButton("external-link", parent=self, size=12), f"float-{entry.name}", on=lambda: tear_off(dock)
        )
        self._close = control(IconButton("x", parent=self, size=12), f"hide-{entry.name}")
        hbox(self, self._float, self._close, spacing=0)
        self._close.clicked.connect(lambda: drawer.shut() if drawer.holds(entry.name) else dock.close())
        self._float.describe(
            lambda: (
                _("Dock {pane}", pane=_(entry.title))
                if dock.isFloating()
                else _("Open {pane} in a window", pane=_(entry.title))
            )
        )
        self._close.describe(
            lambda: _("Close the panes") if drawer.holds(entry.name) else _("Hide {pane}", pane=_(entry.title))
        )
        dock.topLevelChanged.connect(lambda *_on: self._describe())

    def _describe(self) -> None:
        for each in (self._float, self._close):
            bind_text(each)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._describe()  # the window may have become narrow or wide meanwhile


def tear_off(dock: QDockWidget) -> None:
    """Make a pane a window next to its former place, or dock it again."""
    if dock.isFloating():
        dock.setFloating(False)
        return
    window, left = dock.window(), dock.mapToGlobal(QPoint(0, 0)).x()
    size = (TORN_OFF * theme().scale).expandedTo(dock.size())
    dock.setFloating(True)
    dock.resize(size)
    screen = dock.screen().availableGeometry()
    x = max(screen.left(), left - size.width() - 24)
    y = max(screen.top(), window.geometry().center().y() - size.height() // 2)
    dock.move(x, y)


def _usual_width() -> int:
    return round(WIDTH * (1 + (theme().scale - 1) * GROWTH))


class Rail(QWidget):
    """Creates the docks of all registered panes in a main window. Not a visible widget itself.

    Attributes:
        docks: by the pane's name; empty until ``make_docks``.
        opens: whether the column opens by itself.

    Signals:
        docks_made: by ``make_docks``, in the default layout.
        made: the name of a pane that was added to ``panes``.
    """

    docks_made = Signal()
    made = Signal(str)

    def __init__(self, window: QMainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self.hide()
        self._window, self._bridge = window, bridge
        self.docks: dict[str, QDockWidget] = {}
        self.panes: dict[str, Pane] = {}
        self._host: PaneHost | None = None
        self._workflow_id: str | None = None
        """None until the engine is open and it is known which one is to be shown."""
        self._rows = 0
        self.opens: Opening = "once"
        self._aside = self._was_visible = self._closed_together = False
        self._fit = Debouncer(self, FIT_MS, self.fit)
        self._fold = Debouncer(self, FOLD_MS, self._fold_vacant)
        self._unfold = Debouncer(self, 0, self._unfold_filled)
        self._waiting: set[str] = set()
        """The panes in which something waits for the person."""
        self._heights: dict[str, int] = {}
        """Of folded panes, before they were."""
        self._usual_heights: dict[QDockWidget, int] = {}
        """Heights of a default layout for docks that are hidden: they get them once shown, together or one by one."""
        window.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks)
        window.installEventFilter(self)
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self._entries = {entry.name: entry for entry in panes()}
        self._put_away: set[str] = set()
        self._usual = [entry.name for entry in self._entries.values() if entry.place != "drawer"]
        self.drawer = SideDrawer(window, self.docks, self._usual)
        # Once the panes are laid out.
        self.drawer.opened.connect(lambda: QTimer.singleShot(0, self, self._enter_drawer))
        self.strip = PaneStrip(window, [self._entries[name] for name in self._usual], self.show_pane)
        self._strip_debouncer = Debouncer(self, 0, self._show_strip)

    def make_docks(self) -> None:
        """Create the docks in the default layout, all closed; no effect if they exist.

        After the first paint, which shows only the strip, unless a pane is open in a saved layout.
        """
        if self.docks:
            return
        for area in (Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea):
            self._window.setTabPosition(area, QtWidgets.QTabWidget.TabPosition.North)
        DockTabs(self._window)
        for entry in self._entries.values():
            self.docks[entry.name] = self._make_dock(entry)
        layout = self._window.layout()
        assert layout is not None
        layout.setEnabled(False)  # hidden docks get no size; for others a narrow window would be widened
        self.lay_out()
        self.drawer.names = set(self._usual)
        for dock in self.docks.values():
            dock.hide()
        layout.setEnabled(True)
        self.drawer.watch_docks()
        for dock in self.docks.values():
            dock.visibilityChanged.connect(lambda *_: self._strip_debouncer.ask())
        hide_replaced_bars(self._window)
        self.docks_made.emit()

    def _placed(self, place: Place) -> list[QDockWidget]:
        """The docks that belong in an area, in order."""
        return [self.docks[entry.name] for entry in self._entries.values() if entry.place == place]

    def _make_dock(self, entry: PaneEntry) -> QDockWidget:
        dock = QDockWidget(self._window)
        dock.setObjectName(f"dock-{entry.name}")
        sides = Qt.DockWidgetArea.LeftDockWidgetArea | Qt.DockWidgetArea.RightDockWidgetArea
        dock.setAllowedAreas(sides | Qt.DockWidgetArea.BottomDockWidgetArea if entry.place == "drawer" else sides)
        dock.setTitleBarWidget(_DockTitle(dock, entry))
        bind_text(dock, title=entry.title)
        holder = control(QWidget(dock), look="side")
        holder.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        dock.setWidget(holder)
        return dock

    def lay_out(self, away: Collection[QDockWidget] = (), shown: Collection[QDockWidget] | None = None) -> None:
        """The default layout: stacked panes above each other, others as tabs behind the lowest.

        The lower drawer is closed.

        With large text three panes do not fit above each other: those in the middle become tabs too. In a low window
        all do. Panes in ``away`` keep their place. With ``shown``, no other pane is shown, not even for a moment: a
        narrow window would be widened for it, and its left column narrowed.
        """
        right, below = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
        self._rows = self._fitting_rows()
        stack, behind, drawer = (
            [dock for dock in self._placed(place) if dock not in away] for place in ("stack", "behind", "drawer")
        )
        for dock in [each for each in self.docks.values() if each not in away]:
            dock.setFloating(False)
            self._window.addDockWidget(below if dock in drawer else right, dock)
            dock.setVisible(dock not in drawer if shown is None else dock in shown)
        heights = [entry.height for entry in self._entries.values() if self.docks[entry.name] in stack]
        if self._rows == 2 and len(stack) > 2:
            stack, behind, heights = [stack[0], stack[-1]], [*stack[1:-1], *behind], COMPACT_HEIGHTS
        elif self._rows == 1:
            stack, behind, heights = stack[:1], [*stack[1:], *behind], heights[:1]
        for first, other in pairwise(drawer):
            self._window.tabifyDockWidget(first, other)
        for upper, lower in pairwise(stack):
            self._window.splitDockWidget(upper, lower, Qt.Orientation.Vertical)
        if stack:
            for dock in behind:
                self._window.tabifyDockWidget(stack[-1], dock)
            stack[-1].raise_()
        self.size_column()
        self._usual_heights = dict(zip(stack, heights, strict=True))
        self._size_stack()

    def _size_stack(self) -> None:
        """Set the heights of the default layout when its panes are first shown together."""
        layout = self._window.layout()
        if not self._usual_heights or layout is None or not layout.isEnabled():
            return
        if not any(dock.isHidden() for dock in self._usual_heights):
            heights, self._usual_heights = self._usual_heights, {}
            self._window.resizeDocks(list(heights), list(heights.values()), Qt.Orientation.Vertical)

    def use_stored_heights(self) -> None:
        """Leave the panes the heights of a stored layout."""
        self._usual_heights = {}

    def reset(self) -> None:
        """Restore the default layout, whatever the width of the window: closed until a pane has content."""
        filled = self._filled()
        self.opens = "done" if filled else "once"
        self.lay_out()
        self.drawer.restore(self._usual if filled else ())
        self._show_strip()

    @property
    def rows(self) -> int:
        """How many panes are currently above each other."""
        return self._rows

    def repair_layout(self, shown: Collection[str] | None = None, rows: int = 0) -> None:
        """Fix a layout that was just restored; again once the docks are made.

        The window may now have another size than when it was saved, for example on another screen. A layout of a
        version without the lower drawer gets the drawer's panes into one area, unless the user shows them.

        Args:
            shown: the panes at the sides where there is room; None means those visible now.
            rows: how many are above each other, 0 if unknown.
        """
        self._strip_debouncer.ask()
        if not self.docks:
            return
        at_side = [name for name, dock in self.docks.items() if not dock.isHidden()] if shown is None else shown
        self.drawer.restore(at_side)
        drawer, below = self._placed("drawer"), Qt.DockWidgetArea.BottomDockWidgetArea
        together = all(self._window.dockWidgetArea(dock) == below and not dock.isFloating() for dock in drawer)
        self._rows = rows or self._fitting_rows()
        self._fit.start()
        if together and all(dock.isHidden() for dock in drawer):
            for first, other in pairwise(drawer):
                self._window.tabifyDockWidget(first, other)
        hide_replaced_bars(self._window)

    def _fitting_rows(self) -> int:
        """How many panes fit above each other."""
        if self._window.height() < LOW:
            return 1
        return 2 if theme().scale > ROOMY_SCALE else 3

    def fit(self) -> None:
        """Restack the panes after a change of font scale or window size; visible panes stay visible."""
        if not self.docks or self._fitting_rows() == self._rows:
            return
        shown = [dock for dock in self.docks.values() if not dock.isHidden()]
        front = [name for name, dock in self.docks.items() if not dock.visibleRegion().isEmpty()]
        self.lay_out([dock for dock in self.docks.values() if dock.isFloating()], shown)
        for dock in self.docks.values():
            dock.setVisible(dock in shown)
        if not all(dock.isHidden() for dock in self._usual_heights):
            self.use_stored_heights()  # the hidden ones, once shown, must not undo what the user sets until then
        for name in front:
            self.docks[name].raise_()
        if drawer := [dock for dock in self._placed("drawer") if not dock.isHidden()]:
            self._open_drawer(drawer[0])

    def size_column(self) -> None:
        """Set the column to its default width at the present text size."""
        if self.docks:
            self._window.resizeDocks(self._placed("stack")[:1], [_usual_width()], Qt.Orientation.Horizontal)

    def fill(self, presenter: QuestionPresenter) -> None:
        """Create the panes after the first paint; those of a closed drawer are created when it is opened.

        They are many widgets.
        """
        self.make_docks()
        self._host = PaneHost(self._bridge, presenter)
        stream = StreamRouter(self._bridge.stream_event, self, lambda: self._workflow_id or "")
        stream.received.connect(self._on_stream)
        for name, dock in self.docks.items():
            if self._entries[name].place != "drawer" or not dock.isHidden():
                self._make_pane(name)
            dock.visibilityChanged.connect(partial(self._on_visible, name))
            for moved in (dock.topLevelChanged, dock.dockLocationChanged):
                moved.connect(self._refold)
        self._refold()

    def _on_visible(self, name: str, visible: bool) -> None:
        if visible:
            self._make_pane(name)
        self._refold()

    def _filled(self) -> list[str]:
        return [name for name in self._usual if name in self.panes and self.panes[name].notable]

    def _open_first(self) -> None:
        """Open the column when a pane first has content, except in a narrow window, where it would cover the chat."""
        filled = self._filled()
        if self.opens == "once" and filled and not self.drawer.narrow and not self._aside:
            self.set_visible(True)

    def _on_counted(self, name: str, count: int) -> None:
        self.strip.show_count(name, count, waits=False)
        self._open_first()

    def set_stay_closed(self, on: bool) -> None:
        """Keep the column closed for good, or let it open by itself with the next content."""
        self.opens = "never" if on else "once"
        if on:
            self.set_visible(False)
        else:
            self._open_first()

    def set_aside(self, on: bool) -> None:
        """Hide all panes, or show the previous ones again."""
        if on and not self._aside:
            self._was_visible = self.visible
            self.set_visible(False)
        self._aside, was = on, self._aside
        if was and not on and self._was_visible:
            self.set_visible(True)
        self._show_strip()

    def _show_strip(self) -> None:
        """Show the strip while the panes are closed; in a narrow window always, next to the drawer."""
        docked = any(self.drawer.at_side(name) and not dock.isHidden() for name, dock in self.docks.items())
        self.strip.setVisible(not self._aside and (self.drawer.narrow or not docked))

    def _refold(self, *_: object) -> None:
        """Unfold panes at once when they no longer may be folded; fold others after ``FOLD_MS``."""
        self._open_first()
        self._size_stack()
        self._unfold.ask()
        self._fold.ask()

    def _unfold_filled(self) -> None:
        may = self._foldable()
        folded = [name for name, pane in self.panes.items() if pane.folded and not self.docks[name].isHidden()]
        self._set_folded([name for name in folded if name not in may], False)

    def _fold_vacant(self) -> None:
        self._set_folded([name for name in self._foldable() if not self.panes[name].folded], True)

    def _foldable(self) -> list[str]:
        """Empty panes above another one.

        The lowest fills the remaining height, and behind a tab folding gains nothing.
        """
        alone = [name for name in self.panes if self.drawer.at_side(name) and not self.docks[name].isHidden()]
        lowest = max((self.docks[name].geometry().bottom() for name in alone), default=0)
        return [
            name
            for name in alone
            if self.panes[name].vacant
            and self.docks[name].geometry().bottom() < lowest
            and not self._window.tabifiedDockWidgets(self.docks[name])
        ]

    def _set_folded(self, names: Sequence[str], on: bool) -> None:
        for name in names:
            if on:
                self._heights[name] = self.docks[name].height()
            self.panes[name].set_folded(on)
        if names:
            QTimer.singleShot(0, self, partial(self._give_heights, names, on))  # once the window knows their new limits

    def _give_heights(self, names: Sequence[str], folded: bool) -> None:
        """Set the heights of panes just folded or unfolded; the lowest absorbs the difference.

        Panes omitted from the call to ``resizeDocks`` would all be resized in proportion.
        """
        shown = {
            name: dock
            for name, dock in self.docks.items()
            if self.drawer.at_side(name) and not dock.visibleRegion().isEmpty()
        }
        now = {name: full_height(self._window, dock) for name, dock in shown.items()}
        heights = {
            name: self.panes[name].maximumHeight() + GRIP if self.panes[name].folded else height
            for name, height in now.items()
        }
        for name in (set(names) & set(shown)) if not folded else ():
            heights[name] = max(self._heights.get(name, 0), theme().px(self._entries[name].height or USUAL))
        lowest = max(shown, key=lambda name: shown[name].geometry().bottom(), default="")
        if lowest:
            heights[lowest] = max(
                1, sum(now.values()) - sum(height for name, height in heights.items() if name != lowest)
            )
            self._window.resizeDocks(list(shown.values()), [heights[name] for name in shown], Qt.Orientation.Vertical)

    def _make_pane(self, name: str) -> None:
        if name in self.panes or self._host is None:
            return
        entry, dock = self._entries[name], self.docks[name]
        pane = entry.make(self._host)
        holder = dock.widget()
        dock.setWidget(pane)
        holder.deleteLater()
        pane.set_folded(False)
        pane.filled.connect(self._refold)
        pane.waiting.connect(partial(self._badge, name))
        pane.counted.connect(partial(self._on_counted, name))
        pane.tools.addWidget(_DockButtons(dock, entry, self.drawer))
        self.panes[name] = pane
        if self._workflow_id is not None:
            pane.set_workflow(self._workflow_id)
        self.made.emit(name)

    def _badge(self, name: str, count: int) -> None:
        """Show on a pane's tab how many items wait for the user, as the pane may be behind another."""
        title = self._entries[name].title
        (self._waiting.add if count else self._waiting.discard)(name)
        self.strip.show_count(name, count, waits=True)
        bind_text(self.docks[name], title=(lambda: f"{_(title)} · {number(count)}") if count else title)

    def set_workflow(self, workflow_id: str) -> None:
        """Set the workflow that every pane shows. A new one has nothing for the drawer below, which closes."""
        if self._workflow_id and not workflow_id:
            for dock in self._placed("drawer"):
                if not dock.isFloating():
                    dock.hide()
        self._workflow_id = workflow_id
        for pane in self.panes.values():
            pane.set_workflow(workflow_id)

    def _on_stream(self, event: StreamEvent) -> None:
        for pane in self.panes.values():
            pane.on_stream(event)

    def show_pane(self, name: str) -> None:
        """Bring a pane to the front, wherever it is."""
        self.make_docks()
        dock = self.docks[name]
        opened = dock.isHidden()
        if self.opens == "once" and name in self._usual:
            self.opens = "done"  # opened by the user
        self._make_pane(name)
        if self.drawer.narrow and self.drawer.at_side(name):
            self.drawer.show(name)
        elif not dock.isFloating():
            self.drawer.shut()  # it leaves no room for what opens below the chat
            if self._closed_together and self.drawer.at_side(name):
                self.set_visible(True)  # the panes closed with it would otherwise have no tabs
        dock.show()
        dock.raise_()
        if height := self._usual_heights.pop(dock, 0):  # the others may have got theirs from the user meanwhile
            self._window.resizeDocks([dock], [height], Qt.Orientation.Vertical)
        if opened and dock in self._placed("drawer") and not dock.isFloating():
            self._open_drawer(dock)
        if dock.isFloating():
            dock.activateWindow()
        if (pane := self.panes.get(name)) is not None:
            entrance(pane).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _open_drawer(self, dock: QDockWidget) -> None:
        height = min(theme().px(DRAWER_HEIGHT), round(self._window.height() * DRAWER_SHARE))
        self._window.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    @property
    def visible(self) -> bool:
        if self.drawer.narrow:
            return self.drawer.open
        return any(not dock.isHidden() for _name, dock in self._docked())

    def set_visible(self, on: bool) -> None:
        """Hide all docked panes, or show them again. In a narrow window: close or open the drawer."""
        if self.drawer.narrow:
            self.drawer.show() if on else self.drawer.shut()
            if on:
                self._raise_filled()
            return
        if on and self.opens == "once":
            self.opens = "done"
        self._closed_together = not on and (self._closed_together or self.visible)
        if not on:
            self.drawer.note()
            self._put_away = {name for name, dock in self._docked() if not dock.isHidden()} - self.drawer.names
        shown_names = (self.drawer.names or set(self._usual)) | self._put_away if on else set()
        for name, dock in self._docked():
            dock.setVisible(
                name in shown_names or (on and not dock.isHidden())
            )  # what the user opened below stays open
        if on:
            self._placed("stack")[-1].raise_()
            self._raise_filled()
        self._show_strip()

    def _raise_filled(self) -> None:
        """Of tabbed panes, raise one that waits for the user, else the previous one with content, else the first."""
        filled = self._filled()
        filled.reverse()
        for name in sorted(filled, key=lambda name: (name in self._waiting, name in self.drawer.front)):
            if self.drawer.at_side(name):
                self.docks[name].raise_()

    def _enter_drawer(self) -> None:
        """Focus the drawer so that Esc closes it, at its default width at least."""
        self.drawer.widen(_usual_width())
        front = [
            pane
            for name, pane in self.panes.items()
            if self.drawer.at_side(name) and not pane.visibleRegion().isEmpty()
        ]
        if front:
            front[0].setFocus()

    def _docked(self) -> Iterator[tuple[str, QDockWidget]]:
        return ((name, dock) for name, dock in self.docks.items() if not dock.isFloating())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._window and self._window.isVisible():
            self._fit.ask()
        return False
