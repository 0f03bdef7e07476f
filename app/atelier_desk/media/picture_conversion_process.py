"""Prepare an image for a model in its own process.

Input: ``[side, bytes, kinds]`` and the image.

The image is decoded completely, rotated upright, and scaled and converted if it is larger or of another type
than allowed. Output: ``{"media_type", "width", "height"}`` and the image, without bytes if it is unchanged.
Error codes: ``not_a_picture``, ``bomb``, ``broken``, ``too_large``.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from atelier_desk.domain.image_limits import JPEG, PNG
from atelier_desk.domain.limits import PICTURE_PIXELS
from atelier_desk.media.image_headers import kind_of, size_of
from atelier_desk.support.worker.child import serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.support.worker.frames import Reply

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MEMORY = 3 * 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 20
"""Seconds of CPU time."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO")
_ORIENTATION = 274
"""The EXIF tag of a camera's orientation; 1 is upright."""
_SMALL = 256 * 256
"""Pixels below which PNG is used: small drawings and icons would look worse as JPEG."""
_QUALITIES = (90, 75, 50)
_PLAIN_MODES = ("1", "L", "P", "RGB", "RGBA")
_FAULTS = (OSError, ValueError, SyntaxError, EOFError, zlib.error, KeyError, IndexError, TypeError)
"""Exceptions of Pillow's readers for damaged files."""


def made(data: bytes, side: int, most: int, kinds: Collection[str]) -> Reply:
    """The image within ``side`` pixels and ``most`` bytes, of one of the media types ``kinds``."""
    kind, size = kind_of(data), size_of(lambda offset, count: data[offset : offset + count])
    if not kind:
        raise Refused("not_a_picture")
    if size is None:
        raise Refused("broken")
    if size[0] * size[1] > PICTURE_PIXELS:  # some readers allocate the pixels when they open a file
        raise Refused("bomb")
    Image.MAX_IMAGE_PIXELS = PICTURE_PIXELS
    try:
        picture = Image.open(BytesIO(data), formats=FORMATS)
        turned = picture.getexif().get(_ORIENTATION, 1) not in (0, 1)
        picture.draft(None, (side, side))
        picture.load()
    except _FAULTS:
        raise Refused("broken") from None
    if kind in kinds and not turned and max(size) <= side and len(data) <= most and picture.mode in _PLAIN_MODES:
        return Reply({"media_type": kind, "width": size[0], "height": size[1]})
    return _converted(picture, side, most)


def _converted(picture: Picture, side: int, most: int) -> Reply:
    profile = picture.info.get("icc_profile")
    clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    try:
        shown = ImageOps.exif_transpose(picture)
        if shown.mode.startswith("I;16"):  # 16-bit scans: a plain conversion would turn nearly everything white
            shown = shown.convert("I").point(lambda value: value / 256).convert("L")
        elif shown.mode != "L":
            profile = profile if shown.mode in ("RGB", "RGBA", "P") else None  # of another colour space
            shown = shown.convert("RGBA" if clear else "RGB")
        shown.thumbnail((side, side), Image.Resampling.LANCZOS)
    except _FAULTS:
        raise Refused("broken") from None
    if clear or shown.width * shown.height < _SMALL:
        found = _saved(shown, "PNG", icc_profile=profile)
        if len(found) <= most:
            return _answer(PNG, shown, found)
    if shown.mode == "RGBA":
        ground = Image.new("RGBA", shown.size, "white")
        ground.alpha_composite(shown)
        shown = ground.convert("RGB")
    for quality in _QUALITIES:
        found = _saved(shown, "JPEG", quality=quality, icc_profile=profile)
        if len(found) <= most:
            return _answer(JPEG, shown, found)
    raise Refused("too_large")


def _saved(picture: Picture, form: str, **how: object) -> bytes:
    out = BytesIO()
    picture.info = {}  # omit comments and the camera's EXIF data
    picture.save(out, form, **how)
    return out.getvalue()


def _answer(kind: str, picture: Picture, data: bytes) -> Reply:
    return Reply({"media_type": kind, "width": picture.width, "height": picture.height}, data)


if __name__ == "__main__":
    serve(lambda request, data, _tell: made(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
