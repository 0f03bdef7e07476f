"""What the first bytes of a picture say of it. Nothing is decoded: a picture of 50 000 × 50 000 pixels may be a file of a few bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from atelier_desk.domain.errors import UsageError
from atelier_desk.i18n import N_


@dataclass(frozen=True, slots=True)
class Picture:
    """``width`` and ``height`` in pixels; ``whole`` is false for a file whose end is missing."""

    media_type: str
    width: int
    height: int
    whole: bool


def picture_of(name: str, data: bytes) -> Picture | None:
    """A picture of a kind that model servers take (PNG, JPEG, GIF, WebP), None for any other file.

    Raises:
        UsageError: it begins as one and has no size.
    """
    try:
        found = _found(data)
    except (struct.error, IndexError):
        found = Picture("", 0, 0, False)
    if found is not None and not (found.width and found.height):
        raise UsageError(N_("The picture {name} is damaged."), name=name)
    return found


def _found(data: bytes) -> Picture | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = struct.unpack(">II", data[16:24])
        return Picture("image/png", width, height, b"IEND" in data[-64:])
    if data.startswith(b"\xff\xd8\xff"):
        # Cameras put previews and numbers behind the end mark.
        return Picture("image/jpeg", *_jpeg(data), whole=b"\xff\xd9" in data[-max(64, len(data) // 2) :])
    if data[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack("<HH", data[6:10])
        return Picture("image/gif", width, height, b"\x3b" in data[-16:])
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        (size,) = struct.unpack("<I", data[4:8])
        return Picture("image/webp", *_webp(data), whole=len(data) >= size + 8)
    return None


def _jpeg(data: bytes) -> tuple[int, int]:
    """Width and height, from the first frame header; none are (0, 0)."""
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return 0, 0
        mark = data[at + 1]
        if mark == 0xFF or mark == 0x01 or 0xD0 <= mark <= 0xD8:
            at += 1 if mark == 0xFF else 2
            continue
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        at += 2 + max(2, length)
    return 0, 0


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack("<I", data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return 0, 0
