"""Work that a widget starts and does not wait for: kept alive, cancelled with the widget, its errors told to somebody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from atelier_desk.desktop.once import Once
from atelier_desk.domain.errors import AtelierError
from atelier_desk.i18n import _

_log = logging.getLogger(__name__)


def error_text(error: BaseException) -> str:
    """An error as a sentence for a person, in the current language; an unforeseen one is logged with its traceback."""
    if isinstance(error, AtelierError):
        return error.localized(_)
    _log.error("unforeseen error in the window", exc_info=error)
    return _("Something unexpected went wrong ({kind}): {error}", kind=type(error).__name__, error=error)


class Jobs:
    """The running jobs of one widget. ``on_error(sentence)`` hears of every failure that the job did not handle itself.

    Attributes:
        once: starts what a button asks for, unless it runs already.
    """

    def __init__(self, owner: QObject, on_error: Callable[[str], None]) -> None:
        self._on_error = on_error
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self.once = Once(self.start)
        owner.destroyed.connect(self.cancel)

    def start(self, work: Coroutine[Any, Any, Any], key: str = "") -> asyncio.Task[Any]:
        """Run ``work`` in the UI loop. A job with the same non-empty key that still runs is cancelled: only the newest counts."""
        if key:
            for task in [task for task, name in self._tasks.items() if name == key]:
                task.cancel()
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = key
        task.add_done_callback(self._finished)
        return task

    def cancel(self) -> None:
        """Stop everything; called when the widget goes away, which may be after the loop has ended."""
        for task in list(self._tasks):
            if not task.get_loop().is_closed():
                task.cancel()

    async def settled(self) -> None:
        """Wait until nothing runs any more (what a job starts is waited for too)."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))
            await asyncio.sleep(0)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error_text(error))
