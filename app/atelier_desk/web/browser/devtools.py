"""Control Chromium by its DevTools protocol over pipes: JSON objects, each with a zero byte."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

MESSAGE = 32 * 1024 * 1024
"""Bytes of one message; a page is one message."""


class BrowserGone(Exception):
    """The browser has ended, or sent something that is not the protocol."""


class CommandRefused(Exception):
    """The browser refused a command."""


class Devtools:
    """The connection to one browser.

    Args:
        told: called with method, parameters and session of each event.
    """

    def __init__(self, told: Callable[[str, Mapping[str, object], str], None]) -> None:
        self._on_event = told
        self._waiting: dict[int, asyncio.Future[dict[str, object]]] = {}
        self._number = 0
        self._reader = asyncio.StreamReader(limit=MESSAGE)
        self._transports: list[asyncio.BaseTransport] = []
        self._reading: asyncio.Task[None] | None = None

    async def open(self, reads: int, writes: int) -> None:
        """Take over the two descriptors, for reading and for writing."""
        loop = asyncio.get_running_loop()
        into, out = os.fdopen(reads, "rb", 0), os.fdopen(writes, "wb", 0)
        transport, _protocol = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), into)
        self._transports.append(transport)
        self._out, _base = await loop.connect_write_pipe(asyncio.BaseProtocol, out)
        self._transports.append(self._out)
        self._reading = loop.create_task(self._read())

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        for each in self._transports:
            if not each.is_closing():
                each.abort() if isinstance(each, asyncio.WriteTransport) else each.close()
        self._over()

    def send(self, method: str, session: str = "", **parameters: object) -> asyncio.Future[dict[str, Any]]:
        """Send a command; the future has the result.

        Raises ``BrowserGone``; the future raises ``BrowserGone`` or ``CommandRefused``.
        """
        if self._reading is None or self._reading.done() or self._out.is_closing():
            raise BrowserGone
        self._number += 1
        message = {
            "id": self._number,
            "method": method,
            "params": parameters,
            **({"sessionId": session} if session else {}),
        }
        answer: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # not every result is awaited
        self._waiting[self._number] = answer
        self._out.write(json.dumps(message).encode() + b"\0")
        return answer

    async def _read(self) -> None:
        try:
            while True:
                self._handle(json.loads((await self._reader.readuntil(b"\0"))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, OSError):
            return
        finally:
            self._over()

    def _handle(self, said: object) -> None:
        if not isinstance(said, dict):
            raise ValueError("no message")
        answer = self._waiting.pop(said.get("id", 0), None)
        if answer is not None and not answer.done():
            if "error" in said:
                answer.set_exception(CommandRefused(str(said["error"])[:300]))
            else:
                result = said.get("result")
                answer.set_result(result if isinstance(result, dict) else {})
        elif "method" in said and isinstance(said.get("params"), dict):
            self._on_event(str(said["method"]), said["params"], str(said.get("sessionId", "")))

    def _over(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(BrowserGone())
        self._waiting.clear()
