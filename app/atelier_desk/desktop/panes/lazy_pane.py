"""A pane of what is dear to read: it reads while it can be seen, one reading after the other, and not as often as things happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.debouncer import Debouncer
from atelier_desk.desktop.panes.base import Pane

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge


class SeenPane(Pane):
    """``reload`` reads at once, ``refresh`` after ``refresh_ms``; out of sight either waits until it is shown."""

    def __init__(self, bridge: Bridge, refresh_ms: int, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._stale = True
        self._reading = False
        self._at_once = False
        """Somebody asked for it while it was read: the next reading does not wait."""
        self._refresh = Debouncer(self, refresh_ms, self._read_if_seen)

    async def read(self, workflow_id: str) -> None:
        """Read everything of this workflow and show it, unless another one is in view by then."""
        raise NotImplementedError

    def reload(self) -> None:
        self._stale = self._at_once = True
        self._read_if_seen()

    def refresh(self) -> None:
        """Something happened: read again a moment later, once for many calls."""
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
        """A reading is never cut short by the next one: where much happens, none would come to its end."""
        try:
            await self.read(workflow_id)
        finally:
            self._reading = False
        self.was_read()
        if self._at_once:
            self._read_if_seen()
        elif self._stale:
            self._refresh.ask()
