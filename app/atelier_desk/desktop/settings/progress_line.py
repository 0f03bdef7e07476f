"""A line that says that something longer goes on: what, for how long, how far, and a button that stops it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.jobs import Jobs, error_text
from atelier_desk.desktop.panes.times import duration
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Spinner, bind_text, control, fill, label
from atelier_desk.desktop.widgets.bindings import Text, made, text_of
from atelier_desk.support.i18n import N_, _

Outcome = tuple[str | Callable[[], str], str]
"""What is said at the end, and the variant of its look: ok, warn, error, muted."""


class Busy(QWidget):
    """Hidden until ``watch`` is given a task. ``set_progress`` shows a bar, ``note`` a sentence that stays after the task."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._task: asyncio.Task[Any] | None = None
        self._since = 0.0
        self._what: Text = ""
        self._spinner = Spinner(self)
        self.text = control(label("", "muted", self, wrap=True), "busy-text")
        self.stop = control(
            QPushButton(self), "busy-stop", N_("Stop"), name=lambda: _("Stop: {what}", what=text_of(self._what)), on=self.cancel
        )
        row = fill(QHBoxLayout(), self._spinner, (self.text, 1), self.stop, spacing=8)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.hide()
        fill(QVBoxLayout(self), row, self._bar, margins=(0, 4, 0, 4), spacing=6)
        self._timer = QTimer(self)
        self._timer.setInterval(1_000)
        self._timer.timeout.connect(self._show_time)
        self.hide()

    @property
    def running(self) -> bool:
        return self._task is not None

    def watch(self, task: asyncio.Task[object], what: Text) -> None:
        """Show ``what`` until the task is over. Stop cancels the task."""
        self._task, self._what = task, what
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
    ) -> asyncio.Task[Any] | None:
        """Do a work, one of its ``key`` at a time, and say its outcome here: a text and its variant, or why it failed. Without ``what``
        nothing is said meanwhile. None when it goes on already."""

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

    def note(self, text: str | Callable[[], str], variant: str = "muted") -> None:
        """The outcome, left standing; a function says it anew in another language, as an error does."""
        self._rest()
        mark(self.text, variant)
        bind_text(self.text, text if callable(text) else made(text))
        self.show()

    def cancel(self) -> None:
        """The Stop button."""
        if self._task is not None:
            self._task.cancel()

    def clear_message(self) -> None:
        """What was said of something holds no more; what goes on is said on."""
        if not self.running:
            self.hide()

    def drop(self) -> None:
        """What was watched no longer matters: it is cancelled, and nothing is said of it."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self._rest()
        self.hide()

    def _show_time(self) -> None:
        bind_text(self.text, lambda: f"{text_of(self._what)} · {duration((time.monotonic() - self._since) * 1000)}")

    def _rest(self) -> None:
        self._timer.stop()
        self._bar.hide()
        self._spinner.hide()
        self.stop.hide()

    def _done(self, task: asyncio.Task[object]) -> None:
        if task is not self._task:
            return
        self._task = None
        if task.cancelled():
            self.note(_("Stopped."))
        elif task.exception() is not None or self._spinner.isVisibleTo(self):
            self._rest()
            self.hide()
