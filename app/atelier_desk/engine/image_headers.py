"""What the first bytes of a picture say of it. Nothing is decoded: a picture of 50 000 × 50 000 pixels may be a file of a few bytes."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.errors import UsageError
from atelier_desk.media.image_headers import kind_of, size_of
from atelier_desk.support.i18n import N_


@dataclass(frozen=True, slots=True)
class Picture:
    """``width`` and ``height`` in pixels; ``whole`` is false for a file whose end is missing."""

    media_type: str
    width: int
    height: int
    whole: bool


def picture_of(name: str, data: bytes) -> Picture | None:
    """A picture (PNG, JPEG, GIF, WebP, BMP, TIFF, ICO) by its head, None for any other file.

    Raises:
        UsageError: it begins as one and has no size.
    """
    kind = kind_of(data)
    if not kind:
        return None
    size = size_of(lambda offset, count: data[offset : offset + count])
    if size is None:
        raise UsageError(N_("The picture {name} is damaged."), name=name)
    return Picture(kind, *size, _whole(kind, data))


def _whole(kind: str, data: bytes) -> bool:
    match kind:
        case "image/png":
            return b"IEND" in data[-64:]
        case "image/jpeg":  # cameras put previews and numbers behind the end mark
            return b"\xff\xd9" in data[-max(64, len(data) // 2) :]
        case "image/gif":
            return b"\x3b" in data[-16:]
        case "image/webp":
            return len(data) >= int.from_bytes(data[4:8], "little") + 8
    return True
