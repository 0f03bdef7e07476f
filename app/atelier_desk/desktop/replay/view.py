"""The replay of a run, in place of the chat: transcript, agents and tasks after each event, a slider, and forking."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QButtonGroup,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView, EntryWidget
from atelier_desk.desktop.panes.time_format import clock_time, duration
from atelier_desk.desktop.replay.player import SPEEDS, Player
from atelier_desk.desktop.replay.scrubber import Scrubber
from atelier_desk.desktop.replay.snapshot_view import SnapshotSide, SnapshotTeam, show_entries
from atelier_desk.desktop.replay.span_and_event_titles import mark_role, mark_title
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    IconButton,
    Line,
    Pill,
    bind,
    bind_text,
    control,
    hbox,
    label,
    tint,
    vbox,
)
from atelier_desk.presentation.rows.transcript_entries import Entry
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Timeline, TimelineMark
    from atelier_desk.engine.services.team.replay import Snapshot

SIDE_FROM = 620
"""Width, in pixels at 100 %, from which agents and tasks fit beside the transcript."""


class ReplayView(QWidget):
    """``replay-view``. Read-only: every moment is reconstructed from the journal.

    Keys: ← and → step, Page keys step by ten, Home and End jump, Space plays and pauses, Esc closes.

    Signals:
        closed: return to the chat.
        fork_requested: workflow id and stream number.
        quoted: put this text into the composer.
        failed: an error as a sentence.
    """

    closed = Signal()
    fork_requested = Signal(str, int)
    quoted = Signal(str)
    failed = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        self.setObjectName("replay-view")
        mark(self, "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.workflow_id, self.root_run_id = "", ""
        self.marks: tuple[TimelineMark, ...] = ()
        self.snapshot: Snapshot | None = None
        self._names: dict[str, str] = {}
        self._agent = ""
        self._loading = False
        self._wide: bool | None = None
        self.jobs = Jobs(self, self.failed.emit)
        self.team = SnapshotTeam(self)
        self.host = TranscriptHost(self, self.team)
        self.host.versions = False
        self.player = Player(self)
        self._build()
        self._connect()
        bind_text(self.scrubber, name=N_("Position in the replay"))
        bind_text(self, name=N_("Replay of the run"))
        bind(self._update_texts)

    def order_stops(self) -> None:
        """Set the tab order through the messages from top to bottom."""
        self.view.order_stops()

    def _build(self) -> None:
        self.view = ChatView(self._make_widget, self)
        self.host.unfolded.connect(self.view.stay)
        self.view.setObjectName("replay-transcript")
        self.side = SnapshotSide(self)
        self.body = QSplitter(Qt.Orientation.Horizontal, self)
        self.body.setChildrenCollapsible(False)
        self.body.addWidget(self.view)
        self.body.addWidget(self.side)
        self.body.setStretchFactor(0, 1)
        vbox(
            self,
            self._build_top(),
            Line(self),
            (self.body, 1),
            Line(self),
            self._build_bottom(),
            spacing=0,
        )

    def _build_top(self) -> QHBoxLayout:
        self._title = control(label("", "title", self), "", N_("Replay"))
        self._pill = control(Pill("", "accent", self), "", N_("read-only"), tip=N_("A replay does not run anything."))
        self._whose = control(ElidedLabel("", self), look="muted")
        self.close_button = control(
            IconButton("x", parent=self), "replay-close", tip=N_("Close the replay"), keys="Esc"
        )
        return hbox(
            None,
            self._title,
            self._pill,
            (self._whose, 1),
            self.close_button,
            margins=(20, 8, 12, 8),
            spacing=10,
        )

    def _build_bottom(self) -> QVBoxLayout:
        self._event = control(ElidedLabel("", self), "replay-event", look="strong")
        self._when = label("", "small", self)
        self.scrubber = Scrubber(self)
        self._first = control(
            IconButton("step-back", parent=self), "replay-back", tip=N_("Previous event"), keys="Left"
        )
        self.play = control(IconButton("play", parent=self, role="accent"), "replay-play")
        self._next = control(IconButton("step-forward", parent=self), "replay-on", tip=N_("Next event"), keys="Right")
        self._speeds = QButtonGroup(self)
        words = hbox(None, (self._event, 1), self._when, spacing=10)
        keys = hbox(None, self._first, self.play, self._next, spacing=4)
        keys.addSpacing(8)
        for speed in SPEEDS:
            chip = control(QPushButton(f"{speed}×", self), look="chip-plain")
            chip.setObjectName(f"replay-speed-{speed}")
            chip.setCheckable(True)
            chip.setChecked(speed == SPEEDS[0])
            self._speeds.addButton(chip, speed)
            bind_text(chip, name=partial(_speed_words, speed))
            keys.addWidget(chip)
        keys.addStretch(1)
        self.fork = control(
            QPushButton(self),
            "replay-fork",
            lambda: " " + _("Fork from here"),
            tip=N_("Create a new workflow from everything up to this event"),
        )
        tint(self.fork, "git-branch", "text", 14)
        keys.addWidget(self.fork)
        return vbox(None, words, self.scrubber, keys, margins=(20, 10, 20, 12), spacing=4)

    def _connect(self) -> None:
        self.scrubber.valueChanged.connect(self._on_value)
        self.player.moved.connect(self._on_moved)
        self.player.playing_changed.connect(lambda *_: self._update_texts())
        self.play.clicked.connect(lambda *_: self.player.toggle())
        self._first.clicked.connect(lambda *_: self.player.step(-1))
        self._next.clicked.connect(lambda *_: self.player.step(1))
        self._speeds.idClicked.connect(self.player.set_speed)
        self.fork.clicked.connect(lambda *_: self.fork_requested.emit(self.workflow_id, self.seq))
        self.close_button.clicked.connect(lambda *_: self.leave())
        self.side.agent_chosen.connect(self.show_agent)
        self.host.agent_requested.connect(self.show_agent)
        self.host.quote_requested.connect(self.quoted)
        for refused in (
            self.host.question_requested,
            self.host.resume_requested,
            self.host.stop_requested,
            self.host.pause_requested,
        ):
            refused.connect(self._refuse)
        keys = {
            "Left": lambda: self.player.step(-1),
            "Right": lambda: self.player.step(1),
            "PgUp": lambda: self.player.step(-10),
            "PgDown": lambda: self.player.step(10),
            "Home": lambda: self.player.seek(0),
            "End": lambda: self.player.seek(self.player.last),
            "Space": self._space,
            "Esc": self.leave,
        }
        for key, action in keys.items():
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(action)
        bind(self._turn_body)

    def _space(self) -> None:
        """Press the focused button, or play and pause."""
        focused = QApplication.focusWidget()
        if isinstance(focused, QAbstractButton) and self.isAncestorOf(focused):
            focused.click()
        else:
            self.player.toggle()

    def _make_widget(self, entry: Entry, parent: QWidget) -> EntryWidget:
        return make_widget(entry, self.host, parent)

    async def open(self, workflow_id: str, root_run_id: str, seq: int = 0) -> None:
        """Show a turn as it was after stream event ``seq``; 0 shows its end."""
        timeline: Timeline = await self.bridge.engine.teams.timeline(root_run_id)
        self.workflow_id, self.root_run_id, self._agent = workflow_id, root_run_id, root_run_id
        self.marks = timeline.marks
        self._names = {run.run_id: run.name for run in timeline.runs}
        self.snapshot = None
        self.view.set_entries([])
        place = len(self.marks) - 1
        if seq:
            place = max((number for number, each in enumerate(self.marks) if each.seq <= seq), default=0)
        self.player.set_times([each.time for each in self.marks], place)
        self._quiet_scrubber()
        self._update_texts()
        self._load()
        self.scrubber.setFocus()

    def leave(self) -> None:
        """Stop playback and return to the chat."""
        self.player.pause()
        self.closed.emit()

    def _refuse(self, *_ids: object) -> None:
        self.failed.emit(_("A replay is read-only. Fork from here to continue differently."))

    def _quiet_scrubber(self) -> None:
        self.scrubber.blockSignals(True)
        self.scrubber.set_events([mark_role(each) for each in self.marks])
        self.scrubber.setValue(self.player.place)
        self.scrubber.blockSignals(False)

    @property
    def mark(self) -> TimelineMark | None:
        """The event at the current position."""
        return self.marks[self.player.place] if self.marks else None

    @property
    def seq(self) -> int:
        return self.mark.seq if self.mark is not None else 0

    def _on_value(self, value: int) -> None:
        if value != self.player.place:
            self.player.seek(value)

    def _on_moved(self, place: int) -> None:
        self.scrubber.blockSignals(True)
        self.scrubber.setValue(place)
        self.scrubber.blockSignals(False)
        self._update_texts()
        self._load()

    def _load(self) -> None:
        """Load the moment; requests during loading are reduced to the newest."""
        if not self._loading and self.marks:
            self._loading = True
            self.jobs.start(self._read())

    async def _read(self) -> None:
        workflow_id, root, seq = self.workflow_id, self.root_run_id, self.seq
        try:
            snapshot = await self.bridge.engine.teams.at(workflow_id, root, seq)
        finally:
            self._loading = False
        if (workflow_id, root) != (self.workflow_id, self.root_run_id):
            self._load()
            return
        self.snapshot = snapshot
        self._show_transcript()
        await asyncio.sleep(0)  # transcript and column each take half a frame
        self._show_side()
        if seq != self.seq:
            self._load()
        else:
            self.player.shown()

    def show_agent(self, run_id: str) -> None:
        """Show another agent's transcript at the same moment."""
        self._agent = run_id
        self._show_transcript()
        self._show_side()

    def _show_transcript(self) -> None:
        if self.snapshot is not None:
            self.team.show(self.snapshot)
            own = self._agent == self.root_run_id
            show_entries(self.view, self.snapshot.entries if own else self.snapshot.transcripts.get(self._agent, ()))

    def _show_side(self) -> None:
        if self.snapshot is not None:
            self.side.show_snapshot(self.snapshot)
            self.side.mark_agent(self._agent)
            self._update_texts()

    def _update_texts(self) -> None:
        at = self.mark
        count = len(self.marks)
        self.play.set_icon("pause" if self.player.playing else "play")
        self.play.describe(N_("Pause") if self.player.playing else N_("Play"), "Space")
        self._first.setEnabled(self.player.place > 0)
        self._next.setEnabled(self.player.place < self.player.last)
        self.fork.setEnabled(at is not None)
        agent = self._names.get(self._agent, "")
        self._whose.setText(agent if self._agent != self.root_run_id else "")
        if at is None:
            self._event.setText("")
            self._when.setText("")
            return
        name = self._names.get(at.run_id, "")
        title = mark_title(at, name)
        shown = title if at.run_id == self.root_run_id or name in title else f"{name} · {title}"
        self._event.setText(shown)
        since = duration((at.time - self.marks[0].time).total_seconds() * 1000)
        place = _("event {place} of {count}", place=self.player.place + 1, count=count)
        self._when.setText(f"{clock_time(at.time)} · +{since} · {place}")
        self.scrubber.setAccessibleDescription(visible(f"{shown}, {self._when.text()}"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn_body()

    def _turn_body(self) -> None:
        """Put agents and tasks beside the transcript if wide enough, else below it."""
        wide = self.width() >= theme().px(SIDE_FROM)
        if wide == self._wide:
            return
        self._wide = wide
        self.body.setOrientation(Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical)
        self.side.set_horizontal(not wide)
        side = theme().px(210 if wide else 150)
        total = self.width() if wide else self.body.height()
        self.body.setSizes([max(1, total - side), side])


def _speed_words(speed: int) -> str:
    return _("Speed {speed}", speed=f"{speed}×")
