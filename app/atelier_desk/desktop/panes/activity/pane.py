"""The activity pane: agents, tool calls with arguments and results, events; filter and export."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.panes.activity.agent_tree import AgentTree
from atelier_desk.desktop.panes.activity.background_commands import CommandRows
from atelier_desk.desktop.panes.activity.list import ActivityListView, entry_details, entry_time, entry_title
from atelier_desk.desktop.panes.pane_base import RELOAD_MS, Pane, toast
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    Card,
    ElidedLabel,
    EmptyState,
    IconButton,
    Pill,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    vbox,
)
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.stream.event import StreamEvent, Topic
from atelier_desk.presentation.rows.activity_log import ActivityLog, LogEntry
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.regular_files import replace_file
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

REDRAW_MS = 100
LOG_ROOM = 104
"""Minimum height of the list, in pixels at 100 %, for the filter to be shown by default: four rows."""
LEAST_LOG = 48
"""Height of the list in the shortest pane, in pixels."""
DETAILS_ROOM = 120
"""Minimum height of an entry's details, in pixels at 100 %, before the tree gets more than its minimum."""
GAP = 8
"""Pixels between the parts of the pane."""
CHIP = 76
"""Maximum width of an agent's name beside the heading, in pixels at 100 %."""
GROUPS = ("all", "calls", "errors", "events")


class ActivityPane(Pane):
    """``activity-pane`` with ``agent-tree`` and ``activity-list``.

    History comes from a replay of the run, the rest is live.

    Signals:
        agent_opened: show the transcript of this run.
    """

    agent_opened = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("activity-pane")
        self.log = ActivityLog()
        self.team = TeamModel(bridge, self)
        self._meanwhile: list[StreamEvent] | None = None
        self._find = self.add_tool("list-filter", self._open_filter)
        self._find.setObjectName("activity-open-filter")
        self._export = self.add_tool("download", self.export)
        self.tree = AgentTree(self.team, self)
        mark(self.tree, "plain")
        self.tree.asked.connect(self._control)
        self.tree.message_sent.connect(self._send_message)
        self.tree.chosen.connect(lambda _run_id: self._show())
        self.team.changed.connect(self._show_tree)
        self._build_filter()
        self.list = ActivityListView(self)
        self.tree.gate.watch(self.list)
        self.empty = EmptyState(
            "activity",
            N_("Nothing has run yet"),
            N_("Tool calls and events of the current run appear here."),
            parent=self,
        )
        self.fold_when(self.empty)
        self._splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(self._build_details())
        self._splitter.setSizes([300, 300])
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._splitter)
        self._stack.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.list.setMinimumHeight(LEAST_LOG)
        self._build_parts()
        self.list.selectionModel().selectionChanged.connect(lambda *_: self._show_details())
        self._redraw = Debouncer(self, REDRAW_MS, self._show)
        self._turn_timer = Debouncer(self, RELOAD_MS, self._update_turn)
        bind_text(self.heading, N_("Activity"))
        bind_text(self._find, tip=N_("Filter the activity"))
        bind_text(self._export, tip=N_("Export as JSON…"))
        bind_text(self.list, name=N_("Activity of this run"))
        bind(self._show, on="language")

    def _build_filter(self) -> None:
        self._filter = QWidget(self)
        row = hbox(self._filter, spacing=6)
        self.agent = control(QPushButton(self), "activity-agent-filter", look="chip", on=lambda: self.tree.choose(""))
        self.tools.insertWidget(0, self.agent)
        self.words = control(
            QLineEdit(self), "activity-filter", look="search", hint=N_("Filter"), name=N_("Filter the activity")
        )
        self.words.setClearButtonEnabled(True)
        self.group = control(ComboBox(self), "activity-group", look="search", name=N_("Kind of activity"))
        self.group.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        for group in GROUPS:
            self.group.addItem("", group)
        bind_text(self.group, items=(N_("All"), N_("Tool calls"), N_("Errors"), N_("Events")))
        fill(row, (self.words, 1), self.group)
        self.words.textChanged.connect(lambda _text: self._show())
        self.group.currentIndexChanged.connect(lambda _index: self._show())

    def _build_parts(self) -> None:
        """Agents above, their activity below.

        The tree gets its full height before the list gets more than its minimum.
        """
        self._lower = QWidget(self)
        vbox(self._lower, self._filter, (self._stack, 1), spacing=GAP)
        self.parts = QSplitter(Qt.Orientation.Vertical, self)
        self.parts.setObjectName("activity-parts")
        mark(self.parts, "quiet")
        self.parts.setHandleWidth(GAP)
        self.parts.setChildrenCollapsible(False)
        self.parts.addWidget(self.tree)
        self.parts.addWidget(self._lower)
        self.parts.setStretchFactor(1, 1)
        self.commands = CommandRows(self)
        fill(self.column, self.commands, (self.parts, 1))
        self._dragged = 0
        self.parts.splitterMoved.connect(self._on_dragged)
        self.tree.measured.connect(self._give_room)

    def _build_details(self) -> QWidget:
        self._details = Card(self, "card", (10, 6, 6, 8))
        self._title = control(ElidedLabel("", self), look="strong")
        self._state = Pill("", "", self)
        self._copy = control(
            IconButton("copy", parent=self),
            tip=N_("Copy"),
            on=lambda: QGuiApplication.clipboard().setText(self.details.toPlainText()),
        )
        self._close = control(IconButton("x", parent=self), tip=N_("Close"), on=self._leave_details)
        row = hbox(None, (self._title, 1), self._state, self._copy, self._close, spacing=6)
        self.details = control(TextField(self), "activity-details", look="plain", name=N_("Details"))
        self.details.setReadOnly(True)
        fill(self._details.body, row, (self.details, 1))
        self._details.hide()
        return self._details

    def reload(self) -> None:
        self.log.clear()
        self.team.set_workflow(self.workflow_id)
        self.tree.refresh()
        self._meanwhile = []
        self._show()
        self.jobs.start(self._load(self.workflow_id), "load")
        self.commands.reload()

    async def _load(self, workflow_id: str) -> None:
        """Replay the newest run; events that also arrived live are not duplicated."""
        if not workflow_id:
            return
        root, past = await self.bridge.engine.teams.replay(workflow_id)
        if workflow_id == self.workflow_id:
            live = self._meanwhile or []
            self.log.clear()
            self.team.set_workflow(workflow_id, root)
            self._meanwhile = None
            self.was_read()
            for event in (*past, *live):
                self._feed(event)
            self.tree.refresh()
            self._show()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "workflow" and key == self.workflow_id:
            self._turn_timer.ask()
        if topic == "command" and key == self.workflow_id:
            self.commands.reload()

    def _update_turn(self) -> None:
        if self.workflow_id and self._meanwhile is None:
            self.jobs.start(self._follow_turn(self.workflow_id), "turn")

    async def _follow_turn(self, workflow_id: str) -> None:
        """Another turn is the newest in view, without a run: a branch was chosen, deleted or restored."""
        workflow = await self.bridge.engine.workflows.get(workflow_id)
        if workflow_id == self.workflow_id and (workflow.head_run_id or "") != self.log.root:
            self.reload()

    def on_stream(self, event: StreamEvent) -> None:
        if self._meanwhile is not None:
            self._meanwhile.append(event)
        if self._feed(event) and not self._redraw.isActive():
            self._redraw.start()

    def _feed(self, event: StreamEvent) -> bool:
        """Apply an event to list and tree, unless known; returns True if the list changed."""
        if not self.log.knows(event):
            self.team.feed(event)
        return self.log.feed(event)

    def _visible_entries(self) -> list[LogEntry]:
        words, group = self.words.text().strip(), self.group.currentData() or "all"
        agent = self.tree.chosen_run
        return [
            entry for entry in self.log.entries if entry.matches(words, group) and (not agent or entry.of_agent(agent))
        ]

    @property
    def vacant(self) -> bool:
        return super().vacant and not self.tree.members

    @property
    def notable(self) -> bool:
        """Whether there are several agents or a tool call: the chat shows everything else already."""
        return len(self.tree.members) > 1 or any(entry.is_call for entry in self.log.entries)

    def _show(self) -> None:
        self.list.show_rows(self._visible_entries())
        self._stack.setCurrentWidget(self._splitter if self.log.entries else self.empty)
        self._export.setEnabled(bool(self.log.entries))
        self._export.setVisible(bool(self.log.entries))
        member = self.team.get(self.tree.chosen_run)
        self.agent.setVisible(member is not None)
        if member is not None:
            room = theme().px(CHIP)
            name = self.agent.fontMetrics().elidedText(visible(member.name), Qt.TextElideMode.ElideRight, room)
            self.agent.setText(f"{name}  ✕")
            self.agent.setAccessibleName(_("Showing only {agent}. Click to show all agents.", agent=member.name))
            self.agent.setToolTip(_("Show all agents"))
        self._show_tree()
        self._show_details()
        self.counted.emit(len(self.tree.members))

    def _show_tree(self, *_: object) -> None:
        there = bool(self.tree.members)
        if there == self.tree.isHidden():
            self.tree.setVisible(there)
            self.filled.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._give_room()

    def _give_room(self) -> None:
        """Distribute the height: first to agents, then to rows; the filter is hidden first, unless in use."""
        used = (
            bool(self.words.text()) or self.group.currentIndex() > 0 or self.words.hasFocus() or self.group.hasFocus()
        )
        margins = self.frame.contentsMargins()
        head = max(self.heading.sizeHint().height(), self._export.sizeHint().height()) + self.column.spacing()
        room = self.height() - margins.top() - margins.bottom() - head
        tree = self.tree.wanted + GAP if self.tree.members else 0
        tree_least = self.tree.minimumHeight() + GAP if tree else 0
        roomy = room >= tree + self._filter.sizeHint().height() + GAP + theme().px(LOG_ROOM)
        self._filter.setVisible(bool(self.log.entries) and (used or roomy))
        self._find.setVisible(bool(self.log.entries) and not roomy)
        left = room - tree_least - (self._filter.sizeHint().height() + GAP if not self._filter.isHidden() else 0)
        needed = LEAST_LOG + (theme().px(DETAILS_ROOM) if not self._details.isHidden() else 0)
        self._stack.setMinimumHeight(max(LEAST_LOG, min(needed, left)))  # an ignored size hint requests no space
        if tree:
            least = self._lower.minimumSizeHint().height()
            upper = max(0, min(self._dragged or self.tree.wanted, self.tree.wanted, room - GAP - least))
            self.parts.setSizes([upper, max(0, room - GAP - upper)])

    def _on_dragged(self, *_: int) -> None:
        """Keep the height the user gave the tree, until it is its full height again."""
        upper = self.parts.sizes()[0]
        self._dragged = 0 if upper >= self.tree.wanted else upper

    def _open_filter(self) -> None:
        """Open the filter with the button that replaces it in a short pane."""
        self._filter.show()
        self.words.setFocus()

    def _leave_details(self) -> None:
        self.list.clearSelection()
        self.list.setFocus()

    def _show_details(self) -> None:
        entry = self.list.current_entry()
        self._details.setVisible(entry is not None)
        self._give_room()
        if entry is None:
            return
        self._title.setText(entry_title(entry))
        self._state.setVisible(entry.is_call)
        kinds: dict[str, PillKind] = {"ok": "ok", "error": "err", "skipped": "", "rejected": "", "cancelled": ""}
        self._state.show_state(entry_time(entry), kinds.get(entry.status, "accent"))
        self.details.setFont(theme().font(12, mono=True))
        text = entry_details(entry)
        if text != self.details.toPlainText():
            self.details.setPlainText(text)

    def _control(self, action: str, run_id: str) -> None:
        if action == "open":
            self.agent_opened.emit(run_id)
            return
        runs = self.bridge.engine.runs
        steering = runs.steering
        act: dict[str, Callable[[str], Coroutine[object, None, None]]] = {
            "pause": steering.pause, "resume": steering.resume, "cancel": runs.cancel,
        }  # fmt: skip
        self.jobs.once((action, run_id), lambda: act[action](run_id))

    def _send_message(self, run_id: str, text: str) -> None:
        self.jobs.once(("say", run_id, text), lambda: self.bridge.engine.runs.steering.message(run_id, text))

    def export(self) -> None:
        """Ask for a file and export the filtered entries."""
        ask_save(self.window(), _("Export the activity"), "activity.json", _("JSON (*.json)"), self.export_to)

    def export_to(self, path: Path) -> None:
        """Write the filtered entries as a JSON array."""
        rows = [entry.as_json() for entry in self._visible_entries()]
        try:
            replace_file(path, json.dumps(rows, ensure_ascii=False, indent=1, default=str).encode("utf-8"))
        except OSError as error:
            self.show_error(_("The file could not be written: {reason}", reason=error.strerror or str(error)))
        else:
            toast(self, _("Saved as {name}", name=path.name))
