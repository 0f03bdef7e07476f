"""Detect the encoding of a file: by byte order mark, as UTF-8, or by guessing."""

from __future__ import annotations

import re

from atelier_desk.domain.encoding_detection import SAMPLE_BYTES, guessed, marked

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is binary.

    A zero byte without a UTF-16 or UTF-32 mark, or many control characters.
    """
    head = head[:SAMPLE_BYTES]
    if marked(head):
        return False
    return b"\0" in head or len(_CONTROL.findall(head)) * 20 > len(head)


def decode(data: bytes) -> str:
    """Decode a file without its byte order mark. Never fails: invalid bytes become U+FFFD."""
    if found := marked(data):
        mark, encoding = found
        return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(guessed(data))
