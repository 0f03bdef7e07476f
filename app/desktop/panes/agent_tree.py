"""The tree of agents: every run of the newest turn at any depth, live."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QSizePolicy, QTreeWidget, QTreeWidgetItem, QWidget

from app.desktop.panes.agent_row import AgentRow
from app.desktop.team.model import TeamModel
from app.desktop.team.state import Member
from app.desktop.theme import theme
from app.i18n import ngettext

SURE_ROWS = 2
"""Agents that are shown in the shortest pane."""
_PADDING = 4
"""What the style sheet's padding takes from an item's height."""
_RunRole = Qt.ItemDataRole.UserRole


class AgentTree(QTreeWidget):
    """``agent-tree``. Rows are kept and only redrawn.

    Signals:
        asked: what to do (pause, resume, cancel, open), and with which run.
        said: a run's id and a message to it.
        chosen: the run whose activity is wanted; empty for all.
    """

    asked = Signal(str, str)
    said = Signal(str, str)
    chosen = Signal(str)

    def __init__(self, team: TeamModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._team = team
        self._items: dict[str, QTreeWidgetItem] = {}
        self._rows: dict[str, AgentRow] = {}
        self._most = 0
        self._wanted = 0
        self.customContextMenuRequested.connect(self._menu)
        self.itemSelectionChanged.connect(self._on_selected)
        self.itemDoubleClicked.connect(lambda item, _column: self.asked.emit("open", str(item.data(0, _RunRole))))
        self.itemExpanded.connect(lambda _item: self._measure())
        self.itemCollapsed.connect(lambda _item: self._measure())
        team.changed.connect(self._on_changed)
        team.ticked.connect(self._on_tick)
        theme().changed.connect(self._refresh_soon)

    @property
    def members(self) -> list[Member]:
        return list(self._team.state.walk(self._team.root))

    @property
    def chosen_run(self) -> str:
        """The run of the selected row; empty when none is."""
        return next((str(item.data(0, _RunRole)) for item in self.selectedItems()), "")

    # -- showing --------------------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Make the tree show exactly the agents of the newest turn."""
        members = self.members
        listed = {member.run_id for member in members}
        if set(self._items) - listed:
            self.clear()
            self._items.clear()
            self._rows.clear()
        for member in members:
            if member.run_id not in self._items:
                self._add(member)
            self._show(member)
        self.setAccessibleName(ngettext("{n} agent", "{n} agents", len(members)))
        self._measure()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._refresh_soon()

    def _refresh_soon(self) -> None:
        """After another language, theme or font scale, once the labels have taken their new fonts."""
        QTimer.singleShot(0, self, self.refresh)

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
        if {member.run_id for member in members} != set(self._items):
            self.refresh()
            return
        touched = set(runs)
        for run_id in runs:
            touched.update(member.run_id for member in self._team.state.path(run_id))
        for member in members:
            if member.run_id in touched:
                self._show(member)

    def _on_tick(self) -> None:
        if self.isVisible():
            now = self._team.now()
            for member in self.members:
                row = self._rows.get(member.run_id)
                if row is not None and not member.over:
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
        row = AgentRow(member.run_id, self)
        row.asked.connect(self.asked)
        row.said.connect(self.said)
        row.grown.connect(lambda: self._on_grown(member.run_id))
        self.setItemWidget(item, 0, row)
        self._items[member.run_id], self._rows[member.run_id] = item, row

    def _on_grown(self, run_id: str) -> None:
        row = self._rows[run_id]
        layout = row.layout()
        if layout is not None:
            layout.activate()
        self._items[run_id].setSizeHint(0, QSize(0, row.sizeHint().height() + _PADDING))
        self._measure()
        self.doItemsLayout()  # the rows below move only then
        self.scrollToItem(self._items[run_id])

    # -- choosing -------------------------------------------------------------------------------------------------------------
    def choose(self, run_id: str) -> None:
        """Select an agent's row; empty selects none."""
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

    def _menu(self, at: QPoint) -> None:
        """The row's buttons with their words."""
        item = self.itemAt(at)
        row = self._rows.get(str(item.data(0, _RunRole))) if item is not None else None
        if row is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for button in (row.opener, row.message, row.pause, row.stop):
            if not button.isHidden():
                menu.addAction(button.icon(), button.accessibleName(), button.click)
        menu.popup(self.viewport().mapToGlobal(at))

    # -- layout ---------------------------------------------------------------------------------------------------------------
    def set_most(self, height: int) -> None:
        """Take no more than this height; the rest is scrolled."""
        if height != self._most:
            self._most = height
            self._measure()

    def _measure(self) -> None:
        """As high as its rows, as far as the pane has room, and two of them at least; the others are scrolled."""
        heights = [item.sizeHint(0).height() for item in self._items.values() if self._in_sight(item)]
        edges = 2 * self.frameWidth() + 2
        least = sum(heights[:SURE_ROWS]) + edges
        self._wanted = min(sum(heights) + edges, max(self._most, least))
        self.setMinimumHeight(least if heights else 0)
        self.setMaximumHeight(self._wanted if heights else 0)
        self.updateGeometry()

    @staticmethod
    def _in_sight(item: QTreeWidgetItem) -> bool:
        above = item.parent()
        while above is not None:
            if not above.isExpanded():
                return False
            above = above.parent()
        return True

    def sizeHint(self) -> QSize:
        return QSize(0, self._wanted)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)
