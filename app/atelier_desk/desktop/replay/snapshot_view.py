"""A read-only view of a snapshot: transcript, agents and tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QWidget

from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.panes.tasks.list import STATUS_ICONS, STATUS_WORDS
from atelier_desk.desktop.panes.tasks.task_tree import arrange
from atelier_desk.desktop.panes.time_format import duration, short_number
from atelier_desk.desktop.panes.timeline.paint import STATUS_ICONS as AGENT_ICONS
from atelier_desk.desktop.panes.two_line_items import KeyRole
from atelier_desk.desktop.replay.row_tree import Row, RowTree
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import bind, bind_text, control, label, vbox
from atelier_desk.presentation.rows.transcript_entries import Call, Entry, QuestionRow, entry_from
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.domain.task import Task
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
    from atelier_desk.engine.services.team.replay import Snapshot
    from atelier_desk.engine.services.workflow.transcript import TranscriptEntry


class SnapshotTeam(TeamModel):
    """The agents at that moment: elapsed time is counted up to it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(None, parent)
        self.moment: datetime | None = None

    def now(self) -> datetime:
        return self.moment or super().now()

    def show(self, snapshot: Snapshot) -> None:
        """Replace the state by another moment's; only agents that look different are signalled."""
        before, pending = dict(self.state.members), set(self._dirty)
        self.set_workflow(snapshot.workflow_id)
        self.moment = snapshot.mark.time if snapshot.mark is not None else None
        if snapshot.tree is not None:
            self.root = snapshot.tree.run_id
            self.state.load(snapshot.tree)
        now = self.state.members
        changed = {
            run_id
            for run_id, member in now.items()
            if member.counting_since is not None or before.get(run_id) != member
        }
        self._mark(pending | changed | (before.keys() - now.keys()))


def show_entries(view: ChatView, stored: Iterable[TranscriptEntry]) -> None:
    """Show exactly these messages; unchanged ones keep their widgets, so that nothing flickers."""
    entries = []
    for item in stored:
        entry = entry_from(item)
        entry.actionable = False  # a replay is read-only
        entries.append(entry)
    shown = list(view.entries)
    same = 0
    while same < min(len(shown), len(entries)) and _continues(shown[same], entries[same]):
        same += 1
    if not same:
        view.set_entries(entries)
        return
    view.truncate(same)
    for old, new in zip(shown, entries[:same], strict=False):
        if _update_entry(old, new):
            view.update_entry(old)
    for entry in entries[same:]:
        view.append(entry)
    view.scroll_to_end()


def _continues(old: Entry, new: Entry) -> bool:
    """Whether a widget that shows ``old`` can show ``new``: the same message, with no part missing."""
    calls, asked = {call.call_id for call in new.calls}, {each.question_id for each in new.asked}
    complete = all(call.call_id in calls for call in old.calls) and all(each.question_id in asked for each in old.asked)
    return old.id == new.id and old.kind == new.kind and complete and bool(old.reasoning) <= bool(new.reasoning)


def _update_entry(old: Entry, new: Entry) -> bool:
    """Update an entry to its later state; returns whether anything differs."""
    if _equal(old, new):
        return False
    for field in fields(Entry):
        setattr(old, field.name, getattr(new, field.name))
    return True


def _equal(one: Any, other: Any) -> bool:
    """Whether two values look the same; the creation time of a card does not count."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Entry | Call | QuestionRow):
        return all(
            _equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(one) if each.name != "began"
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


class SnapshotSide(QWidget):
    """The column beside a replayed transcript: ``replay-agents`` and ``replay-tasks``.

    Signals:
        agent_chosen: show the transcript of this run.
    """

    agent_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        mark(self, "side")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._tree: AgentNode | None = None
        self._tasks: tuple[Task, ...] = ()
        self._agents_title = control(label("", "heading", self), "", N_("Agents"))
        self._tasks_title = control(label("", "heading", self), "", N_("Tasks"))
        self.agents, self.tasks = RowTree("replay-agents", self), RowTree("replay-tasks", self)
        self._halves = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._halves.setContentsMargins(10, 12, 10, 12)
        self._halves.setSpacing(12)
        for title, view, share in ((self._agents_title, self.agents, 3), (self._tasks_title, self.tasks, 2)):
            half = vbox(None, title, (view, 1), spacing=6)
            self._halves.addLayout(half, share)
        self.agents.itemClicked.connect(lambda item: self.agent_chosen.emit(str(item.data(0, KeyRole))))
        self.agents.itemActivated.connect(lambda item: self.agent_chosen.emit(str(item.data(0, KeyRole))))
        bind_text(self.agents, name=N_("Agents at that moment"))
        bind_text(self.tasks, name=N_("Tasks at that moment"))
        bind(self._fill, on="language")

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the agents and tasks of a moment."""
        self._tree, self._tasks = snapshot.tree, snapshot.tasks
        self._fill()

    def set_horizontal(self, flat: bool) -> None:
        """Put agents and tasks side by side if the column is a band, else stack them."""
        self._halves.setDirection(QBoxLayout.Direction.LeftToRight if flat else QBoxLayout.Direction.TopToBottom)

    def mark_agent(self, run_id: str) -> None:
        """Highlight the run whose transcript is shown."""
        item = self.agents.row_of(run_id)
        if item is None:
            self.agents.setCurrentIndex(QModelIndex())
        elif item is not self.agents.currentItem():
            self.agents.setCurrentItem(item)

    def _fill(self) -> None:
        self.agents.show_rows([_agent_row(self._tree)] if self._tree is not None else [])
        rows = []
        for row in arrange(self._tasks):
            icon, role = STATUS_ICONS[row.shown_status]
            rows.append(Row(row.task.id, row.task.name, _(STATUS_WORDS[row.shown_status]), icon, role))
        self.tasks.show_rows(rows)
        if bool(self._tasks) == self.tasks.isHidden():
            self._halves.setStretch(1, 2 if self._tasks else 0)
            self.tasks.setVisible(bool(self._tasks))
            self._tasks_title.setVisible(bool(self._tasks))


def _agent_row(node: AgentNode) -> Row:
    icon, role = AGENT_ICONS.get(node.status, ("circle", "muted"))
    # Including descendants, as for live agents (``TeamState.shown``).
    tokens_used = sum(each.usage.tokens_input + each.usage.tokens_output for each in node.walk())
    facts = [_(node.current_title or node.current_tool)] if node.current_tool else []
    if lasted := _lasted(node):
        facts.append(duration(lasted))
    if tokens_used:
        facts.append(ngettext("{count} token", "{count} tokens", tokens_used, count=short_number(tokens_used)))
    return Row(node.run_id, node.name, " · ".join(facts), icon, role, tuple(map(_agent_row, node.children)))


def _lasted(node: AgentNode) -> int:
    """Milliseconds of its own work plus, for each call and stage, the longest of its sub-agents."""
    longest: dict[tuple[str, int], int] = {}
    for child in node.children:
        if not child.background:
            key = (child.parent_call_id, child.stage)
            longest[key] = max(longest.get(key, 0), _lasted(child))
    return node.elapsed_ms + sum(longest.values())
