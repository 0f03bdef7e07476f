"""A moment of the past on the screen: the transcript, the agents and the tasks of a snapshot, to be read and not acted on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QBoxLayout, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from app.desktop.chat.entries import Asked, Call, Entry, entry_from
from app.desktop.chat.view import ChatView
from app.desktop.panes.task_list import STATUS_ICONS, STATUS_WORDS
from app.desktop.panes.task_order import arrange
from app.desktop.panes.timeline_paint import STATUS_ICONS as AGENT_ICONS
from app.desktop.panes.two_line import FactsRole, IconRole, KeyRole, TwoLineDelegate
from app.desktop.panes.wording import duration, short_number
from app.desktop.team.model import TeamModel
from app.desktop.theme import mark, theme
from app.desktop.widgets import Translated, label
from app.i18n import _

if TYPE_CHECKING:
    from app.domain.task import Task
    from app.engine.services.team_views import AgentNode, Snapshot
    from app.engine.services.transcript import TranscriptEntry


class PastTeam(TeamModel):
    """The agents as they were: elapsed time is counted to the moment shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(None, parent)
        self.moment: datetime | None = None

    def now(self) -> datetime:
        return self.moment or super().now()

    def show(self, snapshot: Snapshot) -> None:
        """Forget what was known of later, or earlier, moments."""
        self.set_workflow(snapshot.workflow_id)
        self.moment = snapshot.mark.time if snapshot.mark is not None else None
        if snapshot.tree is not None:
            self.take(snapshot.tree)


def show_entries(view: ChatView, stored: Iterable[TranscriptEntry]) -> None:
    """Make a view show exactly these messages; those that stay the same keep their widgets, so that nothing flickers."""
    wanted = []
    for item in stored:
        entry = entry_from(item)
        entry.actionable = False  # nothing of the past is decided again
        wanted.append(entry)
    shown = list(view.entries)
    same = 0
    while same < min(len(shown), len(wanted)) and shown[same].id == wanted[same].id:
        same += 1
    if same < len(shown):
        view.set_entries(wanted)
        return
    for old, new in zip(shown, wanted[:same], strict=True):
        if _take(old, new):
            view.update_entry(old)
    for entry in wanted[same:]:
        view.append(entry)
    view.scroll_to_end()


def _take(old: Entry, new: Entry) -> bool:
    """Give an entry the content of its later self; whether anything differs."""
    if _equal(old, new):
        return False
    for field in fields(Entry):
        setattr(old, field.name, getattr(new, field.name))
    return True


def _equal(one: Any, other: Any) -> bool:
    """Whether two values show the same; when a card was made is no content."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Entry | Call | Asked):
        return all(_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(one) if each.name != "began")
    if isinstance(one, list):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


class PastSide(Translated, QWidget):
    """The column beside a replayed transcript: ``replay-agents`` and ``replay-tasks``.

    Signals:
        agent_chosen: show the transcript of this run.
    """

    agent_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        mark(self, "side")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._tree: AgentNode | None = None
        self._tasks: tuple[Task, ...] = ()
        self._agents_title, self._tasks_title = label("", "heading", self), label("", "heading", self)
        self.agents, self.tasks = _tree_widget("replay-agents", self), _tree_widget("replay-tasks", self)
        self._halves = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._halves.setContentsMargins(10, 12, 10, 12)
        self._halves.setSpacing(12)
        for title, view, share in ((self._agents_title, self.agents, 3), (self._tasks_title, self.tasks, 2)):
            half = QVBoxLayout()
            half.setSpacing(6)
            half.addWidget(title)
            half.addWidget(view, 1)
            self._halves.addLayout(half, share)
        self.agents.itemClicked.connect(lambda item: self.agent_chosen.emit(str(item.data(0, KeyRole))))
        self.agents.itemActivated.connect(lambda item: self.agent_chosen.emit(str(item.data(0, KeyRole))))
        self.retranslate()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """The agents and tasks of this moment."""
        self._tree, self._tasks = snapshot.tree, snapshot.tasks
        self._fill()

    def lie_down(self, flat: bool) -> None:
        """Agents and tasks beside each other, where the column is a band; else one above the other."""
        self._halves.setDirection(QBoxLayout.Direction.LeftToRight if flat else QBoxLayout.Direction.TopToBottom)

    def mark_agent(self, run_id: str) -> None:
        """The run whose transcript is shown."""
        for item in self.agents.findItems("", Qt.MatchFlag.MatchContains | Qt.MatchFlag.MatchRecursive):
            if item.data(0, KeyRole) == run_id:
                self.agents.setCurrentItem(item)

    def _fill(self) -> None:
        self.agents.clear()
        if self._tree is not None:
            self._add_agent(self._tree, None)
            self.agents.expandAll()
        self.tasks.clear()
        for row in arrange(self._tasks):
            icon, role = STATUS_ICONS[row.shown_status]
            item = _item(row.task.id, row.task.name, _(STATUS_WORDS[row.shown_status]), icon, role)
            self.tasks.addTopLevelItem(item)
        self._halves.setStretch(1, 2 if self._tasks else 0)
        self.tasks.setVisible(bool(self._tasks))
        self._tasks_title.setVisible(bool(self._tasks))

    def _add_agent(self, node: AgentNode, parent: QTreeWidgetItem | None) -> None:
        icon, role = AGENT_ICONS.get(node.status, ("circle", "muted"))
        spent = node.usage.tokens_input + node.usage.tokens_output
        facts = [node.current_tool] if node.current_tool else []
        if node.elapsed_ms:
            facts.append(duration(node.elapsed_ms))
        if spent:
            facts.append(_("{count} tokens", count=short_number(spent)))
        item = _item(node.run_id, node.name, " · ".join(facts), icon, role)
        if parent is None:
            self.agents.addTopLevelItem(item)
        else:
            parent.addChild(item)
        for child in node.children:
            self._add_agent(child, item)

    def retranslate(self) -> None:
        self._agents_title.setText(_("AGENTS"))
        self._tasks_title.setText(_("TASKS"))
        self.agents.setAccessibleName(_("Agents at that moment"))
        self.tasks.setAccessibleName(_("Tasks at that moment"))
        self._fill()


def _item(key: str, title: str, facts: str, icon: str, role: str) -> QTreeWidgetItem:
    item = QTreeWidgetItem([title])
    item.setData(0, KeyRole, key)
    item.setData(0, FactsRole, facts)
    item.setData(0, IconRole, (icon, role))
    item.setData(0, Qt.ItemDataRole.AccessibleTextRole, f"{title}, {facts}" if facts else title)
    item.setToolTip(0, "\n".join(filter(None, (title, facts))))
    return item


def _tree_widget(name: str, parent: QWidget) -> QTreeWidget:
    view = QTreeWidget(parent)
    view.setObjectName(name)
    mark(view, "plain")
    view.setHeaderHidden(True)
    view.setRootIsDecorated(False)
    view.setIndentation(14)
    view.setItemDelegate(TwoLineDelegate(view))
    view.setMouseTracking(True)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    theme().changed.connect(view.scheduleDelayedItemsLayout)
    return view
