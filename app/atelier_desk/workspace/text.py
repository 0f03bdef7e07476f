"""Text files as they are on the disk: encoding, byte order mark, line ends and last newline survive a change."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from atelier_desk.domain.encodings import LOOKED_AT, guessed, marked
from atelier_desk.domain.errors import ToolError

_ENDS = re.compile(r"\r\n|\n|\r")
_FEEDS = re.compile(r"\r\n|\n")


@dataclass(frozen=True, slots=True)
class Text:
    """A text file.

    Attributes:
        text: with the line ends of the file.
        mark: its byte order mark, empty for most.
        guessed: nothing but its bytes says the encoding.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    guessed: bool = False

    @property
    def newline(self) -> str:
        """The line end most of its lines have; ``\\n`` for a file with none."""
        counts = {"\r\n": self.text.count("\r\n")}
        counts["\n"] = self.text.count("\n") - counts["\r\n"]
        counts["\r"] = self.text.count("\r") - counts["\r\n"]
        most = max(counts, key=lambda end: counts[end])
        return most if counts[most] and (most != "\r" or (not counts["\n"] and not counts["\r\n"])) else "\n"

    @property
    def lines(self) -> list[str]:
        """Its lines without line ends; a newline at the end begins no line of its own."""
        lines = _ENDS.split(self.text)
        return lines[:-1] if lines[-1] == "" else lines

    def with_ends(self, text: str) -> str:
        """A text for this file: its lines end as those of the file do. Unless that is ``\\r``, one within a line is data."""
        return (_ENDS if self.newline == "\r" else _FEEDS).sub(self.newline, text)

    def with_text(self, text: str) -> Text:
        return replace(self, text=text)

    def encoded(self) -> bytes:
        """The bytes of the file.

        Raises:
            ToolError: the file's encoding has no such character.
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
    """Whether bytes are no text: a zero byte near the beginning, and no mark of UTF-16 or UTF-32."""
    return marked(data) is None and b"\0" in data[:LOOKED_AT]


def decode(data: bytes) -> Text | None:
    """The text of a file: by its byte order mark, else UTF-8, else as ``domain.encodings.guessed`` says; None for a binary file."""
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
    """The lines with their ends, as ``Text.lines`` counts them."""
    return [piece for piece in re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text) if piece]
