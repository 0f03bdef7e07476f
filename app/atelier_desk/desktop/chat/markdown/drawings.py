"""Asks the process that draws formulas and diagrams, which is started when the first is wanted and ends when none was for a while."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from functools import cache

from PySide6.QtCore import QObject, Signal

from atelier_desk.support.threads import in_background
from atelier_desk.support.worker.errors import WorkerError
from atelier_desk.support.worker.parent import Worker

IDLE_S = 120.0
"""Seconds without anything to draw after which the process ends; it takes some 40 MB."""
DRAW_S = 10.0
"""Seconds one drawing may take; then the process is ended, and the source stays as it is."""
_MODULE = "atelier_desk.desktop.chat.markdown.draw_process"


class Drawings(QObject):
    """One for the program.

    Signals:
        drawn: kind, source and what was drawn, empty when that cannot be.
    """

    drawn = Signal(str, str, str)

    def __init__(self) -> None:
        super().__init__()
        self._wanted: queue.Queue[tuple[str, str]] = queue.Queue()
        self._began = False
        self._worker: Worker | None = None

    def want(self, kind: str, source: str) -> None:
        """Draw it; ``drawn`` tells when."""
        if not self._began:
            self._began = True
            in_background(lambda: asyncio.run(self._work()))
        self._wanted.put((kind, source))

    async def _work(self) -> None:
        """On a thread and a loop that only wait: for something to draw, and for the process."""
        while True:
            try:
                kind, source = self._wanted.get(timeout=IDLE_S if self._worker is not None else None)
            except queue.Empty:
                await self._end()
                continue
            answer = await self._ask(kind, source)
            with contextlib.suppress(RuntimeError):  # the program ends
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
    """The one of the program; made in the window's thread."""
    return Drawings()
