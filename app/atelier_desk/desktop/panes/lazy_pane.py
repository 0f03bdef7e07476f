"""Panes that are slow to load: they load while visible, one load at a time, at a limited rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.panes.pane_base import Pane
from atelier_desk.desktop.widgets.debouncer import Debouncer

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge


class SeenPane(Pane):
    """``reload`` loads at once, ``refresh`` after ``refresh_ms``; both wait until the pane is visible."""

    def __init__(self, bridge: Bridge, refresh_ms: int, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._stale = True
        self._reading = False
        self._at_once = False
        """Somebody asked for it while it was read: the next reading does not wait."""
        self._refresh = Debouncer(self, refresh_ms, self._read_if_seen)

    async def read(self, workflow_id: str) -> None:
        """Load this workflow and show it, unless another is in view by then."""
        raise NotImplementedError

    def reload(self) -> None:
        self._stale = self._at_once = True
        self._read_if_seen()

    def refresh(self) -> None:
        """Load again after a delay, once for many calls."""
        self._stale = True
        self._refresh.ask()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._read_if_seen()

    def _read_if_seen(self) -> None:
        if self._stale and not self._reading and self.isVisible() and self.workflow_id:
            self._stale = self._at_once = False
            self._reading = True
            self.jobs.start(self._read_once(self.workflow_id))

    async def _read_once(self, workflow_id: str) -> None:
        """Loading is never cancelled by the next request: with frequent events it would never finish."""
        try:
            await self.read(workflow_id)
        finally:
            self._reading = False
        self.was_read()
        if self._at_once:
            self._read_if_seen()
        elif self._stale:
            self._refresh.ask()
