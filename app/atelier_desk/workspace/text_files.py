"""Text files that keep encoding, byte order mark, line ends and final newline through edits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from atelier_desk.domain.encoding_detection import SAMPLE_BYTES, guessed, marked
from atelier_desk.domain.errors import ToolError

_ENDS = re.compile(r"\r\n|\n|\r")
_FEEDS = re.compile(r"\r\n|\n")


@dataclass(frozen=True, slots=True)
class Text:
    """A text file.

    Attributes:
        text: with the file's line ends.
        mark: its byte order mark, usually empty.
        guessed: the encoding was guessed from the bytes.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    guessed: bool = False

    @property
    def newline(self) -> str:
        r"""Most frequent line end; ``\\n`` if there is none."""
        counts = {"\r\n": self.text.count("\r\n")}
        counts["\n"] = self.text.count("\n") - counts["\r\n"]
        counts["\r"] = self.text.count("\r") - counts["\r\n"]
        most = max(counts, key=lambda end: counts[end])
        return most if counts[most] and (most != "\r" or (not counts["\n"] and not counts["\r\n"])) else "\n"

    @property
    def lines(self) -> list[str]:
        """Its lines without line ends; a final newline does not begin another line."""
        lines = _ENDS.split(self.text)
        return lines[:-1] if lines[-1] == "" else lines

    def with_ends(self, text: str) -> str:
        r"""Convert a text to the file's line ends. Unless that is ``\\r``, a carriage return within a line is data."""
        return (_ENDS if self.newline == "\r" else _FEEDS).sub(self.newline, text)

    def with_text(self, text: str) -> Text:
        return replace(self, text=text)

    def encoded(self) -> bytes:
        """Return the bytes of the file.

        Raises:
            ToolError: the encoding lacks a character.
        """
        try:
            return self.mark + self.text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise ToolError(
                "The file is written in {encoding}, which has no {letter}. Use other characters.",
                code="encoding",
                encoding=self.encoding,
                letter=repr(error.object[error.start]),
            ) from error


def is_binary(data: bytes) -> bool:
    """Whether bytes are binary: a zero byte near the beginning without a UTF-16 or UTF-32 mark."""
    return marked(data) is None and b"\0" in data[:SAMPLE_BYTES]


def decode(data: bytes) -> Text | None:
    """Decode a file: by byte order mark, as UTF-8, or as guessed by ``encoding_detection``; None if binary."""
    if found := marked(data):
        mark, encoding = found
        try:
            return Text(data[len(mark) :].decode(encoding), encoding, mark)
        except UnicodeDecodeError:
            return None
    if is_binary(data):
        return None
    try:
        return Text(data.decode(), "utf-8")
    except UnicodeDecodeError:
        encoding = guessed(data)
        return Text(data.decode(encoding), encoding, guessed=True)


def pieces(text: str) -> list[str]:
    """Return the lines with their line ends, as counted by ``Text.lines``."""
    return [piece for piece in re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text) if piece]
