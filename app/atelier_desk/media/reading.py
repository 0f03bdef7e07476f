"""The text of a picture (OCR), by a process of its own: ``python -P -m atelier_desk.media.reading LANGUAGES < picture``.

What it writes is JSON: ``{"text", "confidence", "width", "height", "by"}``, of several
pages ``pages`` as well, and ``more`` when not all were read; or ``{"error": code}`` with a code of ``not_a_picture``,
``bomb``, ``no_ocr``, ``language``, ``broken``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from atelier_desk.media.heads import size_of

MEMORY = 3 * 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 60
"""Of a processor."""
PIXELS = 50_000_000
"""Of a picture that is unpacked."""
PAGES = 10
"""Of a TIFF that are read."""
PAGES_S = 40.0
"""Seconds of a processor after which no further page is begun."""
SIDE = 6_000
"""Pixels of the longer side beyond which a picture is made smaller first: letters of pages that were scanned are large enough then."""
SMALL = 1_000
"""Below it a picture is doubled: Tesseract wants letters of some 20 pixels."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")


def languages_dir() -> Path:
    """Where the data of languages lie: French and English come with the program."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "_resources"
    return (packaged if packaged.is_dir() else package.parents[1] / "resources") / "tessdata"


def text_of(data: bytes, languages: str) -> dict[str, Any]:
    """What a picture says; of a TIFF what its first pages say. Each page is held against the limits before it is unpacked."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = PIXELS
    try:
        said = size_of(lambda offset, count: data[offset : offset + count])
        if said is not None and said[0] * said[1] > PIXELS:  # some readers make room for the pixels as soon as they open a file
            return {"error": "bomb", "width": said[0], "height": said[1]}
        picture = Image.open(BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        return {"error": "bomb"}
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return {"error": "not_a_picture"}
    pages: list[dict[str, Any]] = []
    begun = time.process_time()
    for number in range(PAGES if picture.format == "TIFF" else 1):
        if number and (time.process_time() - begun > PAGES_S or not _turned(picture, number)):
            break
        found = _page(picture, languages)
        if "error" in found:
            if pages:
                break
            return found
        pages.append(found)
    first = pages[0]
    more = _turned(picture, len(pages))
    if len(pages) == 1:
        return {**first, **({"more": True} if more else {})}
    text = "\n\n".join(f"--- Page {number} ---\n{each['text']}" for number, each in enumerate(pages, 1))
    sure = round(sum(each["confidence"] for each in pages) / len(pages))
    return {**first, "text": text.strip(), "confidence": sure, "pages": len(pages), **({"more": True} if more else {})}


def _turned(picture: Any, number: int) -> bool:
    """Go to a page; False when there is none. How many there are is not asked: the chain of them may be without end."""
    try:
        picture.seek(number)
    except (EOFError, OSError, ValueError, SyntaxError, KeyError, TypeError):
        return False
    return True


def _page(picture: Any, languages: str) -> dict[str, Any]:
    from PIL import Image, ImageOps

    width, height = picture.size
    if width * height > PIXELS:
        return {"error": "bomb", "width": width, "height": height}
    try:
        picture.draft("L", (SIDE, SIDE))
        upright = ImageOps.exif_transpose(picture)
        if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
            ground = Image.new("RGBA", upright.size, "white")
            ground.alpha_composite(upright.convert("RGBA"))
            upright = ground
        grey = upright.convert("L")
    except (OSError, ValueError, SyntaxError, EOFError):
        return {"error": "broken"}
    longest = max(grey.size)
    if longest > SIDE:
        grey.thumbnail((SIDE, SIDE))
    elif longest < SMALL:
        grey = grey.resize((grey.width * 2, grey.height * 2), Image.Resampling.LANCZOS)
    found = _tesseract(grey, languages) or _rapid(grey) or {"error": "no_ocr"}
    return {**found, "width": width, "height": height}


def _tesseract(picture: Any, languages: str) -> dict[str, Any] | None:
    """By Tesseract, which its wheel brings along; None where it is not installed."""
    try:
        import tesserocr
    except ImportError:
        return None
    folder = languages_dir()
    if any(not (folder / f"{each}.traineddata").is_file() for each in languages.split("+")):
        return {"error": "language"}
    with tesserocr.PyTessBaseAPI(path=f"{folder}{os.sep}", lang=languages) as api:
        api.SetImage(picture)
        text = api.GetUTF8Text()
        return {"text": text.strip(), "confidence": max(0, int(api.MeanTextConf())), "by": "tesseract"}


def _rapid(picture: Any) -> dict[str, Any] | None:
    """By RapidOCR, where a person installed it (the extra ``rapidocr``)."""
    try:
        import numpy
        from rapidocr import RapidOCR
    except ImportError:
        return None
    found = RapidOCR()(numpy.asarray(picture.convert("RGB")))
    scores = list(found.scores or ())
    sure = round(100 * sum(scores) / len(scores)) if scores else 0
    return {"text": "\n".join(found.txts or ()), "confidence": sure, "by": "rapidocr"}


def _bound() -> None:
    os.environ["OMP_THREAD_LIMIT"] = "1"  # more threads make it slower
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def main() -> None:
    _bound()
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - RapidOCR talks
    try:
        answer = text_of(sys.stdin.buffer.read(), sys.argv[1])
    except Exception:  # whatever a broken picture makes of the libraries; also MemoryError
        answer = {"error": "broken"}
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))


if __name__ == "__main__":
    main()
