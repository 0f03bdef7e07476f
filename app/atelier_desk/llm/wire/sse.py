"""Incremental decoding of streamed bodies: lines, server-sent events and lines of JSON.

Bytes come in pieces cut anywhere, even inside a character; what comes out never depends on where they were cut.
Format of events: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

MAX_LINE = 16 * 1024 * 1024
"""Characters a line, or the data of one event, may have before the stream is taken for broken."""


class LineTooLongError(ValueError):
    """A line or an event went over ``MAX_LINE``."""


class LineDecoder:
    """Splits bytes into lines that end with LF, CR LF or CR. Bytes that are not UTF-8 become U+FFFD."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._parts: list[str] = []
        self._length = 0
        self._skip_lf = False
        self._first = True

    def feed(self, data: bytes) -> list[str]:
        """The lines this piece completes, without their ends.

        Raises:
            LineTooLongError: a line has no end for too long.
        """
        return self._split(self._utf8.decode(data))

    def flush(self) -> list[str]:
        """The last line, when the body did not end with a line end."""
        lines = self._split(self._utf8.decode(b"", final=True))
        if self._parts:
            lines.append("".join(self._parts))
            self._parts, self._length = [], 0
        return lines

    def _split(self, text: str) -> list[str]:
        if not text:
            return []
        if self._first:  # a byte order mark may precede the stream and is not part of it
            self._first = False
            text = text.removeprefix("\ufeff")
        if self._skip_lf and text:
            self._skip_lf = False
            text = text.removeprefix("\n")
        if not text:
            return []
        self._skip_lf = text.endswith("\r")
        pieces = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        lines = []
        for piece in pieces[:-1]:
            lines.append("".join([*self._parts, piece]))
            self._parts, self._length = [], 0
        if pieces[-1]:
            self._parts.append(pieces[-1])
            self._length += len(pieces[-1])
        if self._length > MAX_LINE:
            raise LineTooLongError
        return lines


class Event(NamedTuple):
    """One server-sent event: its name (``message`` by default) and its data lines joined by LF."""

    name: str
    data: str


class EventDecoder:
    """Decodes ``text/event-stream``: comments, ids and retry hints are skipped, events without data too."""

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._name = ""
        self._data: list[str] = []
        self._length = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events this piece completes."""
        return self._events(self._lines.feed(data))

    def flush(self) -> list[Event]:
        """The last event, when the body ended without the empty line that should follow it.

        The standard drops such an event; servers that forget the last empty line exist, and a cut event does not parse later on.
        """
        return self._events([*self._lines.flush(), ""])

    def _events(self, lines: list[str]) -> list[Event]:
        events = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(Event(self._name or "message", "\n".join(self._data)))
                self._name, self._data, self._length = "", [], 0
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                self._data.append(value)
                self._length += len(value)
                if self._length > MAX_LINE:
                    raise LineTooLongError
            elif field == "event":
                self._name = value
        return events
