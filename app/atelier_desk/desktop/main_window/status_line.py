"""The status line below the list while the engine is open.

Agents at work, waiting for the user or paused, or a rejected API key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from atelier_desk.presentation.api_key_text import MISSING
from atelier_desk.presentation.run_notices import LIMITS

if TYPE_CHECKING:
    from atelier_desk.desktop.main_window.window_interface import WindowParts
    from atelier_desk.desktop.sidebar.footer import Work
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.presentation.rows.transcript_entries import Change


class StatusWatch(QObject):
    """Watches the listed workflows, and the API key of the model in view."""

    def __init__(self, window: WindowParts) -> None:
        super().__init__(window)
        self._window = window
        self._refused: set[str] = set()
        """Providers that refused their key since it was last changed."""
        window.sidebar.model.modelReset.connect(self._show_work)
        window.sidebar.model.dataChanged.connect(lambda *_: self._show_work())
        window.presenter.pending_changed.connect(lambda _count: self._show_work())
        window.chat.choices.shown.connect(lambda *_: self._check())
        window.bridge.stream.key_refused.connect(self._on_refused)
        window.chat.pages.changed.connect(self._on_rows)
        window.bridge.changed.connect(self._on_changed)

    def _show_work(self) -> None:
        states = {each.status for each in self._window.sidebar.model.workflows}
        stopped = self._window.presenter.waiting_runs.stopped()
        work: Work = "ready"
        if "running" in states:
            work = "working"
        elif "waiting" in states or stopped:
            work = "waiting"
        elif "paused" in states:
            work = "paused"
        self._window.sidebar.foot.show_work(work, LIMITS.get(stopped[0].kind, "") if stopped else "")

    def _on_refused(self, provider: str) -> None:
        self._refused.add(provider)
        self._check()

    def _on_rows(self, changes: list[Change]) -> None:
        if self._refused and any(entry.live for _kind, entry in changes):
            self._refused.discard(self._window.chat.choices.model[0])  # the provider answers
            self._check()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "provider":
            self._refused.discard(key)
        if topic == "provider" or (topic == "settings" and key == "keys"):
            self._check()

    def _check(self) -> None:
        if self._window.bridge.ready:
            self._window.bridge.jobs.start(self._check_key(), "key of the model")

    async def _check_key(self) -> None:
        states = await self._window.bridge.engine.keys.states()
        provider, _model = self._window.chat.choices.model
        self._window.sidebar.foot.show_key_missing(states.get(provider) in MISSING or provider in self._refused)
