"""Output of a command: stored in a file once it is long, with head and tail in memory, and as readable text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST_LINES = 2_000
MOST_BYTES = 50 * 1024
"""Longer output (by either limit) is shown as head and tail, with the file."""
SHOWN_EACH = 12 * 1024
"""Bytes of head and of tail."""
_COLOUR = re.compile(r"\x1b\[[\d;:]*m")
"""Select graphic rendition: colours and weights (ECMA-48, 8.3.117)."""
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_](?:[^\x1b]*\x1b\\|[^\x1b\n]*)|[ "
    r"-/]+[0-~]?|[0-~])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
"""Escape sequences, complete or cut off, and all control characters except tab and line ends.

ECMA-48, 5.3 to 5.6; titles and links of xterm.
"""


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """Output for display.

    ``text`` complete, or head and tail with a line about the missing part; ``coloured``: with colour sequences.
    """

    text: str
    complete: bool
    lines: int
    coloured: str


class Output:
    """Bytes in order of arrival. ``path``: file with all of them once there are more than ``MOST_BYTES``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.lines = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None

    @property
    def long(self) -> bool:
        """Whether it is too long to be shown completely."""
        return self.size > MOST_BYTES or self.lines > MOST_LINES

    @property
    def exists(self) -> bool:
        """Whether the file exists."""
        return self.path.exists()

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.lines += data.count(b"\n")
        room = MOST_BYTES - len(self._head)
        if self._file is None and len(data) > room:
            self._open()
        if self._file is not None:
            self._file.write(data)
        self._head += data[: max(0, room)]
        self._tail += data
        del self._tail[:-MOST_BYTES]

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = self.path.open("wb")
        self.path.chmod(0o600)
        self._file.write(self._head)

    def close(self) -> None:
        """Mark the end of the output; long output stays in the file."""
        if self._file is None and self.long:
            self._open()
        if self._file is not None:
            self._file.close()

    def shown(self) -> CapturedOutput:
        """Return the text, or its head and tail."""
        if not self.long:
            text = coloured(bytes(self._head))
            return CapturedOutput(_plain(text), True, self.lines, text)
        head, tail = bytes(self._head[:SHOWN_EACH]), bytes(self._tail[-SHOWN_EACH:])
        head, tail = head[: head.rfind(b"\n") + 1] or head, tail[tail.find(b"\n") + 1 :] or tail
        # With many short lines the two would overlap: limit each to half of the shown lines.
        head, tail = (
            b"".join(head.splitlines(True)[: MOST_LINES // 2]),
            b"".join(tail.splitlines(True)[-MOST_LINES // 2 :]),
        )
        missing = self.size - len(head) - len(tail)
        # The missing part may have reset the colours of the head.
        cut = f"{coloured(head)}\x1b[m[… {missing} bytes are missing here …]\n{coloured(tail)}"
        return CapturedOutput(_plain(cut), False, self.lines, cut)

    def part(self, offset: int, most: int) -> tuple[str, int]:
        """Return text from a byte offset on, and the offset after it."""
        data = self.raw(offset, most)
        return readable(data), offset + len(data)

    def raw(self, offset: int, most: int) -> bytes:
        """Return bytes as they were printed."""
        if self._file is not None or self.exists:
            if self._file is not None and not self._file.closed:
                self._file.flush()
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(most)
        return bytes(self._head[offset : offset + most])

    def last(self, lines: int, characters: int, *, in_colour: bool = False) -> str:
        """Return the newest lines, for a card; ``in_colour`` keeps colour sequences, unless a line has to be cut."""
        newest = coloured(bytes(self._tail[-4 * characters :])).split("\n")
        while newest and not _plain(newest[-1]):
            newest.pop()
        shown = "\n".join(newest[-lines:])
        plain = _plain(shown)
        return shown if in_colour and len(plain) <= characters else plain[-characters:]


def readable(data: bytes) -> str:
    """Return text without colours and control characters; an overwritten line is what was last visible."""
    return _plain(coloured(data))


def coloured(data: bytes) -> str:
    """Return text with colour sequences and no others."""
    text = _CONTROL.sub(_only_colour, data.decode("utf-8", "replace")).replace("\r\n", "\n")
    return "\n".join(map(_written_over, text.split("\n"))) if "\r" in text else text


def _only_colour(sequence: re.Match[str]) -> str:
    return sequence[0] if _COLOUR.fullmatch(sequence[0]) else ""


def _written_over(line: str) -> str:
    """Return what an overwritten line finally shows, with its colours."""
    before, _return, last = line.rstrip("\r").rpartition("\r")
    return "".join(_COLOUR.findall(before)) + last


def _plain(coloured: str) -> str:
    return _COLOUR.sub("", coloured)
