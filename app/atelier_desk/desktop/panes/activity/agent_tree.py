"""The agent tree: all runs of the newest turn, live."""

from __future__ import annotations

from collections.abc import Set

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QSizePolicy, QTreeWidget, QTreeWidgetItem, QWidget

from atelier_desk.desktop.panes.activity.agent_row import AgentRow
from atelier_desk.desktop.panes.context_menu_position import menu_place
from atelier_desk.desktop.team.agent_state_labels import spoken
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.desktop.widgets.hover_freeze import HoverGate
from atelier_desk.desktop.widgets.language_theme_bindings import bind
from atelier_desk.desktop.widgets.scroll_bar_space import OverlayBar
from atelier_desk.presentation.rows.team_state import AgentUsage, Member
from atelier_desk.support.i18n import ngettext

SURE_ROWS = 2
"""Minimum number of visible rows."""
_PADDING = 4
"""Pixels of an item's height taken by the style sheet's padding."""
AT_ONCE, A_FRAME, FRAME_MS = 1, 1, 16
"""Rows created at once and per following frame: one takes 3–5 ms. Space for all rows is reserved at once."""
ALWAYS = 8
"""Rows that are always drawn; others are created and updated when they scroll into view."""
_RunRole = Qt.ItemDataRole.UserRole


class AgentTree(QTreeWidget):
    """``agent-tree``. Rows are reused and redrawn.

    Signals:
        asked: an action (pause, resume, cancel, open), and the id of the run.
        said: a run's id and a message to it.
        chosen: the run whose activity to show; empty for all.
        measured: the preferred height (``wanted``) changed.
    """

    asked = Signal(str, str)
    message_sent = Signal(str, str)
    chosen = Signal(str)
    measured = Signal()

    def __init__(self, team: TeamModel, parent: QWidget) -> None:
        super().__init__(parent)
        OverlayBar(self)
        self.setObjectName("agent-tree")
        self.setHeaderHidden(True)
        self.setIndentation(14)
        self.setRootIsDecorated(False)
        self.setExpandsOnDoubleClick(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._team = team
        self._items: dict[str, QTreeWidgetItem] = {}
        self._rows: dict[str, AgentRow] = {}
        self._stale: set[str] = set()
        self._making = QTimer(self)
        self._making.setInterval(FRAME_MS)
        self._making.timeout.connect(self._draw_more)
        self.gate = HoverGate(self, self.refresh)
        self.wanted = 0
        self.itemSelectionChanged.connect(self._on_selected)
        self.itemDoubleClicked.connect(lambda item, _column: self.asked.emit("open", str(item.data(0, _RunRole))))
        self.itemExpanded.connect(lambda _item: self._on_folded())
        self.itemCollapsed.connect(lambda _item: self._on_folded())
        self.verticalScrollBar().valueChanged.connect(lambda _value: self._making.start())
        team.changed.connect(self._on_changed)
        team.ticked.connect(self._on_tick)
        bind(self._schedule_refresh)

    @property
    def members(self) -> list[Member]:
        return list(self._team.state.walk(self._team.root))

    @property
    def chosen_run(self) -> str:
        """The run of the selected row; empty if none is."""
        return next((str(item.data(0, _RunRole)) for item in self.selectedItems()), "")

    def refresh(self) -> None:
        """Show exactly the agents of the newest turn."""
        members = self.members
        listed = {member.run_id for member in members}
        if set(self._items) - listed:
            self.clear()
            self._items.clear()
            self._rows.clear()
            self._stale.clear()
        self._show_all(members, listed)

    def _show_all(self, members: list[Member], touched: set[str]) -> None:
        """List these agents; draw new ones and those in ``touched``."""
        for member in members:
            if member.run_id not in self._items:
                self._add(member)
        self._draw(touched, AT_ONCE)
        self.setAccessibleName(ngettext("{n} agent", "{n} agents", len(members)))
        self._measure()

    def _schedule_refresh(self) -> None:
        """Refresh after a change of language, theme or font scale, once the labels have their new fonts."""
        QTimer.singleShot(0, self, self.refresh)

    def _in_view(self) -> set[str]:
        """The runs of visible rows and of the first ones."""
        area = self.viewport().rect()
        seen = {run_id for run_id, item in self._items.items() if self.visualItemRect(item).intersects(area)}
        return seen.union(list(self._items)[:ALWAYS])

    def _draw(self, touched: set[str], most: int, above: Set[str] = frozenset()) -> None:
        """Update the visible rows and create up to ``most`` missing ones; a timer does the rest.

        Of ``above`` only the figures are updated, which include descendants.
        """
        self._stale.update(touched & self._items.keys())
        seen = self._in_view()
        for run_id in above & self._items.keys() - self._stale:
            if run_id in seen and run_id in self._rows and self._team.get(run_id) is not None:
                self._rows[run_id].tick(self._team.state.shown(run_id, self._team.now()))
                self._items[run_id].setData(0, Qt.ItemDataRole.AccessibleTextRole, self._rows[run_id].accessibleName())
            else:
                self._stale.add(run_id)
        for run_id in touched & self._items.keys() - seen:
            if (member := self._team.get(run_id)) is not None:
                self._items[run_id].setData(0, Qt.ItemDataRole.AccessibleTextRole, spoken(member, AgentUsage()))
        missing = [run_id for run_id in self._items if run_id in seen and run_id not in self._rows]
        for run_id in missing[:most]:
            self._make(run_id)
        for run_id in [run_id for run_id in self._rows if run_id in self._stale and run_id in seen]:
            self._stale.discard(run_id)
            if (member := self._team.get(run_id)) is not None:
                self._show(member)
        if len(missing) > most:
            self._making.start()
        else:
            self._making.stop()

    def _draw_more(self) -> None:
        self._draw(set(), A_FRAME)
        self._measure()

    def _show(self, member: Member) -> None:
        row, item = self._rows[member.run_id], self._items[member.run_id]
        row.show_member(member, self._team.state.shown(member.run_id, self._team.now()))
        item.setData(0, Qt.ItemDataRole.AccessibleTextRole, row.accessibleName())
        height = row.sizeHint().height() + _PADDING
        if item.sizeHint(0).height() != height:
            item.setSizeHint(0, QSize(0, height))
            self.scheduleDelayedItemsLayout()

    def _on_changed(self, runs: frozenset[str]) -> None:
        members = self.members
        listed = {member.run_id for member in members}
        known = [member for member in members if member.run_id in self._items]
        if (len(known) < len(self._items) or len(known) < len(members)) and self.gate.holds():
            members = known
        elif set(self._items) - listed:
            self.refresh()
            return
        above = {member.run_id for run_id in runs for member in self._team.state.path(run_id)} - runs
        if len(members) > len(self._items):
            self._show_all(members, {*runs, *above})
        else:
            self._draw(set(runs), AT_ONCE, above)

    def _on_tick(self) -> None:
        if self.isVisible():
            now, seen = self._team.now(), self._in_view()
            for member in self.members:
                row = self._rows.get(member.run_id)
                if row is not None and member.run_id in seen and not member.over:
                    row.tick(self._team.state.shown(member.run_id, now))

    def _add(self, member: Member) -> None:
        parent = self._items.get(member.parent_run_id or "")
        item = QTreeWidgetItem()
        item.setData(0, _RunRole, member.run_id)
        if parent is None:
            self.addTopLevelItem(item)
        else:
            parent.addChild(item)
            if parent.childCount() == 1:
                parent.setExpanded(True)
        known = next((other.sizeHint(0) for other in self._items.values()), None)
        item.setSizeHint(0, known or QSize(0, 2 * self.fontMetrics().height() + _PADDING))
        self._items[member.run_id] = item

    def _make(self, run_id: str) -> None:
        row = self._rows[run_id] = AgentRow(run_id, self)
        row.asked.connect(self.asked)
        row.message_sent.connect(self.message_sent)
        row.grown.connect(lambda: self._on_grown(run_id))
        row.set_chosen(run_id == self.chosen_run)
        self.setItemWidget(self._items[run_id], 0, row)
        self._stale.add(run_id)

    def _on_grown(self, run_id: str) -> None:
        row = self._rows[run_id]
        layout = row.layout()
        if layout is not None:
            layout.activate()
        self._items[run_id].setSizeHint(0, QSize(0, row.sizeHint().height() + _PADDING))
        self._measure()
        self.doItemsLayout()  # the rows below move only then
        self.scrollToItem(self._items[run_id])

    def choose(self, run_id: str) -> None:
        """Select an agent's row; empty for none."""
        item = self._items.get(run_id)
        if item is None:
            self.clearSelection()
        else:
            self.setCurrentItem(item)

    def _on_selected(self) -> None:
        picked = self.chosen_run
        for run_id, row in self._rows.items():
            row.set_chosen(run_id == picked)
        self.chosen.emit(picked)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and item is not None:
            self.asked.emit("open", str(item.data(0, _RunRole)))
        elif event.key() == Qt.Key.Key_Escape and self.selectedItems():
            self.clearSelection()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """A menu of the row's buttons with labels."""
        item = self.currentItem()
        if event.reason() is not QContextMenuEvent.Reason.Mouse and item is not None:
            self.scrollToItem(item)
            self._draw(set(), A_FRAME)
        place, item = menu_place(self, event), self.currentItem()
        row = self._rows.get(str(item.data(0, _RunRole))) if item is not None else None
        if place is None or row is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for button in (row.opener, row.message, row.pause, row.stop):
            if not button.isHidden():
                menu.addAction(button.icon(), button.accessibleName(), button.click)
        menu.popup(place)

    def _measure(self) -> None:
        """Fit the height to the rows, at least ``SURE_ROWS``; the rest scrolls."""
        heights = [item.sizeHint(0).height() for item in self._items.values() if self._in_sight(item)]
        edges = 2 * self.frameWidth() + 2
        before, self.wanted = self.wanted, sum(heights) + edges if heights else 0
        self.setMinimumHeight(sum(heights[:SURE_ROWS]) + edges if heights else 0)
        self.setMaximumHeight(self.wanted)
        if self.wanted != before:
            self.updateGeometry()
            self.measured.emit()

    def _on_folded(self) -> None:
        self._making.start()
        self._measure()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._making.start()

    @staticmethod
    def _in_sight(item: QTreeWidgetItem) -> bool:
        above = item.parent()
        while above is not None:
            if not above.isExpanded():
                return False
            above = above.parent()
        return True

    def sizeHint(self) -> QSize:
        return QSize(0, self.wanted)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)
