"""Background jobs of the window: kept alive, cancelled with their owner, errors reported."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from typing import TypeVar

from PySide6.QtCore import QObject

from atelier_desk.desktop.widgets.language_theme_bindings import Sentence
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import _

T = TypeVar("T")


def error_text(error: BaseException) -> Sentence:
    """An error as a sentence in the current language; an unexpected one is logged with its traceback."""
    if isinstance(error, AtelierError):
        return Sentence(lambda: error.localized(_))
    logging.getLogger(__name__).error("unforeseen error in the window", exc_info=error)
    kind, text = type(error).__name__, str(error)
    return Sentence(lambda: _("Unexpected error ({kind}): {error}", kind=kind, error=text))


class Jobs:
    """The running jobs of one owner: a widget, or the bridge for jobs that outlive widgets.

    ``on_error(sentence)`` receives every failure that a job did not handle itself.
    """

    def __init__(self, owner: QObject, on_error: Callable[[str], object]) -> None:
        self._on_error = on_error
        self._tasks: dict[asyncio.Task[object], str] = {}
        self._once: dict[Hashable, asyncio.Task[object]] = {}
        owner.destroyed.connect(self.cancel)

    def start(self, work: Coroutine[object, None, T], key: str = "") -> asyncio.Task[T]:
        """Run ``work`` in the UI loop.

        A running job with the same non-empty key is cancelled: only the newest counts.
        """
        if key:
            for task in [task for task, name in self._tasks.items() if name == key]:
                task.cancel()
        try:
            started = asyncio.get_event_loop().create_task(work)
        except RuntimeError:  # a timer that fires after the loop has ended
            work.close()
            raise
        self._tasks[started] = key
        started.add_done_callback(self._finished)
        return started

    def once(self, key: Hashable, work: Callable[[], Coroutine[object, None, T]]) -> asyncio.Task[T] | None:
        """Start ``work()`` unless a job with this key is running; then nothing happens and None is returned.

        So a second click does nothing. A key names the action and its object, such as ``("resume", run_id)``: other
        runs can be resumed meanwhile. It is free again when the work has ended, however it did. Ignoring a click,
        unlike disabling the button, keeps the keyboard focus where it was.
        """
        last = self._once.get(key)
        if last is not None and not last.done():
            return None
        task = self.start(work())
        self._once[key] = task
        task.add_done_callback(lambda ended: self._discard(key, ended))
        return task

    def cancel(self) -> None:
        """Cancel all jobs; called when the owner is deleted, possibly after the loop has ended."""
        for task in list(self._tasks):
            if not task.get_loop().is_closed():
                task.cancel()

    async def settled(self) -> None:
        """Wait until no job is running, including jobs started by others."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))
            await asyncio.sleep(0)

    def _discard(self, key: Hashable, ended: asyncio.Task[object]) -> None:
        if self._once.get(key) is ended:
            del self._once[key]

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error_text(error))
