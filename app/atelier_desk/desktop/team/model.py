"""A team's state with signals: queried when its shape changes; figures are signalled a few times a second."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.presentation.rows.team_state import Member, TeamState

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode

REPORT_MS = 100
"""Minimum milliseconds between two rounds of ``changed``."""
AT_ONCE, FRAME_MS = 3, 16
"""Agents signalled at once and per following frame: row and lane take about 2 ms to draw."""
RELOAD_MS = 250
"""Milliseconds; agents started within this time cause one query."""
TICK_MS = 1_000
_RESHAPING = frozenset({"workflow_start", "sub_agent_start", "sub_agent_complete", "sub_agent_error"})


class TeamModel(QObject):
    """The agents of the workflow in view.

    Without a bridge it shows what ``set_tree`` and ``feed`` receive, as in a replay.

    Attributes:
        state: the agents, including those of earlier turns that were requested.
        root: the newest turn's run.

    Signals:
        changed: a frozenset of run ids that look different now.
        ticked: a second passed while an agent runs.
    """

    changed = Signal(object)
    ticked = Signal()

    def __init__(self, bridge: Bridge | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.workflow_id = ""
        self.root = ""
        self.state = TeamState()
        self._wanted: set[str] = set()
        self._reloads: set[str] = set()
        self._meanwhile: list[StreamEvent] = []
        self._loading = 0
        self._dirty: set[str] = set()
        self._unreported: dict[str, None] = {}
        self._change_timer = Debouncer(self, REPORT_MS, self._report_changes)
        self._frame_timer = Debouncer(self, FRAME_MS, self._report_batch)
        self._reload = Debouncer(self, RELOAD_MS, self._reload_now)
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self.ticked)

    def now(self) -> datetime:
        """The moment up to which elapsed times are counted."""
        return datetime.now(UTC)

    def get(self, run_id: str) -> Member | None:
        return self.state.members.get(run_id)

    def set_workflow(self, workflow_id: str, root: str = "") -> None:
        """Replace the workflow. ``root`` is the newest turn's run if known; its tree is loaded at once."""
        self.workflow_id, self.root = workflow_id, root
        self.state.clear()
        self._wanted.clear()
        self._reloads.clear()
        self._dirty.clear()
        self._unreported.clear()
        self._loading = 0
        self._tick.stop()
        if root:
            self.want(root)

    def want(self, root: str) -> None:
        """Load a turn's agents, once, to be shown."""
        if root and root not in self._wanted and self._bridge is not None and self.workflow_id:
            self._wanted.add(root)
            self._reloads.add(root)
            self._reload_now()

    def set_tree(self, tree: AgentNode) -> None:
        """Show a tree loaded elsewhere."""
        self.root = self.root or tree.run_id
        self._mark(self.state.load(tree))

    def feed(self, event: StreamEvent) -> None:
        """Apply an event of the workflow in view."""
        kind = event.chunk_type.value
        if kind == "workflow_start" and event.parent_run_id is None:
            self.root = event.run_id
        if self._loading and kind not in {"token", "reasoning"}:
            self._meanwhile.append(event)
        limited = self._at_limit(event.run_id)
        changed = self.state.feed(event)
        if changed:
            self._mark(changed)
        raised = limited and not self._at_limit(event.run_id)  # only the tree has the new limits
        if (kind in _RESHAPING or raised) and self._bridge is not None:
            self._wanted.add(event.correlation_id or event.run_id)
            self._reloads.add(event.correlation_id or event.run_id)
            self._reload.ask()

    def _at_limit(self, run_id: str) -> bool:
        member = self.get(run_id)
        return member is not None and member.pause == "limit"

    def _mark(self, runs: set[str]) -> None:
        self._dirty |= runs
        self._change_timer.ask()

    def _report_changes(self) -> None:
        self._unreported.update(dict.fromkeys(self._dirty))
        self._dirty.clear()
        if self.state.counting != self._tick.isActive():
            (self._tick.start if self.state.counting else self._tick.stop)()
        self._report_batch()

    def _report_batch(self) -> None:
        batch = frozenset(islice(self._unreported, AT_ONCE))
        for run_id in batch:
            del self._unreported[run_id]
        if self._unreported:
            self._frame_timer.ask()
        if batch:
            self.changed.emit(batch)

    def _reload_now(self) -> None:
        roots, self._reloads = self._reloads, set()
        if self._bridge is not None:
            for root in roots:
                self._bridge.jobs.start(self._load(self.workflow_id, root))

    async def _load(self, workflow_id: str, root: str) -> None:
        """Load a tree; events that arrive meanwhile are applied again, as the tree may be older."""
        assert self._bridge is not None
        self._loading += 1
        try:
            tree = await turn_tree(self._bridge, workflow_id, root)
        finally:
            self._loading = max(0, self._loading - 1)
            meanwhile = self._meanwhile
            if not self._loading:
                self._meanwhile = []
        if tree is None or workflow_id != self.workflow_id:
            return
        changed = self.state.load(tree)
        read_at = max((node.counting_since for node in tree.walk() if node.counting_since is not None), default=None)
        for event in meanwhile:
            if event.workflow_id == workflow_id and (read_at is None or event.time > read_at):
                changed |= self.state.feed(event)
        self._mark(changed)


async def turn_tree(bridge: Bridge, workflow_id: str, root_run_id: str) -> AgentNode | None:
    """A turn's agents; None if the turn was deleted."""
    try:
        return await bridge.engine.teams.tree(workflow_id, root_run_id or None)
    except NotFoundError:
        return None
