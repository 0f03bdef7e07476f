"""What a server may send: how fast, how many things it may ask for without waiting, and of how many values one message may be made.

A message of very many small values is a few megabytes on the wire and seconds of work in one piece, in which nothing else is done: it is
counted before it is read.
"""

from __future__ import annotations

import asyncio

MOST_VALUES = 200_000
"""Values of one message; more than anybody could use, and a quarter of a second to read."""
MOST_ASKED = 100
"""Requests of a server without an answer that it took; one that asks on and never reads the answers would fill the memory with them."""
AT_ONCE = 5_000
"""Messages that are taken as fast as they come."""
PER_S = 500
"""Messages a second after that; who sends more has to wait."""
LINES = 3
"""Lines of an event that holds one message: its kind, its data and its end."""
_PIECE = 64 * 1024
_SMALL = 256 * 1024
"""Bytes of a message that is not worth counting."""


class TooManyValuesError(Exception):
    """A message has more than ``MOST_VALUES`` values."""


class ValueLimit:
    """Counts the values of JSON that comes in pieces: the commas outside its texts. With ``events`` it is a stream of events, and each
    event counts for itself.

    Attributes:
        lines: that came to their end, in a stream of events.
    """

    def __init__(self, *, events: bool = False) -> None:
        self._events = events
        self._count = 0
        self._in_text = False
        self._rest = b""
        self._line_begins = True
        self.lines = 0

    def feed(self, piece: bytes) -> None:
        """Raises ``TooManyValuesError``."""
        # Two backslashes are one in a text; what is left of them makes a quotation mark one of the text. Neither pair may be cut.
        data = (self._rest + piece).replace(b"\\\\", b"")
        cut = len(data) - 1 if data.endswith((b"\\", b"\r")) else len(data)
        self._rest, data = data[cut:], data[:cut].replace(b'\\"', b"")
        if not self._events:
            self._line(data)
            return
        first, *others = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._line(first)
        self._line_begins = self._line_begins and not first
        self.lines += len(others)
        for line in others:
            if self._line_begins:
                self._count = 0
            # No text of JSON goes over a line: a quotation mark in a comment hides nothing.
            self._in_text = False
            self._line(line)
            self._line_begins = not line

    def _line(self, data: bytes) -> None:
        parts = data.split(b'"')
        self._count += b"".join(parts[self._in_text :: 2]).count(b",")
        self._in_text ^= len(parts) % 2 == 0
        if self._count > MOST_VALUES:
            raise TooManyValuesError


async def count(message: bytes) -> None:
    """Look at a whole message without holding anything else up. Raises ``TooManyValuesError``."""
    if len(message) < _SMALL or message.count(b",") <= MOST_VALUES:
        return
    values = ValueLimit()
    for begin in range(0, len(message), _PIECE):
        values.feed(message[begin : begin + _PIECE])
        await asyncio.sleep(0)


class MessageRate:
    """Messages are taken ``AT_ONCE``, then ``PER_S`` a second: a flood is read slowly, so that its sender has to wait."""

    def __init__(self) -> None:
        self._left = float(AT_ONCE)
        self._at = asyncio.get_running_loop().time()

    async def consume(self, messages: float = 1) -> None:
        now = asyncio.get_running_loop().time()
        self._left = min(float(AT_ONCE), self._left + (now - self._at) * PER_S) - messages
        self._at = now
        if self._left < 0:
            await asyncio.sleep(-self._left / PER_S)


class RequestLimit:
    """The requests of a server that have no answer yet."""

    def __init__(self) -> None:
        self._open: set[str | int] = set()

    def on_received(self, message: object) -> bool:
        """Take note of what the server sent; False when it asks for more than is allowed."""
        from mcp_types import JSONRPCRequest

        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
        return len(self._open) <= MOST_ASKED

    def on_sent(self, message: object) -> None:
        """Take note of what the server took."""
        from mcp_types import JSONRPCRequest

        if not isinstance(message, JSONRPCRequest):
            self._open.discard(getattr(message, "id", ""))
