"""Visible time: timeouts count the time an item could be seen, not the time elapsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QTimer

TICK_MS = 1_000


class VisibleTime(QTimer):
    """Ticks once a second while started; the owner calls ``count``.

    Args:
        in_sight: returns the ids of visible items.
        counted: receives an id and the milliseconds it was visible since the last count.
        longest_ms: maximum per count: a suspended machine showed nothing.
    """

    def __init__(
        self,
        parent: QObject,
        monotonic: Callable[[], float],
        in_sight: Callable[[], Iterable[str]],
        counted: Callable[[str, int], object],
        longest_ms: int,
    ) -> None:
        super().__init__(parent)
        self.setInterval(TICK_MS)
        self._monotonic, self._in_sight, self._counted, self._longest_ms = monotonic, in_sight, counted, longest_ms
        self._since: dict[str, float] = {}

    def update_visibility(self) -> None:
        """An item was shown or hidden: start or stop counting its time."""
        now = self._monotonic()
        self._since = {key: self._since.get(key, now) for key in self._in_sight()}

    def count(self) -> None:
        """Report the visible time of all items and restart counting."""
        now = self._monotonic()
        for key in list(self._in_sight()):
            passed = min(round((now - self._since.get(key, now)) * 1000), self._longest_ms)
            self._since[key] = now
            if passed > 0:
                self._counted(key, passed)
        self.update_visibility()

    def halt(self) -> None:
        """Stop: nothing is visible any more."""
        self.stop()
        self._since.clear()
