"""What a person attaches by naming a file or sending it through a pipe: pictures as pictures, text framed with its name."""

from __future__ import annotations

import base64
import codecs
import re
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.chat import ImagePart, TextFile
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.engine.runs.messages import IMAGE_BYTES
from atelier_desk.i18n import N_

IMAGES = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)
"""How pictures begin: bytes, where, and the media type. These four are what model servers take."""
BYTES = max(IMAGE_BYTES * 3 // 4, limits.ATTACHED_TEXT * 4)
"""Most bytes of one file: no text within the limit and no picture a server takes has more."""
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
"""Byte order marks; that of UTF-32 begins with that of UTF-16."""
_CONTROL = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f]")
FALLBACK = "windows-1252"
"""What text without a mark is read as when it is not UTF-8: the encoding of older French and English files."""


def read(path: Path) -> ImagePart | TextFile:
    """A file as it goes with a message.

    Raises:
        UsageError: it cannot be read, or is neither a picture a model server takes nor text.
        LimitError: it is larger than any picture or text may be.
    """
    try:
        with path.open("rb") as file:
            content = file.read(BYTES + 1)
    except OSError as error:
        raise UsageError(N_("{path} cannot be read: {reason}"), path=path, reason=error.strerror or error) from None
    if len(content) > BYTES:
        raise LimitError(N_("{path} is too large to attach: at most {most} MB."), path=path, most=BYTES // 10**6)
    for start, place, media_type in IMAGES:
        if content[place : place + len(start)] == start:
            return ImagePart(media_type=media_type, data=base64.b64encode(content).decode())
    return text_file(path.name, decode(content)[0])


def text_file(name: str, text: str) -> TextFile:
    """Text under a name.

    Raises:
        UsageError: it is no text.
    """
    if binary(text):
        raise UsageError(N_("{name} is neither text nor a picture (PNG, JPEG, GIF, WebP) and cannot be attached."), name=name)
    return TextFile(name=name[: limits.ATTACHED_NAME] or "?", text=text)


def decode(content: bytes) -> tuple[str, str]:
    """Bytes as text, and the encoding they were read in. Never fails: what is no text shows by ``binary``."""
    for mark, encoding in MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace"), encoding.removesuffix("-sig")
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode(FALLBACK, "replace"), FALLBACK


def binary(text: str) -> bool:
    """Whether this was no text: it holds control characters that no text has (logs hold bells, backspaces and escapes)."""
    return _CONTROL.search(text) is not None
