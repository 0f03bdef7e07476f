"""How the bytes of a file say which text they are."""

from __future__ import annotations

import codecs
import re

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


_GUESSED_FROM = 65_536
"""Bytes from which an encoding is guessed."""
_FEW = 8
_WESTERN = re.compile(r"[\x00-\x7fÀ-ÖØ-öø-ÿŒœŠšŽžŸ’‘“”„…–—•€£¥§©®™°±²³´µ·¹º¶»«¼½¾¿¡¢¤¦¨ª¬¯¸\xa0\xad]*")
"""What Western texts have of Windows-1252. Bytes of Shift-JIS give its ``‚`` and ``ƒ``, which are left out."""
_ACCENTED = re.compile(r"[^\W\d_]*[^\W\d_a-zA-Z][^\W\d_]*")
_ALL_ACCENTS = re.compile(r"[^\W\d_a-zA-Z]{2,}")


def guessed(data: bytes) -> str:
    """The encoding of a text that has no mark and is not UTF-8; the text can be read in it without an error.

    Windows-1252 while it gives words of Western languages: French and German are too short for statistics and would be read as others.
    Else by the statistics of chardet; Windows-1252 or Latin-1 when nothing fits.
    """
    western = _decoded(data, "cp1252")
    if western is not None and _is_western(western):
        return "windows-1252"
    from chardet import detect

    name = detect(data[:_GUESSED_FROM])["encoding"]
    if name is not None and _decoded(data, name) is not None:
        return name.lower()
    return "windows-1252" if western is not None else "latin-1"


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _is_western(text: str) -> bool:
    """Whether most words with accents have plain letters too: Cyrillic and Chinese read as Windows-1252 are accents alone."""
    if _WESTERN.fullmatch(text) is None:
        return False
    if (strange := sum(each > "\x7f" for each in text)) > _FEW and strange > 0.6 * sum(not each.isspace() for each in text):
        return False
    words = [word for word in _ACCENTED.findall(text[:_GUESSED_FROM]) if len(word) > 1]
    return not words or 2 * sum(1 for word in words if _ALL_ACCENTS.fullmatch(word)) < len(words)
