"""The right rail and the drawer below: panes that can be hidden, torn off, moved and stacked; their layout is kept by the window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QMainWindow, QTabBar, QTabWidget, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Translated, control, fill
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.questions.presenter import QuestionPresenter
    from atelier_desk.domain.stream import StreamEvent

TITLES = {
    "tasks": N_("Tasks"),
    "activity": N_("Activity"),
    "memory": N_("Memory"),
    "reports": N_("Reports"),
    "questions": N_("Questions"),
    "timeline": N_("Timeline"),
    "context": N_("Context"),
}
DRAWER = ("timeline", "context")
"""Panes that need width: they lie below the conversation, and stay away until they are asked for."""
DRAWER_HEIGHT = 320
DRAWER_SHARE = 0.42
"""Most of the window's height that it takes when it is opened."""
WIDTH = 300
HEIGHTS = [224, 344, 282]
"""Of tasks, activity and memory one above the other: five tasks, five agents with two rows of what they did, three memories."""
ROOMY_SCALE = 1.2
"""Up to this font scale three panes fit one above the other on a usual screen."""
LEAST = (180, 90)
"""Smallest a pane may be made, in pixels: three stacked ones must fit a small screen."""


class _DockTitle(Translated, QWidget):
    """The bar a pane is dragged by: a thin strip while it is docked, because the pane shows its own heading; a title when it floats."""

    def __init__(self, dock: QDockWidget, name: str) -> None:
        super().__init__(dock)
        self._dock, self._name = dock, name
        mark(self, "side")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._text = control(ElidedLabel("", self), look="small")
        fill(QHBoxLayout(self), (self._text, 1), margins=(12, 0, 12, 0))
        dock.topLevelChanged.connect(lambda *_: self.retranslate())
        self.retranslate()

    def sizeHint(self) -> QSize:
        return QSize(80, theme().px(26) if self._dock.isFloating() else 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def retranslate(self) -> None:
        self._text.setVisible(self._dock.isFloating())
        self._text.setText(_(TITLES[self._name]))
        self.setToolTip(_("Drag to move {pane}", pane=_(TITLES[self._name])))
        self.updateGeometry()


class _DockButtons(Translated, QWidget):
    """Tear off and hide, at the right of a pane's heading."""

    def __init__(self, dock: QDockWidget, name: str) -> None:
        super().__init__()
        self._dock, self._name = dock, name
        self._float = control(
            IconButton("external-link", parent=self, size=12), f"float-{name}", on=lambda: dock.setFloating(not dock.isFloating())
        )
        self._close = control(IconButton("x", parent=self, size=12), f"hide-{name}")
        fill(QHBoxLayout(self), self._float, self._close, margins=(0, 0, 0, 0), spacing=0)
        self._close.clicked.connect(dock.close)
        dock.topLevelChanged.connect(lambda *_: self.retranslate())
        self.retranslate()

    def retranslate(self) -> None:
        title = _(TITLES[self._name])
        self._float.describe(_("Put {pane} back", pane=title) if self._dock.isFloating() else _("Tear {pane} off", pane=title))
        self._close.describe(_("Hide {pane}", pane=title))


class Rail(Translated, QWidget):
    """Makes the panes' docks in a main window. It is no visible widget itself: it hears language changes for them."""

    def __init__(self, window: QMainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self.hide()
        self._window, self._bridge = window, bridge
        self.docks: dict[str, QDockWidget] = {}
        self.panes: dict[str, QWidget] = {}
        self._workflow_id = ""
        self._compact = False
        window.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks)
        window.setTabPosition(Qt.DockWidgetArea.RightDockWidgetArea, QTabWidget.TabPosition.North)
        window.setTabPosition(Qt.DockWidgetArea.BottomDockWidgetArea, QTabWidget.TabPosition.North)
        window.installEventFilter(self)
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        for name in TITLES:
            self.docks[name] = self._make_dock(name)
        self._put_away: set[str] = set()
        self.lay_out()

    def _make_dock(self, name: str) -> QDockWidget:
        dock = QDockWidget(self._window)
        dock.setObjectName(f"dock-{name}")
        sides = Qt.DockWidgetArea.LeftDockWidgetArea | Qt.DockWidgetArea.RightDockWidgetArea
        dock.setAllowedAreas(sides | Qt.DockWidgetArea.BottomDockWidgetArea if name in DRAWER else sides)
        dock.setTitleBarWidget(_DockTitle(dock, name))
        dock.setWindowTitle(_(TITLES[name]))
        holder = control(QWidget(dock), look="side")
        holder.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        dock.setWidget(holder)
        return dock

    def lay_out(self) -> None:
        """The layout nobody changed yet: tasks over activity over memory, with reports and questions behind memory; the drawer closed.

        With large text three panes would not fit one above the other: activity goes behind memory too.
        """
        right, below = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
        self._compact = theme().scale > ROOMY_SCALE
        for name, dock in self.docks.items():
            dock.setFloating(False)
            self._window.addDockWidget(below if name in DRAWER else right, dock)
            dock.setVisible(name not in DRAWER)
        self._window.tabifyDockWidget(self.docks["timeline"], self.docks["context"])
        stack = ["tasks", "memory"] if self._compact else ["tasks", "activity", "memory"]
        for upper, lower in pairwise(stack):
            self._window.splitDockWidget(self.docks[upper], self.docks[lower], Qt.Orientation.Vertical)
        behind = ["activity", "reports", "questions"] if self._compact else ["reports", "questions"]
        for name in behind:
            self._window.tabifyDockWidget(self.docks["memory"], self.docks[name])
        self.docks["memory"].raise_()
        self.size_column(1.0)
        heights = [300, 500] if self._compact else HEIGHTS
        self._window.resizeDocks([self.docks[name] for name in stack], heights, Qt.Orientation.Vertical)

    def mend(self) -> None:
        """A layout was put back that may be older than the drawer: its panes share one place again, unless somebody shows them."""
        timeline, context = (self.docks[name] for name in DRAWER)
        below = Qt.DockWidgetArea.BottomDockWidgetArea
        together = all(self._window.dockWidgetArea(dock) == below and not dock.isFloating() for dock in (timeline, context))
        if together and timeline.isHidden() and context.isHidden():
            self._window.tabifyDockWidget(timeline, context)

    def fit_scale(self) -> None:
        """The font scale changed: stack the panes anew when they fit now, or do not fit any more; those in sight stay in sight."""
        if (theme().scale > ROOMY_SCALE) == self._compact:
            return
        shown = {name for name, dock in self.docks.items() if not dock.isHidden()}
        front = [name for name, dock in self.docks.items() if not dock.visibleRegion().isEmpty()]
        self.lay_out()
        for name, dock in self.docks.items():
            dock.setVisible(name in shown)
        for name in front:
            self.docks[name].raise_()
        if drawer := [self.docks[name] for name in DRAWER if name in shown]:
            self._open_drawer(drawer[0])

    def size_column(self, grown: float) -> None:
        """Give the rail its usual width times ``grown``."""
        self._window.resizeDocks([self.docks["tasks"]], [round(WIDTH * grown)], Qt.Orientation.Horizontal)

    def fill(self, presenter: QuestionPresenter) -> None:
        """Make the panes; after the first paint, because they are many widgets."""
        from atelier_desk.desktop.panes.activity_pane import ActivityPane
        from atelier_desk.desktop.panes.base import Pane
        from atelier_desk.desktop.panes.context_pane import ContextPane
        from atelier_desk.desktop.panes.inbox_pane import InboxPane
        from atelier_desk.desktop.panes.memory_pane import MemoryPane
        from atelier_desk.desktop.panes.reports_pane import ReportsPane
        from atelier_desk.desktop.panes.task_pane import TaskPane
        from atelier_desk.desktop.panes.timeline_pane import TimelinePane

        made: dict[str, QWidget] = {
            "tasks": TaskPane(self._bridge),
            "activity": ActivityPane(self._bridge),
            "memory": MemoryPane(self._bridge),
            "reports": ReportsPane(self._bridge),
            "questions": InboxPane(self._bridge, presenter),
            "timeline": TimelinePane(self._bridge),
            "context": ContextPane(self._bridge),
        }
        for name, pane in made.items():
            holder = self.docks[name].widget()
            self.docks[name].setWidget(pane)
            holder.deleteLater()
            pane.setMinimumSize(*LEAST)
            self.panes[name] = pane
            if isinstance(pane, Pane):
                pane.tools.addWidget(_DockButtons(self.docks[name], name))
        if self._workflow_id:
            self.set_workflow(self._workflow_id)

    def set_workflow(self, workflow_id: str) -> None:
        """Every pane shows this workflow."""
        self._workflow_id = workflow_id
        for pane in self.panes.values():
            pane.set_workflow(workflow_id)  # type: ignore[attr-defined]

    def on_stream(self, event: StreamEvent) -> None:
        for pane in self.panes.values():
            pane.on_stream(event)  # type: ignore[attr-defined]

    def show_pane(self, name: str) -> None:
        """Bring a pane to the front, wherever it is."""
        dock = self.docks[name]
        opened = dock.isHidden()
        dock.show()
        dock.raise_()
        if opened and name in DRAWER and not dock.isFloating():
            self._open_drawer(dock)
        if dock.isFloating():
            dock.activateWindow()
        if (pane := self.panes.get(name)) is not None:
            pane.setFocus()

    def _open_drawer(self, dock: QDockWidget) -> None:
        height = min(theme().px(DRAWER_HEIGHT), round(self._window.height() * DRAWER_SHARE))
        self._window.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    @property
    def visible(self) -> bool:
        return any(not dock.isHidden() for _name, dock in self._docked())

    def set_visible(self, on: bool) -> None:
        """Hide everything that is not torn off, or show again what was hidden that way."""
        if not on:
            self._put_away = {name for name, dock in self._docked() if not dock.isHidden()}
        wanted = (self._put_away or set(TITLES) - set(DRAWER)) if on else set()
        for name, dock in self._docked():
            dock.setVisible(name in wanted)
        if on:
            self.docks["memory"].raise_()

    def _docked(self) -> Iterator[tuple[str, QDockWidget]]:
        return ((name, dock) for name, dock in self.docks.items() if not dock.isFloating())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished:
            for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
                bar.setElideMode(Qt.TextElideMode.ElideNone)  # three short words always fit; Qt would cut them
                bar.setExpanding(False)
        return False

    def retranslate(self) -> None:
        for name, dock in self.docks.items():
            dock.setWindowTitle(_(TITLES[name]))
