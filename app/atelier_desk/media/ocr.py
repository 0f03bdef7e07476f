"""Read the text of an image (OCR) in its own process; input ``[languages]`` and the image.

Output: ``{"text", "confidence", "width", "height", "by"}``, for several pages also ``pages``, and ``more``
when not all were read. Error codes: ``not_a_picture``, ``bomb``, ``no_ocr``, ``language``, ``broken``.
"""

from __future__ import annotations

import os
import time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.media.image_headers import size_of
from atelier_desk.support.worker.child import serve
from atelier_desk.support.worker.errors import Refused

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MEMORY = 3 * 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 60
"""Seconds of CPU time."""
PIXELS = 50_000_000
"""Pixels of a decompressed image."""
PAGES = 10
"""Pages of a TIFF."""
PAGES_S = 40.0
"""Seconds of CPU time after which no further page is started."""
SIDE = 6_000
"""Pixels of the longer side above which an image is scaled down.

Letters of scanned pages stay large enough.
"""
SMALL = 1_000
"""Pixels below which an image is doubled: Tesseract needs letters of about 20 pixels."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")


def languages_dir() -> Path:
    """Folder of the language data; French and English are included."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "_resources"
    return (packaged if packaged.is_dir() else package.parents[1] / "resources") / "tessdata"


def text_of(data: bytes, languages: str) -> dict[str, Any]:
    """Read the text of an image, or of a TIFF's first pages.

    Each page's limits are checked before it is decompressed.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = PIXELS
    try:
        size = size_of(lambda offset, count: data[offset : offset + count])
        if size is not None and size[0] * size[1] > PIXELS:  # some readers allocate the pixels when they open a file
            raise Refused("bomb")
        picture = Image.open(BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        raise Refused("bomb") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        raise Refused("not_a_picture") from None
    pages: list[dict[str, Any]] = []
    started = time.process_time()
    for number in range(PAGES if picture.format == "TIFF" else 1):
        if number and (time.process_time() - started > PAGES_S or not _turned(picture, number)):
            break
        try:
            pages.append(_page(picture, languages))
        except Refused:
            if not pages:
                raise
            break
    first = pages[0]
    more = _turned(picture, len(pages))
    if len(pages) == 1:
        return {**first, **({"more": True} if more else {})}
    text = "\n\n".join(f"--- Page {number} ---\n{each['text']}" for number, each in enumerate(pages, 1))
    sure = round(sum(each["confidence"] for each in pages) / len(pages))
    return {**first, "text": text.strip(), "confidence": sure, "pages": len(pages), **({"more": True} if more else {})}


def _turned(picture: Picture, number: int) -> bool:
    """Go to a page; False when there is none.

    The page count is not read: the chain may be endless.
    """
    try:
        picture.seek(number)
    except (EOFError, OSError, ValueError, SyntaxError, KeyError, TypeError):
        return False
    return True


def _page(picture: Picture, languages: str) -> dict[str, object]:
    from PIL import Image, ImageOps

    width, height = picture.size
    if width * height > PIXELS:
        raise Refused("bomb")
    try:
        picture.draft("L", (SIDE, SIDE))
        upright = ImageOps.exif_transpose(picture)
        if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
            ground = Image.new("RGBA", upright.size, "white")
            ground.alpha_composite(upright.convert("RGBA"))
            upright = ground
        grey = upright.convert("L")
    except (OSError, ValueError, SyntaxError, EOFError):
        raise Refused("broken") from None
    longest = max(grey.size)
    if longest > SIDE:
        grey.thumbnail((SIDE, SIDE))
    elif longest < SMALL:
        grey = grey.resize((grey.width * 2, grey.height * 2), Image.Resampling.LANCZOS)
    found = _tesseract(grey, languages) or _rapid(grey)
    if found is None:
        raise Refused("no_ocr")
    return {**found, "width": width, "height": height}


def _tesseract(picture: Picture, languages: str) -> dict[str, object] | None:
    """OCR by Tesseract, which is part of its wheel; None when not installed."""
    try:
        import tesserocr
    except ImportError:
        return None
    folder = languages_dir()
    if any(not (folder / f"{each}.traineddata").is_file() for each in languages.split("+")):
        raise Refused("language")
    with tesserocr.PyTessBaseAPI(path=f"{folder}{os.sep}", lang=languages) as api:
        api.SetImage(picture)
        text = api.GetUTF8Text()
        return {"text": text.strip(), "confidence": max(0, int(api.MeanTextConf())), "by": "tesseract"}


def _rapid(picture: Picture) -> dict[str, object] | None:
    """OCR by RapidOCR, if installed (the extra ``rapidocr``)."""
    try:
        import numpy
        from rapidocr import RapidOCR
    except ImportError:
        return None
    found = RapidOCR()(numpy.asarray(picture.convert("RGB")))
    scores = list(found.scores or ())
    sure = round(100 * sum(scores) / len(scores)) if scores else 0
    return {"text": "\n".join(found.txts or ()), "confidence": sure, "by": "rapidocr"}


if __name__ == "__main__":
    os.environ["OMP_THREAD_LIMIT"] = "1"  # more threads make it slower
    serve(lambda request, data, _tell: text_of(data, *request), memory=MEMORY, cpu_s=SECONDS, once=True)
