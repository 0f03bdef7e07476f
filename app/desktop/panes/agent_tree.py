"""The tree of agents at work: state, current tool, elapsed time, tokens, cost; stop and pause on each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QLabel, QSizePolicy, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from app.desktop.panes.activity_list import RUN_WORDS
from app.desktop.panes.activity_log import AgentNode
from app.desktop.panes.wording import duration, money, short_number
from app.desktop.theme import mark, theme
from app.desktop.theme.manager import Role
from app.desktop.widgets import ElidedLabel, IconButton
from app.i18n import _, ngettext

_ICONS: dict[str, tuple[str, Role]] = {
    "processing": ("loader-circle", "accent"),
    "paused": ("pause", "warn"),
    "limited": ("triangle-alert", "warn"),
    "completed": ("check", "ok"),
    "error": ("circle-x", "err"),
    "cancelled": ("square", "muted"),
    "abandoned": ("x", "muted"),
}
_WAITING: tuple[str, Role] = ("circle-help", "warn")


MOST_ROWS = 4
"""Agents that are shown without scrolling."""


class AgentRow(QWidget):
    """One agent: a line with its name and what it does, a line of figures, and its buttons."""

    stop = Signal(str)
    pause = Signal(str)
    resume = Signal(str)

    def __init__(self, run_id: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.run_id = run_id
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 2, 0, 2)
        row.setSpacing(6)
        self._icon = QLabel(self)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        self._name, self._figures = ElidedLabel("", self), ElidedLabel("", self)
        mark(self._figures, "small")
        texts.addWidget(self._name)
        texts.addWidget(self._figures)
        self._pause, self._stop = IconButton("pause", parent=self), IconButton("square", parent=self)
        self._pause.setObjectName("agent-pause")
        self._stop.setObjectName("agent-stop")
        self._paused = False
        self._pause.clicked.connect(lambda *_: (self.resume if self._paused else self.pause).emit(self.run_id))
        self._stop.clicked.connect(lambda *_: self.stop.emit(self.run_id))
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        row.addWidget(self._pause)
        row.addWidget(self._stop)

    def show_node(self, node: AgentNode, now: datetime) -> None:
        """Draw the agent's present state."""
        icon, role = _ICONS.get(node.status, _WAITING)
        self._icon.setPixmap(theme().pixmap(icon, role, theme().px(16), self.devicePixelRatioF()))
        state = node.tool if node.tool and node.status == "processing" else _(RUN_WORDS.get(node.status, node.status))
        name = node.name or _("Agent")
        self._name.setText(f"{name} — {state}")
        figures = [duration(node.elapsed_s(now) * 1000)]
        if node.tokens:
            figures.append(ngettext("{number} token", "{number} tokens", node.tokens, number=short_number(node.tokens)))
        if node.cost:
            figures.append(money(node.cost))
        self._figures.setText(" · ".join(figures))
        self._paused = node.status in ("paused", "limited")
        self._pause.set_icon("play" if self._paused else "pause")
        self._pause.describe(_("Go on: {agent}", agent=name) if self._paused else _("Pause: {agent}", agent=name))
        self._stop.describe(_("Stop: {agent}", agent=name))
        self._pause.setVisible(self._paused or not node.over)
        self._stop.setVisible(self._paused or not node.over)
        self.setAccessibleName(f"{name}, {state}, {self._figures.text()}")


class AgentTree(QTreeWidget):
    """``agent-tree``. Rows are kept and only redrawn; signals carry the run's id."""

    stop = Signal(str)
    pause = Signal(str)
    resume = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agent-tree")
        self.setHeaderHidden(True)
        self.setIndentation(14)
        self.setRootIsDecorated(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._items: dict[str, QTreeWidgetItem] = {}
        self._rows: dict[str, AgentRow] = {}
        self._wanted = 0
        self._shown: tuple[list[AgentNode], datetime] | None = None
        theme().changed.connect(self._measure_soon)

    def show_agents(self, nodes: Iterable[AgentNode], now: datetime) -> None:
        """Make the tree show exactly these agents; parents come before their children."""
        nodes = list(nodes)
        self._shown = (nodes, now)
        listed = {node.run_id: node for node in nodes}
        if set(self._items) - set(listed):
            self.clear()
            self._items.clear()
            self._rows.clear()
        for run_id, node in listed.items():
            if run_id not in self._items:
                self._add(node)
            row, item = self._rows[run_id], self._items[run_id]
            row.show_node(node, now)
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, row.accessibleName())
            item.setSizeHint(0, QSize(0, self._row_height(row)))
        self.setAccessibleName(ngettext("{n} agent", "{n} agents", len(listed)))
        self._measure()

    @staticmethod
    def _row_height(row: AgentRow) -> int:
        return row.sizeHint().height() + theme().px(10)

    def _measure(self) -> None:
        """At most four rows high, and at least one: a short pane scrolls the others."""
        heights = [self._row_height(row) for row in self._rows.values()]
        edges = 2 * self.frameWidth() + 2
        self._wanted = sum(heights[:MOST_ROWS]) + edges
        self.setMinimumHeight(heights[0] + edges if heights else 0)
        self.setMaximumHeight(self._wanted if heights else 0)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(0, self._wanted)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def _measure_soon(self) -> None:
        """After another theme or font scale, once the labels have taken their new fonts."""
        QTimer.singleShot(0, self, self._redraw)

    def _redraw(self) -> None:
        if self._shown is not None:
            self.show_agents(*self._shown)

    def _add(self, node: AgentNode) -> None:
        parent = self._items.get(node.parent_run_id or "")
        item = QTreeWidgetItem()
        if parent is None:
            self.addTopLevelItem(item)
        else:
            parent.addChild(item)
            parent.setExpanded(True)
        row = AgentRow(node.run_id, self)
        row.stop.connect(self.stop)
        row.pause.connect(self.pause)
        row.resume.connect(self.resume)
        self.setItemWidget(item, 0, row)
        self._items[node.run_id], self._rows[node.run_id] = item, row
