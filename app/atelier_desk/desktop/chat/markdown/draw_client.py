"""Client of the drawing process, which starts on demand and ends when idle."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from functools import cache

from PySide6.QtCore import QObject, Signal

from atelier_desk.support.threads import in_background
from atelier_desk.support.worker.errors import WorkerError
from atelier_desk.support.worker.requests_to_child import Worker

IDLE_S = 120.0
"""Idle seconds after which the process ends; it takes about 40 MB."""
DRAW_S = 10.0
"""Seconds a drawing may take; then the process is killed, and the source stays as text."""
_MODULE = "atelier_desk.desktop.chat.markdown.draw_process"


class Drawings(QObject):
    """The program's single client.

    Signals:
        drawn: kind, source and the drawing, empty if it failed.
    """

    drawn = Signal(str, str, str)

    def __init__(self) -> None:
        super().__init__()
        self._wanted: queue.Queue[tuple[str, str]] = queue.Queue()
        self._began = False
        self._worker: Worker | None = None

    def want(self, kind: str, source: str) -> None:
        """Request a drawing; ``drawn`` follows."""
        if not self._began:
            self._began = True
            in_background(lambda: asyncio.run(self._work()))
        self._wanted.put((kind, source))

    async def _work(self) -> None:
        """Runs on a thread and loop of its own that only wait for requests and for the process."""
        while True:
            try:
                kind, source = self._wanted.get(timeout=IDLE_S if self._worker is not None else None)
            except queue.Empty:
                await self._end()
                continue
            answer = await self._ask(kind, source)
            with contextlib.suppress(RuntimeError):  # the program is ending
                self.drawn.emit(kind, source, answer)

    async def _ask(self, kind: str, source: str) -> str:
        try:
            if self._worker is None:
                self._worker = await Worker.start(_MODULE)
            return str((await self._worker.ask((kind, source), silent_s=DRAW_S)).value or "")
        except WorkerError:
            await self._end()
            return ""

    async def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()


@cache
def drawings() -> Drawings:
    """The program's instance, created in the window's thread."""
    return Drawings()
