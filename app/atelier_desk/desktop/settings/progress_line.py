"""A progress line for long work: description, elapsed time, progress, and a stop button."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.panes.time_format import duration
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Spinner, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import Text, made, text_of
from atelier_desk.support.i18n import N_, _

Outcome = tuple[str | Callable[[], str], str]
"""The final message, and its style variant: ok, warn, error, muted."""


class Busy(QWidget):
    """Hidden until ``watch`` is given a task.

    ``set_progress`` shows a bar, ``note`` a message that stays after the task.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._task: asyncio.Task[object] | None = None
        self._since = 0.0
        self._what: Text = ""
        self._reported = (0, 0)
        self._spinner = Spinner(self)
        self.text = control(label("", "muted", self, wrap=True), "busy-text")
        self.stop = control(
            QPushButton(self),
            "busy-stop",
            N_("Stop"),
            name=lambda: _("Stop: {what}", what=text_of(self._what)),
            on=self.cancel,
        )
        row = hbox(None, self._spinner, (self.text, 1), self.stop, spacing=8)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.hide()
        vbox(self, row, self._bar, margins=(0, 4, 0, 4), spacing=6)
        self._timer = QTimer(self)
        self._timer.setInterval(1_000)
        self._timer.timeout.connect(self._show_time)
        self.hide()

    @property
    def running(self) -> bool:
        return self._task is not None

    def watch(self, task: asyncio.Task[object], what: Text) -> None:
        """Show ``what`` until the task ends. Stop cancels the task."""
        self._task, self._what, self._reported = task, what, (0, 0)
        self._since = time.monotonic()
        bind_text(self.stop)
        self.stop.show()
        self._spinner.show()
        mark(self.text, "muted")
        self._show_time()
        self.show()
        self._timer.start()
        task.add_done_callback(self._done)

    def run(
        self,
        jobs: Jobs,
        key: Hashable,
        work: Callable[[], Coroutine[object, None, Outcome | None]],
        what: Text = "",
        problem: Callable[[Exception], str] = error_text,
    ) -> asyncio.Task[object] | None:
        """Run a job, one per ``key``, and show its outcome (text and variant) or error.

        Without ``what`` nothing is shown while it runs. Returns None if it is already running.
        """

        async def job() -> None:
            try:
                outcome = await work()
            except Exception as error:
                self.note(problem(error), "error")
            else:
                if outcome is not None:
                    self.note(*outcome)

        started = jobs.once(key, job)
        if started is not None and what:
            self.watch(started, what)
        return started

    def set_progress(self, done: int, total: int) -> None:
        """A bar of ``done`` out of ``total``."""
        self._bar.setRange(0, max(1, total))
        self._bar.setValue(done)
        self._bar.show()

    def report(self, done: int, total: int) -> None:
        """From any thread: the same within a second. When all is done, the rest cannot be stopped."""
        self._reported = (done, total)

    def note(self, text: str | Callable[[], str], variant: str = "muted") -> None:
        """Show the outcome permanently; a function is called again for another language."""
        self._rest()
        mark(self.text, variant)
        bind_text(self.text, text if callable(text) else made(text))
        self.show()

    def cancel(self) -> None:
        """The Stop button."""
        if self._task is not None:
            self._task.cancel()

    def clear_message(self) -> None:
        """Remove the outcome; running work stays visible."""
        if not self.running:
            self.hide()

    def drop(self) -> None:
        """Cancel the watched task without a message."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self._rest()
        self.hide()

    def _show_time(self) -> None:
        done, total = self._reported
        if total:
            self.set_progress(done, total)
            self.stop.setVisible(done < total)
        bind_text(self.text, lambda: f"{text_of(self._what)} · {duration((time.monotonic() - self._since) * 1000)}")

    def _rest(self) -> None:
        self._timer.stop()
        self._bar.hide()
        self._spinner.hide()
        self.stop.hide()

    def _done(self, task: asyncio.Task[object]) -> None:
        if task is not self._task or not isValid(self):  # closed with its window while the task was cancelled
            return
        self._task = None
        if task.cancelled():
            self.note(_("Stopped."))
        elif task.exception() is not None or self._spinner.isVisibleTo(self):
            self._rest()
            self.hide()
