"""What a command printed: all of it in a file once it is long, its beginning and end at hand, and as a text that can be read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST_LINES = 2_000
MOST_BYTES = 50 * 1024
"""Output longer than either is shown by its head and tail, with the file."""
SHOWN_EACH = 12 * 1024
"""Bytes of head and of tail."""
_COLOUR = re.compile(r"\x1b\[[\d;:]*m")
"""Select graphic rendition: colours and weights (ECMA-48, 8.3.117)."""
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_](?:[^\x1b]*\x1b\\|[^\x1b\n]*)|[ -/]+[0-~]?|[0-~])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
"""Escape sequences, whole or cut off (ECMA-48, 5.3 to 5.6; titles and links of xterm), and all control characters but tab and the ends of
lines."""


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """Output as it is handed on: ``text`` whole, or head and tail with a line between that says what is missing; ``coloured`` is the same
    with the sequences of its colours."""

    text: str
    whole: bool
    lines: int
    coloured: str


class Output:
    """Bytes in the order they came. ``path`` is where all of them are kept once there are more than ``MOST_BYTES``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.lines = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None

    @property
    def long(self) -> bool:
        """Whether it is too long to be shown whole."""
        return self.size > MOST_BYTES or self.lines > MOST_LINES

    @property
    def kept(self) -> bool:
        """Whether the file is there."""
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
        """Nothing comes any more; what is long stays in the file."""
        if self._file is None and self.long:
            self._open()
        if self._file is not None:
            self._file.close()

    def shown(self) -> CapturedOutput:
        """The text, or its head and tail."""
        if not self.long:
            whole = coloured(bytes(self._head))
            return CapturedOutput(_plain(whole), True, self.lines, whole)
        head, tail = bytes(self._head[:SHOWN_EACH]), bytes(self._tail[-SHOWN_EACH:])
        head, tail = head[: head.rfind(b"\n") + 1] or head, tail[tail.find(b"\n") + 1 :] or tail
        # Of many short lines the two would meet: each has half of the lines that are shown, too.
        head, tail = b"".join(head.splitlines(True)[: MOST_LINES // 2]), b"".join(tail.splitlines(True)[-MOST_LINES // 2 :])
        missing = self.size - len(head) - len(tail)
        # What stands between may have ended the colours of the head.
        cut = f"{coloured(head)}\x1b[m[… {missing} bytes are missing here …]\n{coloured(tail)}"
        return CapturedOutput(_plain(cut), False, self.lines, cut)

    def part(self, offset: int, most: int) -> tuple[str, int]:
        """Text from a byte on, and the byte after it."""
        data = self.raw(offset, most)
        return readable(data), offset + len(data)

    def raw(self, offset: int, most: int) -> bytes:
        """Bytes as they were printed."""
        if self._file is not None or self.kept:
            if self._file is not None and not self._file.closed:
                self._file.flush()
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(most)
        return bytes(self._head[offset : offset + most])

    def last(self, lines: int, characters: int, *, in_colour: bool = False) -> str:
        """The newest lines, for a card; ``in_colour`` with the sequences of their colours, unless a line is too long to be shown whole."""
        newest = coloured(bytes(self._tail[-4 * characters :])).split("\n")
        while newest and not _plain(newest[-1]):
            newest.pop()
        shown = "\n".join(newest[-lines:])
        plain = _plain(shown)
        return shown if in_colour and len(plain) <= characters else plain[-characters:]


def readable(data: bytes) -> str:
    """Text without colours and control characters; of a line that was written over, what stood there last."""
    return _plain(coloured(data))


def coloured(data: bytes) -> str:
    """The same with the sequences of its colours, and no others."""
    text = _CONTROL.sub(_only_colour, data.decode("utf-8", "replace")).replace("\r\n", "\n")
    return "\n".join(map(_written_over, text.split("\n"))) if "\r" in text else text


def _only_colour(sequence: re.Match[str]) -> str:
    return sequence[0] if _COLOUR.fullmatch(sequence[0]) else ""


def _written_over(line: str) -> str:
    """What a line ends with, in the colours that were chosen before."""
    before, _return, last = line.rstrip("\r").rpartition("\r")
    return "".join(_COLOUR.findall(before)) + last


def _plain(coloured: str) -> str:
    return _COLOUR.sub("", coloured)
