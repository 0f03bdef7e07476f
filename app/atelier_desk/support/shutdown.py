"""Make the process end when asked, even if a tool or a disk hangs.

Nothing is lost: the journal has everything, and the next process that opens the data folder marks what was
interrupted.
"""

from __future__ import annotations

import os
import signal
import threading
import time

CANCELLED = 130
"""Exit status of a cancelled command: 128 plus the number of SIGINT, as in shells."""
_LEFT_S = 1.0
_POLL_S = 0.05


class EndWatch:
    """Ends the process ``within_s`` seconds after it was asked to end.

    Attributes:
        status: exit status in that case.
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
        """Start the timer; a second call ends the process at once."""
        if self._thread is not None:
            os._exit(self.status)
        self._thread = threading.Thread(target=self._end, name="end-watch", daemon=True)
        self._thread.start()

    def returned(self) -> None:
        """The program has returned; only threads that cannot be stopped may still delay its end."""
        self._returned = True

    def _end(self) -> None:
        time.sleep(self._within_s)
        until = time.monotonic() + _LEFT_S
        while time.monotonic() < until:
            # If the program was called as a function, its caller continues.
            if not self._returned or not threading.main_thread().is_alive():
                os._exit(self.status)
            time.sleep(_POLL_S)


def ending_signals() -> list[signal.Signals]:
    """Signals that ask a process to end.

    Under nohup it must survive its terminal, so not SIGHUP.
    """
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    present = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    return [number for number in present if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN]
