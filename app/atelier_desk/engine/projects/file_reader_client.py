"""Reading processes: started when needed, ended when unused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_
from atelier_desk.support.worker.errors import CannotStart, WorkerError
from atelier_desk.support.worker.requests_to_child import Worker

MODULE = "atelier_desk.engine.projects.worker"
SILENT_S = 60.0
RELATING_S = 900.0
"""Seconds of silence after which a process is ended.

Enough for relating a large project; single files are far faster.
"""
ENDED = N_("The process that reads files ended unexpectedly.")
NO_START = N_("The process that reads files could not be started: {reason}")
TOO_LONG = N_("Reading the file took too long, or the process reading it crashed.")
PROBLEMS = {"memory": N_("Reading the file needs too much memory."), "timeout": N_("Reading the file took too long.")}
"""Problems of a file by code of a ``WorkerError``; ``TOO_LONG`` for others."""


class ReaderGone(AtelierError):
    """The process ended, or was ended because of silence."""

    code = "reader_gone"


class Reader:
    """One process; it handles one request at a time.

    Args:
        root, closed, key, readable: see ``worker``.
    """

    def __init__(self, root: Path, closed: Sequence[Path], key: str, readable: Sequence[str] = ()) -> None:
        self._about = {
            "root": str(root),
            "closed": [str(each) for each in closed],
            "key": key,
            "readable": list(readable),
        }
        self._worker: Worker | None = None
        self._turn = asyncio.Lock()
        self._has_symbols = False
        self._lost_symbols = False

    @property
    def alive(self) -> bool:
        return self._worker is not None and self._worker.alive

    @property
    def lost_symbols(self) -> bool:
        """Whether the process that was sent symbols has ended: a new one does not know them."""
        return self._lost_symbols or (self._has_symbols and not self.alive)

    async def read(self, files: Sequence[tuple[str, str]]) -> AsyncGenerator[dict[str, object], None]:
        """Yield ``worker``'s results for files (path and known hash).

        A file that ends the process gives a problem; the others are read by a new one.
        """
        left = list(files)
        while left:
            try:
                async with aclosing(self._ask({"read": left})) as answers:
                    async for answer in answers:
                        left.pop(0)
                        yield answer
            except ReaderGone as error:
                path, why = left.pop(0)[0], getattr(error.__cause__, "code", "")
                yield {"path": path, "hash": "", "size": 0, "problem": (PROBLEMS.get(why, TOO_LONG), {}),
                "skipped": False,
                       "kind": "", "language": "", "entities": [], "symbols": ""}  # fmt: skip

    async def pages(self, pages: Sequence[tuple[str, str, str]]) -> AsyncGenerator[dict[str, object], None]:
        """Yield ``worker``'s results for pages (address, title, Markdown)."""
        async with aclosing(self._ask({"pages": pages})) as answers:
            async for answer in answers:
                yield answer

    async def update_symbols(self, symbols: Mapping[str, str | None], *, settled: bool = False) -> None:
        """Send files' symbols, None if deleted; ``settled``: their relations are known."""
        async for _answer in self._ask({"symbols": dict(symbols), "settled": settled}):
            pass
        self._has_symbols = True

    def relate(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yield relations of files that may have changed; see ``Relator.relate``.

        Raises:
            ReaderGone: the process ended; the symbols it was sent are lost.
        """
        return self._ask({"relate": True}, RELATING_S)

    async def aclose(self) -> None:
        """End the process at once: it has no state to save."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()

    async def _ask(self, request: dict[str, object], silent_s: float = 0) -> AsyncGenerator[dict[str, object], None]:
        """Yield the answers to a request."""
        whole = False
        async with self._turn:
            try:
                worker = await self._started()
                async with aclosing(worker.replies(request, silent_s=silent_s or SILENT_S)) as replies:
                    async for done, reply in replies:
                        if not done:
                            yield reply.value
                whole = True
            except CannotStart as error:
                raise AtelierError(NO_START, code="reader_gone", reason=str(error)) from error
            except WorkerError as error:
                raise ReaderGone(ENDED) from error
            finally:
                if not whole:  # its remaining output belongs to nobody
                    await self.aclose()

    async def _started(self) -> Worker:
        if self._worker is None or not self._worker.alive:
            self._lost_symbols = self._has_symbols
            self._worker = await Worker.start(MODULE)
            await self._worker.ask(self._about, silent_s=SILENT_S)
        return self._worker
