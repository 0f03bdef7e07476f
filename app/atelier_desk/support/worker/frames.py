"""What goes through the pipes: the lengths of two parts, then a JSON array ``[number, kind, value]`` and bytes that belong to it.

Requests have a number and the kind ``ask``. Answers carry the number of their request: ``more`` any number of times, then ``done``,
``failed`` (the error) or ``memory`` (the process ends). ``ready`` comes once, before any request is read.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

HEAD = struct.Struct(">II")
"""The bytes of the JSON text and those of the data."""


class Reply(NamedTuple):
    """A value that JSON can write, and bytes."""

    value: Any
    data: bytes = b""


def packed(number: int, kind: str, reply: Reply) -> bytes:
    """A frame. What is no JSON in the value is written as its ``str``, half of a surrogate pair as a question mark."""
    text = json.dumps((number, kind, reply.value), ensure_ascii=False, default=str).encode("utf-8", "replace")
    return HEAD.pack(len(text), len(reply.data)) + text + reply.data
