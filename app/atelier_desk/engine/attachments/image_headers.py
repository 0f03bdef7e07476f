"""Read the header of an image without decoding: an image of 50 000 × 50 000 pixels may be a file of a few bytes."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.errors import UsageError
from atelier_desk.media.image_headers import kind_of, size_of
from atelier_desk.support.i18n import N_


@dataclass(frozen=True, slots=True)
class Picture:
    """``width`` and ``height`` in pixels; ``complete`` is False if the end of the file is missing."""

    media_type: str
    width: int
    height: int
    complete: bool


def picture_of(name: str, data: bytes) -> Picture | None:
    """Recognise an image (PNG, JPEG, GIF, WebP, BMP, TIFF, ICO) by its header, None for any other file.

    Raises:
        UsageError: it begins as an image but has no size.
    """
    kind = kind_of(data)
    if not kind:
        return None
    size = size_of(lambda offset, count: data[offset : offset + count])
    if size is None:
        raise UsageError(N_("The image {name} is damaged. Save or export it again."), name=name)
    return Picture(kind, *size, _is_complete(kind, data))


def _is_complete(kind: str, data: bytes) -> bool:
    match kind:
        case "image/png":
            return b"IEND" in data[-64:]
        case "image/jpeg":  # cameras append previews and data after the end mark
            return b"\xff\xd9" in data[-max(64, len(data) // 2) :]
        case "image/gif":
            return b"\x3b" in data[-16:]
        case "image/webp":
            return len(data) >= int.from_bytes(data[4:8], "little") + 8
    return True
