"""Ending a command by Ctrl-C or a signal."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from atelier_desk.cli.terminal_io import ReaderGone, Terminal
from atelier_desk.support.i18n import _
from atelier_desk.support.shutdown import EndWatch, ending_signals


@contextmanager
def ending_by_signal(terminal: Terminal, watch: EndWatch) -> Iterator[None]:
    """Cancel the command at the first Ctrl-C, SIGTERM or SIGHUP; exit at once at the second.

    A cancelled command saves its work and exits with 130.
    """
    task = asyncio.current_task()
    assert task is not None
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def cancel(number: int) -> None:
        task.cancel()
        if number == signal.SIGINT:
            with suppress(ReaderGone, OSError):
                terminal.note(_("Interrupting and saving. Press Ctrl-C again to exit at once."), "warn")

    def ctrl_c(number: int) -> None:
        if not terminal.ctrl_c():
            watch.start()
            cancel(number)

    def on_signal(number: int, frame: object) -> None:
        if number == signal.SIGINT and terminal.catches_ctrl_c:
            # The command handles it itself, as a chat that stops an answer.
            loop.call_soon_threadsafe(ctrl_c, number)
            return
        watch.start()
        loop.call_soon_threadsafe(cancel, number)

    previous = {number: signal.signal(number, on_signal) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
