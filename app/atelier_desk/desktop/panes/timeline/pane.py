"""The timeline pane: lanes of model requests, tools, waits and pauses per agent.

Each span leads to its agent, its context or a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QMenu, QStackedWidget, QWidget

from atelier_desk.desktop.panes.context.turn_picker import TurnPicker
from atelier_desk.desktop.panes.lazy_pane import SeenPane
from atelier_desk.desktop.panes.timeline.legend import TimelineKey
from atelier_desk.desktop.panes.timeline.list import TimelineList
from atelier_desk.desktop.panes.timeline.view import ZOOM, TimelineView
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, EmptyState, bind, bind_text, control, fill
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Span, Timeline

REFRESH_MS = 250
"""Milliseconds between two loads for a running run: at most four a second."""
LEAST_STATUS = 60
"""Minimum pixels at 100 % of the status line beside the legend; with less, the legend gets its own lines."""
KEY_LINES = 2
LEAST_VIEW = 120
"""Minimum height of the timeline, in pixels at 100 %, above the legend's own lines; with less, the legend is hidden."""
_SILENT = frozenset(
    {ChunkType.TOKEN, ChunkType.REASONING, ChunkType.TOOL_PROGRESS, ChunkType.SUB_AGENT_PROGRESS, ChunkType.USAGE}
)


class TimelinePane(SeenPane):
    """``timeline-pane`` with ``timeline-view`` and ``timeline-list``.

    Signals:
        agent_requested: open the transcript of this run.
        request_requested: show a request: run id and the number of the reply's event in it (0: the newest).
        replay_requested: workflow id, root run id, stream number.
        fork_requested: workflow id, stream number.
    """

    agent_requested = Signal(str)
    request_requested = Signal(str, int)
    replay_requested = Signal(str, str, int)
    fork_requested = Signal(str, int)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, REFRESH_MS, parent)
        self.setObjectName("timeline-pane")
        self.timeline: Timeline | None = None
        self._turns_stale = True
        self.turn = TurnPicker(self)
        self.turn.setObjectName("timeline-turn")
        self.tools.addWidget(self.turn)
        self._out = self.add_tool("zoom-out", lambda: self.view.zoom_by(1 / ZOOM))
        self._in = self.add_tool("zoom-in", lambda: self.view.zoom_by(ZOOM))
        self._fit = self.add_tool("maximize", lambda: self.view.fit())
        self._as_list = self.add_tool("list", self._switch)
        self._as_list.setCheckable(True)
        self._replay = self.add_tool("history", lambda: self._emit_replay(0))
        for name, button in (
            ("out", self._out),
            ("in", self._in),
            ("fit", self._fit),
            ("as-list", self._as_list),
            ("replay", self._replay),
        ):
            button.setObjectName(f"timeline-{name}")
        self.view, self.list = TimelineView(self), TimelineList(self)
        self.empty = EmptyState(
            "chart-gantt",
            N_("Nothing has run yet"),
            N_("What each agent did, and when, appears here during the run."),
            parent=self,
        )
        self.wait_with(self.empty)
        self.status = control(ElidedLabel("", self), look="small")
        self.key = TimelineKey(self)
        below = self._below = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        below.addWidget(self.status, 1)
        below.addWidget(self.key)
        self.stack = QStackedWidget(self)
        for widget in (self.empty, self.view, self.list):
            self.stack.addWidget(widget)
        fill(self.column, (self.stack, 1), below)
        self.column.setSpacing(4)
        self.frame.setSpacing(4)
        self._connect()
        bind_text(self.heading, N_("Timeline"))
        bind_text(self._in, tip=N_("Zoom in"), keys="+")
        bind_text(self._out, tip=N_("Zoom out"), keys="-")
        bind_text(self._fit, tip=N_("Show the whole run"), keys="0")
        bind_text(self._as_list, tip=N_("Show as a list"))
        bind_text(self._replay, tip=N_("Replay this run"))
        bind(self._show, on="language")

    def _connect(self) -> None:
        self.turn.picked.connect(lambda *_: self.reload())
        self.view.span_chosen.connect(lambda _span: self._update_status())
        self.list.span_chosen.connect(self._on_listed)
        self.view.menu_requested.connect(self._show_menu)
        self.list.menu_requested.connect(self._show_menu)
        self.view.activated.connect(self._open)
        self.list.span_activated.connect(self._open)

    def set_workflow(self, workflow_id: str) -> None:
        if workflow_id != self.workflow_id:
            self.timeline = None
            self.turn.set_turns([])
            self.turn.want("")
            self._show()
        super().set_workflow(workflow_id)

    def reload(self) -> None:
        self._turns_stale = True
        super().reload()

    def on_stream(self, event: StreamEvent) -> None:
        """Reload after an event of the team, while visible."""
        if event.chunk_type not in _SILENT:
            self._turns_stale = self._turns_stale or event.chunk_type is ChunkType.WORKFLOW_START
            self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_status()

    async def read(self, workflow_id: str) -> None:
        requested, known = self.turn.wanted, None if self._turns_stale else self.turn.turns
        self._turns_stale = False
        teams = self.bridge.engine.teams
        turns = await teams.turns(workflow_id) if known is None else known
        root = requested if any(turn.run_id == requested for turn in turns) else turns[-1].run_id if turns else ""
        timeline = await teams.timeline(root) if root else None
        if workflow_id == self.workflow_id:
            self.turn.set_turns(turns)
            self.timeline = timeline
            self._show()

    def _show(self) -> None:
        self.view.show_timeline(self.timeline)
        listed = self._as_list.isChecked()
        if listed:
            self.list.show_timeline(self.timeline, utc_now())
        there = self.timeline is not None and any(run.spans for run in self.timeline.runs)
        self.stack.setCurrentWidget((self.list if listed else self.view) if there else self.empty)
        for button in (self._in, self._out, self._fit):
            button.setVisible(there and not listed)
        for button in (self._as_list, self._replay):
            button.setVisible(there)
        self._update_status()

    def _update_status(self) -> None:
        """Set the status line: the selected span, or help on keys."""
        bar = self.view.chosen
        runs = self.timeline.runs if self.timeline is not None else ()
        self.status.setVisible(self.stack.currentWidget() is not self.empty)
        self._place_key()
        if bar is not None:
            self.status.setText(self.view.describe(bar, " · "))
        else:
            self.status.setText(ngettext("{n} agent", "{n} agents", len(runs)))

    def _place_key(self) -> None:
        """Put the legend beside the status line if there is room, else below it, if the timeline keeps its height."""
        margins = self.frame.contentsMargins()
        room = self.width() - margins.left() - margins.right()
        fits_beside = self.key.size_in(0).width() + 12 + theme().px(LEAST_STATUS) <= room
        self._below.setDirection(QBoxLayout.Direction.LeftToRight if fits_beside else QBoxLayout.Direction.TopToBottom)
        self._below.setSpacing(12 if fits_beside else 2)
        self.key.set_room(0 if fits_beside else room)
        high, line = self.key.size_in(room).height(), self.key.size_in(0).height()
        used = margins.top() + theme().px(28) + margins.bottom() + 2 * self.column.spacing() + line
        fits = high <= KEY_LINES * line and self.height() - used - high >= theme().px(LEAST_VIEW)
        self.key.setVisible(self.stack.currentWidget() is self.view and (fits_beside or fits))

    def _switch(self) -> None:
        """Switch between bars and list; selection and focus are preserved."""
        chosen = self.view.chosen
        self._show()
        # A list that gets the focus selects its first row.
        (self.list if self._as_list.isChecked() else self.view).setFocus()
        span = chosen.span if chosen is not None else None
        self.list.choose(span)
        self.view.choose(span)
        self._update_status()

    def _on_listed(self, span: Span) -> None:
        """Use the current row of the list for menu and status line."""
        self.view.choose(span)
        self._update_status()

    def _open(self, span: Span) -> None:
        """Enter on a span: the request of a model span, else the agent."""
        if span.kind == "model" and span.end is not None:
            self.request_requested.emit(span.run_id, span.event_seq)
        else:
            self.agent_requested.emit(span.run_id)

    def menu_for(self, span: Span) -> QMenu:
        """The context menu of a span."""
        style = theme()
        menu = QMenu(self)
        menu.setObjectName("timeline-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sub_agent = self.timeline is not None and span.run_id != self.timeline.root_run_id
        opened = menu.addAction(
            style.icon("users"), _("Open this agent"), lambda: self.agent_requested.emit(span.run_id)
        )
        opened.setEnabled(sub_agent)
        seq = span.event_seq if span.kind == "model" and span.end is not None else 0
        menu.addAction(
            style.icon("layers"), _("Show what was sent"), lambda: self.request_requested.emit(span.run_id, seq)
        )
        menu.addSeparator()
        replay = menu.addAction(style.icon("history"), _("Replay from here"), lambda: self._emit_replay(span.seq))
        fork = menu.addAction(
            style.icon("git-branch"), _("Fork from here"), lambda: self.fork_requested.emit(self.workflow_id, span.seq)
        )
        replay.setEnabled(span.seq > 0)
        fork.setEnabled(span.seq > 0)
        return menu

    def _show_menu(self, place: QPoint) -> None:
        bar = self.view.chosen
        if bar is not None:
            self.menu_for(bar.span).popup(place)

    def _emit_replay(self, seq: int) -> None:
        if self.timeline is not None:
            self.replay_requested.emit(self.workflow_id, self.timeline.root_run_id, seq)
