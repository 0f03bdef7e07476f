"""How a command is asked to end, and that it does."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from atelier_desk.cli.dispatch import CANCELLED
from atelier_desk.cli.output import ReaderGone, Terminal
from atelier_desk.domain.limits import PROGRAM_ENDS_S
from atelier_desk.i18n import _


class Ending:
    """Ends the process in time, whatever still holds it up: a thread that cannot be stopped, a disk that does not answer.

    Nothing is lost by that: the journal has everything, and the next process that opens the data folder marks what was cut off.

    Attributes:
        status: the exit status if it comes to that.
    """

    def __init__(self) -> None:
        self.status = CANCELLED
        self._asked = 0

    def asked(self) -> bool:
        """The process was asked to end; False when it had been asked before, and is killed now."""
        self._asked += 1
        if self._asked > 1:
            os._exit(CANCELLED)
        timer = threading.Timer(PROGRAM_ENDS_S, lambda: os._exit(self.status))
        timer.daemon = True
        timer.start()
        return True


@contextmanager
def interrupts(terminal: Terminal) -> Iterator[Ending]:
    """The first Ctrl-C, SIGTERM or SIGHUP cancels the running command, which saves and ends with 130; the second kills at once."""
    ending = Ending()
    task = asyncio.current_task()
    assert task is not None
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    loop = asyncio.get_running_loop()

    def cancel(number: int) -> None:
        task.cancel()
        if number == signal.SIGINT:
            with suppress(ReaderGone, OSError):
                terminal.note(_("Interrupting and saving. Press Ctrl-C again to kill."), "warn")

    def on_signal(number: int, frame: Any) -> None:
        if ending.asked():
            loop.call_soon_threadsafe(cancel, number)

    previous = {number: signal.signal(number, on_signal) for number in _signals()}
    try:
        yield ending
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _signals() -> list[signal.Signals]:
    """Those that ask a process to end. Under nohup it is to outlive its terminal."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    present = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    return [number for number in present if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN]
