"""Limits on a server's messages: rate, unanswered requests, and values of one message.

A message of very many small values is a few megabytes on the wire and blocks for seconds while it is parsed,
so values are counted first.
"""

from __future__ import annotations

import asyncio

MOST_VALUES = 200_000
"""Values of one message; parsing that many takes a quarter of a second."""
MOST_ASKED = 100
"""Unanswered requests of a server; one that never reads the answers would fill the memory."""
AT_ONCE = 5_000
"""Messages accepted without delay."""
PER_S = 500
"""Messages a second after that; the sender is slowed down to it."""
LINES = 3
"""Lines of an event with one message: its type, its data and an empty line."""
_PIECE = 64 * 1024
_SMALL = 256 * 1024
"""Bytes below which a message is not counted."""


class TooManyValuesError(Exception):
    """A message has more than ``MOST_VALUES`` values."""


class ValueLimit:
    """Counts the values of JSON that arrives in pieces: the commas outside its strings.

    With ``events`` it is a stream of events, and each event is counted separately.

    Attributes:
        lines: complete lines of an event stream.
    """

    def __init__(self, *, events: bool = False) -> None:
        self._events = events
        self._count = 0
        self._in_text = False
        self._rest = b""
        self._line_begins = True
        self.lines = 0

    def feed(self, piece: bytes) -> None:
        """Count a piece. Raises ``TooManyValuesError``."""
        # Remove escaped backslashes, then escaped quotes, so that a quote ends a string; neither pair may be
        # split.
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
            # A JSON string never spans lines, so a quote in an event-stream comment hides nothing.
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
    """Count a complete message without blocking the event loop. Raises ``TooManyValuesError``."""
    if len(message) < _SMALL or message.count(b",") <= MOST_VALUES:
        return
    values = ValueLimit()
    for begin in range(0, len(message), _PIECE):
        values.feed(message[begin : begin + _PIECE])
        await asyncio.sleep(0)


class MessageRate:
    """Accepts ``AT_ONCE`` messages, then ``PER_S`` a second.

    Reading slowly makes a flooding sender wait.
    """

    def __init__(self) -> None:
        self._left = float(AT_ONCE)
        self._at = asyncio.get_running_loop().time()

    async def consume(self, messages: float = 1) -> None:
        now = asyncio.get_running_loop().time()
        self._left = min(float(AT_ONCE), self._left + (now - self._at) * PER_S) - messages
        self._at = now
        if self._left < 0:
            await asyncio.sleep(-self._left / PER_S)
