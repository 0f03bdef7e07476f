"""Sub-agents waiting for their parent's answer, which the user may give instead, and runs stopped at a limit.

Both are found in the trees of the teams at work, which are read once for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.team.model import turn_tree
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.presentation.rows.waiting_runs import ParentQuestion, StoppedRun, asking, at_limit

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

RELOAD_MS = 200


class WaitingRuns(QObject):
    """Questions of sub-agents to their parents, and runs stopped at a limit, over all workflows; oldest first.

    Signals:
        changed: the list changed.
        asked: a new one (``ParentQuestion``).
        notice: a sentence to be shown as a toast.
    """

    changed = Signal()
    asked = Signal(object)
    notice = Signal(object)

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.jobs = Jobs(self, self.notice.emit)
        self.read = False
        """Whether all that waits was read since the start."""
        self._open: dict[str, ParentQuestion] = {}
        self._stopped: dict[str, StoppedRun] = {}
        self._limited: dict[str, StoppedRun] = {}
        """By run, the limit it reached; it waits once it is paused."""
        self._changed_since: dict[str, StoppedRun | None] = {}
        """Runs that stopped, or left their limit (None), since the list was last asked for."""
        self._asking: dict[str, ParentQuestion] = {}
        """By run, its newest question that nobody answered yet: an answer may overtake what is still being read."""
        self._answered: set[str] = set()
        """Runs whose question was closed since the list was last asked for."""
        self._reading = asyncio.Lock()
        self._reload_timer = Debouncer(self, RELOAD_MS, self.start)
        bridge.stream.child_asked.connect(self._on_asked)
        bridge.stream.child_closed.connect(self._close)
        bridge.stream.limit_reached.connect(self._on_limit)
        bridge.stream.run_changed.connect(self._on_run)
        bridge.changed.connect(self._on_changed)

    def start(self) -> None:
        """Load pending questions of all running and waiting workflows."""
        self.jobs.start(self._reload(), "reload")

    def pending(self) -> list[ParentQuestion]:
        return sorted(self._open.values(), key=lambda each: (each.created_at, each.run_id))

    def stopped(self) -> list[StoppedRun]:
        """Runs that stopped at a limit and were not continued."""
        return sorted(self._stopped.values(), key=lambda each: (each.created_at, each.run_id))

    def __len__(self) -> int:
        return len(self._open) + len(self._stopped)

    async def answer(self, run_id: str, text: str) -> None:
        """Answer a sub-agent in its parent's place; errors of the engine are raised."""
        await self._bridge.engine.runs.answering.answer_child(run_id, text)
        self._close(run_id)

    def _on_asked(self, asked: ParentQuestion) -> None:
        self._asking[asked.run_id] = asked
        self.jobs.start(self._asked(asked))

    def _on_limit(self, stopped: StoppedRun) -> None:
        self._limited[stopped.run_id] = stopped

    def _on_run(self, run_id: str, status: str) -> None:
        """A run stopped at the limit it reached, or left it."""
        limited = self._limited.pop(run_id, None)
        stopped = limited if status == RunStatus.PAUSED else None
        if stopped is not None or run_id in self._stopped or self._reading.locked():
            self._changed_since[run_id] = stopped
            self._show_stopped({**self._stopped, run_id: stopped})
            if stopped is not None:
                self._load_prices()

    def _on_changed(self, topic: Topic, _id: str) -> None:
        """Drop what belongs to deleted workflows; a price may have been entered."""
        if (topic == "workflow" and len(self)) or (topic in ("model", "provider") and self._for_a_price(self._stopped)):
            self._reload_timer.ask()

    @staticmethod
    def _for_a_price(stopped: Mapping[str, StoppedRun]) -> list[str]:
        """Runs that stopped because the price of their model was not known."""
        return [run_id for run_id, each in stopped.items() if each.kind in ("unpriced", "priced")]

    def _show_stopped(self, stopped: Mapping[str, StoppedRun | None]) -> None:
        before, self._stopped = self._stopped, {key: each for key, each in stopped.items() if each is not None}
        if self._stopped != before:
            self.changed.emit()

    def _close(self, run_id: str) -> None:
        self._asking.pop(run_id, None)
        self._answered.add(run_id)
        if self._open.pop(run_id, None) is not None:
            self.changed.emit()

    async def _asked(self, asked: ParentQuestion) -> None:
        async with self._reading:
            root = asked.root_run_id
            tree = await turn_tree(self._bridge, asked.workflow_id, root) if root else None
            if self._asking.get(asked.run_id) is not asked:
                return
            above = tuple(node.name for node in tree.path(asked.run_id)[:-1]) if tree is not None else ()
            asked = replace(asked, lineage=above or asked.lineage)
            self._open[asked.run_id] = asked
        self.asked.emit(asked)
        self.changed.emit()

    async def _reload(self) -> None:
        async with self._reading:
            self._answered.clear()
            self._changed_since.clear()
            trees = (await self._bridge.engine.teams.at_work()).items()
            found = [each for key, tree in trees for each in asking(tree, key)]
            stopped = {
                each.run_id: self._stopped.get(each.run_id, each) for key, tree in trees for each in at_limit(tree, key)
            }
            known = self._open
            self._open = {
                each.run_id: known.get(each.run_id, each) for each in found if each.run_id not in self._answered
            }
            self.read = True
            self._show_stopped({**stopped, **self._changed_since})
        self.changed.emit()
        self._load_prices()

    def _load_prices(self) -> None:
        if unpriced := self._for_a_price(self._stopped):
            self.jobs.start(self._refresh_prices(unpriced), "prices")

    async def _refresh_prices(self, unpriced: list[str]) -> None:
        """Note which prices are missing, and mark the runs whose model has its prices now. The server of such a model
        may take seconds to answer."""
        found = await self._bridge.engine.teams.missing_prices(unpriced)
        stopped = dict(self._stopped)
        for run_id in unpriced:
            model, missing = found.get(run_id, ("", None))
            if run_id in stopped:
                details = {**stopped[run_id].details, "model": model, "missing": missing or ()}
                kind = "priced" if missing == () else "unpriced"
                stopped[run_id] = replace(stopped[run_id], kind=kind, details=details)
        self._show_stopped(stopped)
