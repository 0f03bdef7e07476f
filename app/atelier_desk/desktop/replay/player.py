"""Position and speed of a replay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QObject, QTimer, Signal

SPEEDS = (1, 4, 16)
LONGEST_MS, SHORTEST_MS = 3_000, 40
"""Limits of the pause between two events: waits for the user may have taken hours, and none is too short to see."""


class Player(QObject):
    """A position among ``times``, which advances during playback. After each move it waits for a call of ``shown``.

    Signals:
        moved: the new position, from 0.
        playing_changed: playback started or stopped.
    """

    moved = Signal(int)
    playing_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._times: Sequence[datetime] = ()
        self.place = 0
        self.speed = SPEEDS[0]
        self.playing = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(lambda: self._move_to(self.place + 1))

    @property
    def last(self) -> int:
        return max(0, len(self._times) - 1)

    def set_times(self, times: Sequence[datetime], place: int) -> None:
        """Set the times of the events and the position, without signals."""
        self.pause()
        self._times = times
        self.place = min(max(0, place), self.last)

    def seek(self, place: int) -> None:
        """Go to a position; playback stops."""
        self.pause()
        self._move_to(place)

    def step(self, by: int) -> None:
        """Move forward or back by some events."""
        self.seek(self.place + by)

    def play(self) -> None:
        """Start playback, from the beginning if at the end."""
        if not self._times:
            return
        self._set_playing(True)
        if self.place >= self.last:
            self._move_to(0)
        else:
            self.shown()

    def pause(self) -> None:
        self._timer.stop()
        self._set_playing(False)

    def toggle(self) -> None:
        if self.playing:
            self.pause()
        else:
            self.play()

    def set_speed(self, speed: int) -> None:
        self.speed = speed
        if self._timer.isActive():
            self.shown()

    def shown(self) -> None:
        """The current position is displayed: start waiting for the next event."""
        if not self.playing:
            return
        if self.place >= self.last:
            self.pause()
        else:
            self._timer.start(self.wait_ms())

    def wait_ms(self) -> int:
        """Milliseconds until the next event at the current speed."""
        gap = (self._times[self.place + 1] - self._times[self.place]).total_seconds() * 1000
        return max(SHORTEST_MS, round(min(max(gap, 0.0), LONGEST_MS) / self.speed))

    def _move_to(self, place: int) -> None:
        place = min(max(0, place), self.last)
        if place != self.place:
            self.place = place
            self.moved.emit(place)

    def _set_playing(self, on: bool) -> None:
        if on != self.playing:
            self.playing = on
            self.playing_changed.emit(on)
