"""The characters of a file: by its byte order mark, else UTF-8, else Windows-1252, else guessed."""

from __future__ import annotations

import re

from atelier_desk.domain.encodings import LOOKED_AT, marked

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_WESTERN = re.compile(r"[\x80-\x9f]|[^\W\d_a-zA-Z]{4,}")
"""What Windows-1252 makes of another alphabet: long runs of accented letters."""


def is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is of no text: a zero byte without a mark of UTF-16 or UTF-32, or many control characters."""
    head = head[:LOOKED_AT]
    if marked(head):
        return False
    return b"\0" in head or len(_CONTROL.findall(head)) * 20 > len(head)


def decode(data: bytes) -> str:
    """The text of a file without its mark. Never fails: what is no character becomes U+FFFD.

    Windows-1252 comes before guessing, which reads French in it as another language; it is left when its letters make no words.
    """
    if found := marked(data):
        mark, encoding = found
        return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return _guessed(data)
    return _guessed(data) if _WESTERN.search(text) else text


def _guessed(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:65_536], threshold=0.3).best()
    encoding = best.encoding if best is not None else "cp1252"
    return data.decode(encoding, "replace")
