"""Read an image's size from the bytes of its header.

Nothing is decompressed, and no length in the file is trusted: an image library might read the complete file
or allocate its pixels inside this process.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

Read = Callable[[int, int], bytes]
"""``read(offset, count)``: at most ``count`` bytes from ``offset``."""
_JPEG_MARKS = 400
_TIFF_TAGS = 500
"""Segments or tags searched for the size; files of cameras have a few dozen."""
_STARTS = frozenset((0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF))
"""JPEG's frame headers (ISO 10918-1, table B.1)."""


_BMP_HEADS = frozenset((12, 16, 40, 52, 56, 64, 108, 124))
"""Valid sizes of a BMP's second header in bytes; they exclude texts that begin with "BM"."""


def kind_of(head: bytes) -> str:
    """The media type of an image by its first 18 bytes; empty for other files."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADS:
        return "image/bmp"
    if head[:4] == b"\0\0\1\0":
        return "image/x-icon"
    return "image/tiff" if head[:4] in (b"II*\0", b"MM\0*") else ""


def size_of(read: Read) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF, WebP, BMP, TIFF or icon; None if unknown."""
    head = read(0, 32)
    try:
        found = _found(head, read)
    except (struct.error, IndexError):
        return None
    return found if found is not None and min(found) > 0 else None


def _found(head: bytes, read: Read) -> tuple[int, int] | None:
    match kind_of(head):
        case "image/png":
            return _pair(">II", head, 16) if head[12:16] == b"IHDR" else None
        case "image/gif":
            return _pair("<HH", head, 6)
        case "image/jpeg":
            return _jpeg(read)
        case "image/webp":
            return _webp(head)
        case "image/bmp":
            wide, high = _pair("<HH", head, 18) if head[14] == 12 else _pair("<ii", head, 18)
            return wide, abs(high)
        case "image/tiff":
            return _tiff("<" if head[:1] == b"I" else ">", read)
        case "image/x-icon":
            return head[6] or 256, head[7] or 256
    return None


def _pair(form: str, data: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, data, at)
    return first, second


def _jpeg(read: Read) -> tuple[int, int] | None:
    at = 2
    for _mark in range(_JPEG_MARKS):
        segment = read(at, 9)
        if segment[0] != 0xFF:
            return None
        if segment[1] in _STARTS:
            high, wide = _pair(">HH", segment, 5)
            return wide, high
        at += 1 if segment[1] == 0xFF else 2 + int(struct.unpack_from(">H", segment, 2)[0])
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = int(struct.unpack_from("<I", head, 21)[0])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        wide, high = _pair("<HH", head, 26)
        return wide & 0x3FFF, high & 0x3FFF
    return None


def _tiff(order: str, read: Read) -> tuple[int, int] | None:
    (at,) = struct.unpack(order + "I", read(4, 4))
    (count,) = struct.unpack(order + "H", read(at, 2))
    sizes: dict[int, int] = {}
    rows = read(at + 2, 12 * min(count, _TIFF_TAGS))
    for start in range(0, len(rows) - 11, 12):
        tag, kind = struct.unpack_from(order + "HH", rows, start)
        if tag in (256, 257):
            sizes[tag] = int(struct.unpack_from(order + ("H" if kind == 3 else "I"), rows, start + 8)[0])
    return (sizes[256], sizes[257]) if len(sizes) == 2 else None
