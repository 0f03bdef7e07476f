"""Incrementally decode streamed bodies: lines, server-sent events and lines of JSON.

Bytes may be split anywhere, even inside a character; the output does not depend on it. Event format:
https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

MAX_LINE = 16 * 1024 * 1024
"""Maximum characters of a line, or of one event's data, before the stream counts as broken."""


class LineTooLongError(ValueError):
    """A line or event exceeded ``MAX_LINE``."""


class LineDecoder:
    """Splits bytes into lines that end with LF, CR LF or CR. Invalid UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._parts: list[str] = []
        self._length = 0
        self._skip_lf = False
        self._first = True

    def feed(self, data: bytes) -> list[str]:
        """Return the lines completed by this piece, without line ends.

        Raises:
            LineTooLongError: a line is too long.
        """
        return self._split(self._utf8.decode(data))

    def flush(self) -> list[str]:
        """Return the last line, if the body did not end with a line end."""
        lines = self._split(self._utf8.decode(b"", final=True))
        if self._parts:
            lines.append("".join(self._parts))
            self._parts, self._length = [], 0
        return lines

    def _split(self, text: str) -> list[str]:
        if not text:
            return []
        if self._first:  # an optional byte order mark is not part of the stream
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
    """Decodes ``text/event-stream``: comments, ids, retry hints and events without data are skipped."""

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._name = ""
        self._data: list[str] = []
        self._length = 0

    def feed(self, data: bytes) -> list[Event]:
        """Return the events completed by this piece."""
        return self._events(self._lines.feed(data))

    def flush(self) -> list[Event]:
        """Return the last event, if the body ended without the empty line after it.

        The standard drops such an event; some servers omit the last empty line, and a cut event fails to parse later.
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
