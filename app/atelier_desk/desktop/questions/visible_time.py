"""How long things can really be seen: what a timeout counts is the time a person had to look, not the time that went by."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QTimer

TICK_MS = 1_000


class VisibleTime(QTimer):
    """Ticks once a second while it is started; whoever listens calls ``count``.

    Args:
        in_sight: the ids of what can be seen now.
        counted: told an id and the milliseconds for which it was seen since it was last counted.
        longest_ms: most that one count tells: a machine that slept showed nothing.
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
        """Something was shown or hidden: its time counts from now on, or up to now."""
        now = self._monotonic()
        self._since = {key: self._since.get(key, now) for key in self._in_sight()}

    def count(self) -> None:
        """Tell of everything how long it was seen, and begin anew."""
        now = self._monotonic()
        for key in list(self._in_sight()):
            passed = min(round((now - self._since.get(key, now)) * 1000), self._longest_ms)
            self._since[key] = now
            if passed > 0:
                self._counted(key, passed)
        self.update_visibility()

    def halt(self) -> None:
        """Nothing is there to be seen any more."""
        self.stop()
        self._since.clear()
