"""A program that was asked to end does, whatever still holds it up: a tool that cannot be stopped, a disk that does not answer.

Nothing is lost by that: the journal has everything, and the next process that opens the data folder marks what was cut off.
"""

from __future__ import annotations

import os
import signal
import threading
import time

CANCELLED = 130
"""The exit status of a command that was cancelled: 128 and the number of SIGINT, as shells have it."""
_LEFT_S = 1.0
_POLL_S = 0.05


class EndWatch:
    """Ends the process ``within_s`` after it was asked to end.

    Attributes:
        status: the exit status if it comes to that.
    """

    def __init__(self, status: int, within_s: float) -> None:
        self.status = status
        self._within_s = within_s
        self._returned = False
        self._thread: threading.Thread | None = None

    @property
    def asked(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """The program was asked to end; asked again, it does so at once."""
        if self._thread is not None:
            os._exit(self.status)
        self._thread = threading.Thread(target=self._end, name="end-watch", daemon=True)
        self._thread.start()

    def returned(self) -> None:
        """The program itself is done. Only threads that nobody can stop may keep the interpreter from ending now."""
        self._returned = True

    def _end(self) -> None:
        time.sleep(self._within_s)
        until = time.monotonic() + _LEFT_S
        while time.monotonic() < until:
            # Where the program was a function among others, its caller goes on.
            if not self._returned or not threading.main_thread().is_alive():
                os._exit(self.status)
            time.sleep(_POLL_S)


def ending_signals() -> list[signal.Signals]:
    """Those that ask a process to end. Under nohup it is to outlive its terminal."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    present = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    return [number for number in present if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN]
