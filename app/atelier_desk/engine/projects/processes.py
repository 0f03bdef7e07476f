"""The processes that read files: started when they are needed, ended when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import AtelierError
from atelier_desk.i18n import N_
from atelier_desk.support.worker.environment import reader_environment

MODULE = "atelier_desk.engine.projects.worker"
SILENT_S = 60.0
RELATING_S = 900.0
"""Seconds without an answer after which a process is ended: one file takes no longer, all files of a large project together may."""
LINE = 256 * 1024 * 1024
"""Bytes of one answer: all that is found in one file."""
ENDED = N_("The process that reads files ended without an answer.")
TOO_LONG = N_("Reading it took too long, or ended the process that read it.")


class ReaderGone(AtelierError):
    """The process ended, or was ended because it said nothing for too long."""

    code = "reader_gone"


class Reader:
    """One process; it takes one request at a time.

    Args:
        root, closed, key, readable: see ``worker``.
    """

    def __init__(self, root: Path, closed: Sequence[Path], key: str, readable: Sequence[str] = ()) -> None:
        self._about = {"root": str(root), "closed": [str(each) for each in closed], "key": key, "readable": list(readable)}
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._told = False
        self._forgot = False

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def forgetful(self) -> bool:
        """Whether the process that was told of symbols ended: another one does not know them."""
        return self._forgot or (self._told and not self.alive)

    async def read(self, files: Sequence[tuple[str, str]]) -> AsyncIterator[dict[str, Any]]:
        """What ``worker`` finds in files (path and known hash). One that ends the process is answered with a problem, and the others
        are read by a new one."""
        left = list(files)
        while left:
            try:
                async for answer in self._ask({"read": left}, len(left)):
                    left.pop(0)
                    yield answer
            except ReaderGone:
                path = left.pop(0)[0]
                yield {"path": path, "hash": "", "size": 0, "problem": (TOO_LONG, {}), "skipped": False,
                       "kind": "", "language": "", "entities": [], "symbols": ""}  # fmt: skip

    async def pages(self, pages: Sequence[tuple[str, str, str]]) -> AsyncIterator[dict[str, Any]]:
        """What ``worker`` makes of pages (address, title, Markdown)."""
        async for answer in self._ask({"pages": [list(each) for each in pages]}, len(pages)):
            yield answer

    async def tell(self, symbols: Mapping[str, str | None], *, settled: bool = False) -> None:
        """Tell of files' symbols, or with None that they are gone; ``settled``: their relations are known."""
        async for _answer in self._ask({"symbols": dict(symbols), "settled": settled}, 0):
            pass
        self._told = True

    async def relate(self) -> AsyncIterator[dict[str, Any]]:
        """The relations of the files whose relations may be others than before; see ``Relator.relate``.

        Raises:
            ReaderGone: the process ended; what it was told is lost.
        """
        async for answer in self._ask({"relate": True}, None):
            yield answer

    async def aclose(self) -> None:
        """End the process at once: it keeps nothing."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(self, request: dict[str, Any], answers: int | None) -> AsyncIterator[dict[str, Any]]:
        """The answers to a request: so many, or with None those before ``end``."""
        whole = False
        async with self._turn:
            process = await self._started()
            try:
                sending = asyncio.create_task(self._send(process, request))
                try:
                    count = 0
                    while answers is None or count < answers:
                        answer = await self._line(process, SILENT_S if answers is not None else RELATING_S)
                        if answers is None and answer.get("end"):
                            break
                        count += 1
                        yield answer
                    await sending
                    whole = True
                finally:
                    sending.cancel()
            finally:
                if not whole:  # what it still has to say belongs to nobody
                    await self.aclose()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            pipe = asyncio.subprocess.PIPE
            self._forgot = self._told
            # -P as the frozen program knows it, which has no Python beside it.
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", MODULE,
                stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=reader_environment(), limit=LINE,
            )  # fmt: skip
            await self._send(self._process, self._about)
            await self._line(self._process)
        return self._process

    @staticmethod
    async def _send(process: asyncio.subprocess.Process, request: dict[str, Any]) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            await process.stdin.drain()
        except ConnectionError as error:
            raise ReaderGone(ENDED) from error

    @staticmethod
    async def _line(process: asyncio.subprocess.Process, seconds: float = SILENT_S) -> dict[str, Any]:
        assert process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                line = await process.stdout.readline()
            found = json.loads(line)
        except (TimeoutError, ValueError) as error:
            raise ReaderGone(ENDED) from error
        if not isinstance(found, dict):
            raise ReaderGone(ENDED)
        return found
