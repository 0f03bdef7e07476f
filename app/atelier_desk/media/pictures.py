"""A picture made ready for a model, by a process of its own: ``python -P -m atelier_desk.media.pictures SIDE BYTES KINDS < picture``.

It is decoded to its end, turned upright and, where it is larger or of another kind than allowed, scaled and converted. What is written
is JSON: ``{"media_type", "width", "height", "data"}``, ``data`` in base64 and empty when the picture can stay as it is; or
``{"error": code}`` with a code of ``not_a_picture``, ``bomb``, ``broken``, ``too_large``.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from contextlib import suppress
from io import BytesIO
from typing import Any

from atelier_desk.domain.limits import PICTURE_PIXELS
from atelier_desk.domain.pictures import JPEG, PNG
from atelier_desk.media.heads import kind_of, size_of

MEMORY = 3 * 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 20
"""Of a processor."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO")
_ORIENTATION = 274
"""The EXIF tag that says how a camera was held; 1 is upright."""
_SMALL = 256 * 256
"""Pixels below which PNG is used: flat drawings and icons would suffer from JPEG and are small anyway."""
_QUALITIES = (90, 75, 50)
_PLAIN_MODES = ("1", "L", "P", "RGB", "RGBA")
_FAULTS = (OSError, ValueError, SyntaxError, EOFError, zlib.error, KeyError, IndexError, TypeError)
"""What Pillow's readers raise for broken files."""


def made(data: bytes, side: int, most: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    """The picture as it may be sent: no longer than ``side`` pixels, ``most`` bytes, of one of these kinds."""
    from PIL import Image

    kind, said = kind_of(data), size_of(lambda offset, count: data[offset : offset + count])
    if not kind:
        return {"error": "not_a_picture"}
    if said is None:
        return {"error": "broken"}
    if said[0] * said[1] > PICTURE_PIXELS:  # some readers make room for the pixels as soon as they open a file
        return {"error": "bomb"}
    Image.MAX_IMAGE_PIXELS = PICTURE_PIXELS
    try:
        picture = Image.open(BytesIO(data), formats=FORMATS)
        turned = picture.getexif().get(_ORIENTATION, 1) not in (0, 1)
        picture.draft(None, (side, side))
        picture.load()
    except _FAULTS:
        return {"error": "broken"}
    if kind in kinds and not turned and max(said) <= side and len(data) <= most and picture.mode in _PLAIN_MODES:
        return {"media_type": kind, "width": said[0], "height": said[1], "data": ""}
    return _converted(picture, side, most)


def _converted(picture: Any, side: int, most: int) -> dict[str, Any]:
    from PIL import Image, ImageOps

    profile = picture.info.get("icc_profile")
    clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    try:
        shown = ImageOps.exif_transpose(picture)
        if shown.mode.startswith("I;16"):  # scans of 16 bits: a plain conversion would make all but black white
            shown = shown.convert("I").point(lambda value: value / 256).convert("L")
        elif shown.mode != "L":
            profile = profile if shown.mode in ("RGB", "RGBA", "P") else None  # one of another colour space would be wrong now
            shown = shown.convert("RGBA" if clear else "RGB")
        shown.thumbnail((side, side), Image.Resampling.LANCZOS)
    except _FAULTS:
        return {"error": "broken"}
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
    return {"error": "too_large"}


def _saved(picture: Any, form: str, **how: Any) -> bytes:
    out = BytesIO()
    picture.info = {}  # a comment or the EXIF of the camera does not go along
    picture.save(out, form, **how)
    return out.getvalue()


def _answer(kind: str, picture: Any, data: bytes) -> dict[str, Any]:
    return {"media_type": kind, "width": picture.width, "height": picture.height, "data": base64.b64encode(data).decode()}


def main() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    side, most, kinds = sys.argv[1:4]
    try:
        answer = made(sys.stdin.buffer.read(), int(side), int(most), tuple(kinds.split(",")))
    except Exception:  # whatever a broken picture makes of the libraries; also MemoryError
        answer = {"error": "broken"}
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))


if __name__ == "__main__":
    main()
