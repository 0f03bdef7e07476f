"""Frames on the pipes: two lengths, a JSON array ``[number, kind, value]``, and bytes.

Requests have a number and the kind ``ask``. Answers have their request's number: ``more`` any number of
times, then ``done``, ``failed`` (an error) or ``memory`` (the process ends). ``ready`` is sent once, before
any request is read.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

HEAD = struct.Struct(">II")
"""Length of the JSON text and of the data, in bytes."""


class Reply(NamedTuple):
    """A value that JSON can represent, and bytes."""

    value: Any
    data: bytes = b""


def packed(number: int, kind: str, reply: Reply) -> bytes:
    """Encode a frame. Values JSON cannot represent become their ``str``, lone surrogates ``?``."""
    text = json.dumps((number, kind, reply.value), ensure_ascii=False, default=str).encode("utf-8", "replace")
    return HEAD.pack(len(text), len(reply.data)) + text + reply.data
