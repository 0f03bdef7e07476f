"""How the bytes of a file say which text they are."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; that of UTF-32 begins with that of UTF-16."""
LOOKED_AT = 8_192
"""Bytes in which a zero byte makes a file binary, as git decides it."""


def marked(data: bytes) -> tuple[bytes, str] | None:
    """The byte order mark that a file begins with, and its encoding; None without one."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), None)
