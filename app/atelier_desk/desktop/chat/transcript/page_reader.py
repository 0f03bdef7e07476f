"""Loads transcripts page by page and keeps them current: of the workflow in view and of all running ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.presentation.rows.transcript import FINAL, Transcript, concerned
from atelier_desk.presentation.rows.transcript_entries import Entry

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.team.model import TeamModel
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.engine.services.workflow.transcript import TranscriptEntry
    from atelier_desk.presentation.rows.waiting_runs import StoppedRun

PAGE = 100
_AT_WORK = frozenset({"processing", "awaiting_user", "awaiting_approval", "awaiting_children", "awaiting_parent"})
"""States in which a run can be stopped and takes messages; a paused run waits for a decision."""


@dataclass(eq=False)
class _Reading:
    """A transcript being loaded: events that arrive meanwhile wait, as the loaded page may not contain them.

    Attributes:
        apply: handles an event of a workflow or run with this id.
        key: its id; empty if nothing is being loaded.
        meanwhile: its events since loading began.
    """

    apply: Callable[[str, StreamEvent], None]
    key: str = ""
    meanwhile: list[StreamEvent] = field(default_factory=list)

    def feed(self, key: str, event: StreamEvent) -> None:
        """Apply an event, or keep it until the transcript is loaded."""
        if self.key == key:
            self.meanwhile.append(event)
        else:
            self.apply(key, event)

    def next(self, key: str) -> _Reading:
        """Start loading ``key``, and apply the pending events of what was being loaded."""
        if self.key == key:
            return _Reading(self.apply, key, self.meanwhile)
        for event in self.meanwhile:
            self.apply(self.key, event)
        return _Reading(self.apply, key)


class TranscriptPages(QObject):
    """The transcript of the workflow in view.

    Attributes:
        current: None until a workflow was opened.
        workflow: as last stored; None until it was opened.
        complete: the first message is loaded.
        stream: what the events of this workflow mean.

    Signals:
        opened: another workflow's newest page was loaded (Workflow).
        changed: a list of ``Change`` of the transcript in view.
        run_changed: the transcript in view began or ended to be at work, or its run has another state.
        prepended: a list of older entries.
        agent_changed: run id of a sub-agent of any workflow, and a list of ``Change`` of its own transcript.
    """

    opened = Signal(object)
    changed = Signal(object)
    run_changed = Signal()
    prepended = Signal(object)
    agent_changed = Signal(str, object)

    def __init__(self, bridge: Bridge, team: TeamModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge, self._team = bridge, team
        self._live: dict[str, Transcript] = {}
        self._agents: dict[str, Transcript] = {}
        self.agent = ""
        self.current: Transcript | None = None
        self.workflow: Workflow | None = None
        self.complete = False
        self._loading = False
        self._wanted = ""
        self._reading, self._reading_agent = _Reading(self._on_turn), _Reading(self._on_agent)
        bridge.stream_event.connect(self.on_stream)
        self.stream = StreamRouter(bridge.stream_event, self, lambda: self._wanted)
        self.stream.received.connect(team.feed)

    @property
    def workflow_id(self) -> str:
        return self._wanted

    def running(self, workflow_id: str) -> str:
        """The id of a workflow's running run according to events, else empty."""
        transcript = self._live.get(workflow_id) if workflow_id != self._wanted else self.current
        return transcript.live_run if transcript is not None else ""

    def clear(self) -> None:
        """Show no workflow."""
        self._wanted, self.current, self.workflow = "", None, None
        self._read_now("")
        self._team.set_workflow("")

    async def open(self, workflow_id: str) -> None:
        """Load a workflow's newest page and show it; the latest call wins."""
        self._wanted = workflow_id
        self.current = None
        transcript = self._live.setdefault(workflow_id, Transcript(workflow_id))
        reading = self._read_now(workflow_id)
        try:
            opened = await self._bridge.engine.workflows.opened(workflow_id, PAGE)
        except BaseException:
            if self._reading is reading:
                self._read_now("")
            raise
        if self._reading is not reading:
            return
        stored, run = opened.entries, opened.run
        transcript.load(stored, opened.workflow.stream_seq)
        self._team.set_workflow(workflow_id, opened.workflow.head_run_id or "")
        self._register_agents(stored)
        transcript.live_run = run.id if run is not None and run.status.value in _AT_WORK else ""
        if run is not None:
            transcript.status = run.status.value
        transcript.settle(run.status.value if run is not None else "completed")
        transcript.note_wait()
        self._read_now("")
        self.complete = len(stored) < PAGE
        self.current, self.workflow = transcript, opened.workflow
        self._live = {key: each for key, each in self._live.items() if each.live_run or key == workflow_id}
        self.opened.emit(opened.workflow)

    def refresh_from(self, workflow: Workflow) -> None:
        """Keep what was stored of the workflow in view since it was opened, such as its name and folders."""
        if self.workflow is not None:
            self.workflow = workflow

    async def reload(self) -> None:
        """Reload the workflow in view, after its branch or language changed."""
        if self._wanted:
            await self.open(self._wanted)

    async def older(self) -> list[Entry]:
        """Load the page before the oldest entry; returns nothing at the start or while loading."""
        transcript = self.current
        before = transcript.oldest_seq if transcript is not None else None
        if transcript is None or before is None or self.complete or self._loading:
            return []
        self._loading = True
        try:
            stored = await self._bridge.engine.workflows.transcript(transcript.workflow_id, before=before, limit=PAGE)
        finally:
            self._loading = False
        if transcript is not self.current:
            return []
        self.complete = len(stored) < PAGE
        self._register_agents(stored)
        entries = transcript.prepend(stored)
        self.prepended.emit(entries)
        return entries

    def _register_agents(self, stored: Iterable[TranscriptEntry]) -> None:
        """Register the agents started by the calls of these messages."""
        for item in stored:
            for agents in item.children.values():
                for node in agents:
                    self._team.set_tree(node)

    async def open_agent(self, run_id: str) -> Transcript | None:
        """Load a sub-agent's transcript, with a streaming reply at its end; None if another was requested meanwhile."""
        self.agent = run_id
        transcript = self._agents.setdefault(run_id, Transcript(self._wanted, run_id))
        reading = self._read_agent_now(run_id)
        try:
            read_to = (await self._bridge.engine.workflows.get(transcript.workflow_id)).stream_seq
            stored = await self._bridge.engine.teams.transcript(run_id)
        except BaseException:
            if self._reading_agent is reading:
                self._read_agent_now("")
            raise
        if self._reading_agent is not reading:
            return None
        self._register_agents(stored or ())
        transcript.load(stored or (), read_to)
        transcript.note_wait()
        self._read_agent_now("")
        return transcript

    def show_stopped(self, stopped: Iterable[StoppedRun]) -> None:
        """Show at the notices in view which of these runs, stopped because of an unknown price, have one now, and
        which price the others lack."""
        limits = {
            each.run_id: {**each.details, "limit": each.kind} for each in stopped if each.kind in ("unpriced", "priced")
        }
        if self.current is not None and (changes := self.current.show_limits(limits)):
            self.changed.emit(changes)
        agent = self.agent_transcript
        if agent is not None and (changes := agent.show_limits(limits)):
            self.agent_changed.emit(self.agent, changes)

    @property
    def agent_transcript(self) -> Transcript | None:
        """The transcript of the sub-agent in view."""
        return self._agents.get(self.agent)

    def close_agent(self) -> None:
        """Close the sub-agent's transcript; if it has ended, drop it."""
        self._read_agent_now("")
        transcript = self._agents.get(self.agent)
        if transcript is not None and not transcript.live_run:
            del self._agents[self.agent]
        self.agent = ""

    async def everything(self) -> None:
        """Load all older pages, for a search of the complete workflow."""
        while self.current is not None and not self.complete and not self._loading:
            if not await self.older():
                break

    def on_stream(self, event: StreamEvent) -> None:
        """Keep transcripts of running workflows current; signal changes of the one in view."""
        self._on_agents(event)
        if event.depth:
            return
        self._reading.feed(event.workflow_id, event)

    def _on_turn(self, workflow_id: str, event: StreamEvent) -> None:
        in_view = workflow_id == self._wanted
        if in_view and self.current is not None:
            before = self.current.live_run, self.current.status
            if changes := self.current.apply(event):
                self.changed.emit(changes)
            if before != (self.current.live_run, self.current.status):
                self.run_changed.emit()
        else:
            transcript = self._live.setdefault(workflow_id, Transcript(workflow_id))
            transcript.apply(event)
            if in_view:
                self.run_changed.emit()
            elif not transcript.live_run:
                self._live.pop(workflow_id, None)

    def _on_agents(self, event: StreamEvent) -> None:
        """Keep transcripts of running sub-agents, so that opening one shows a reply in progress."""
        for run_id in concerned(event):
            self._reading_agent.feed(run_id, event)
            if run_id != self.agent and self._agents[run_id].status in FINAL:
                del self._agents[run_id]

    def _on_agent(self, run_id: str, event: StreamEvent) -> None:
        transcript = self._agents.get(run_id)
        if transcript is None:
            transcript = self._agents[run_id] = Transcript(event.workflow_id, run_id)
        if changes := transcript.apply(event):
            self.agent_changed.emit(run_id, changes)

    def _read_now(self, key: str) -> _Reading:
        self._reading = self._reading.next(key)
        return self._reading

    def _read_agent_now(self, key: str) -> _Reading:
        self._reading_agent = self._reading_agent.next(key)
        return self._reading_agent
