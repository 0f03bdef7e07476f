"""The characters of a file: by its byte order mark, else UTF-8, else guessed."""

from __future__ import annotations

import re

from atelier_desk.domain.encodings import LOOKED_AT, guessed, marked

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is of no text: a zero byte without a mark of UTF-16 or UTF-32, or many control characters."""
    head = head[:LOOKED_AT]
    if marked(head):
        return False
    return b"\0" in head or len(_CONTROL.findall(head)) * 20 > len(head)


def decode(data: bytes) -> str:
    """The text of a file without its mark. Never fails: what is no character becomes U+FFFD."""
    if found := marked(data):
        mark, encoding = found
        return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(guessed(data))
