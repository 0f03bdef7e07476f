"""Detect text encodings."""

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
"""Byte order marks; UTF-32's begins with UTF-16's."""
SAMPLE_BYTES = 8_192
"""Bytes checked for a zero byte, which makes a file binary, as in git."""


def marked(data: bytes) -> tuple[bytes, str] | None:
    """Return a file's byte order mark and encoding; None without one."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), None)


_GUESSED_FROM = 65_536
"""Bytes used to guess an encoding."""
_FEW = 8
_WESTERN = re.compile(r"[\x00-\x7fÀ-ÖØ-öø-ÿŒœŠšŽžŸ’‘“”„…–—•€£¥§©®™°±²³´µ·¹º¶»«¼½¾¿¡¢¤¦¨ª¬¯¸\xa0\xad]*")
"""Windows-1252 characters of Western texts. Shift-JIS bytes decode to ``‚`` and ``ƒ``, which are excluded."""
_ACCENTED = re.compile(r"[^\W\d_]*[^\W\d_a-zA-Z][^\W\d_]*")
_ALL_ACCENTS = re.compile(r"[^\W\d_a-zA-Z]{2,}")


def guessed(data: bytes) -> str:
    """Guess the encoding of text without a mark that is not UTF-8; decoding with the result never fails.

    Windows-1252 if that gives words of Western languages: French and German texts are too short for statistics and
    would be misdetected. Otherwise by chardet's statistics; Windows-1252 or Latin-1 if nothing matches.
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
    """Whether most words with accents also contain plain letters.

    Cyrillic and Chinese decoded as Windows-1252 are all accents.
    """
    if _WESTERN.fullmatch(text) is None:
        return False
    if (strange := sum(each > "\x7f" for each in text)) > _FEW and strange > 0.6 * sum(
        not each.isspace() for each in text
    ):
        return False
    words = [word for word in _ACCENTED.findall(text[:_GUESSED_FROM]) if len(word) > 1]
    return not words or 2 * sum(1 for word in words if _ALL_ACCENTS.fullmatch(word)) < len(words)
