"""Images with many pages, and oversized ones, without Tesseract itself."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from atelier_desk.media import ocr
from atelier_desk.support.worker.errors import Refused
from tests.media.image_header_samples import TIFF_4_GB, WEBP_HUGE


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    sizes: list[tuple[int, int]] = []

    def tesseract(picture: Any, languages: str) -> dict[str, Any]:
        sizes.append(picture.size)
        return {"text": f"text {len(sizes)}", "confidence": 90, "by": "tesseract"}

    monkeypatch.setattr(ocr, "_tesseract", tesseract)
    return sizes


def pages(*sizes: tuple[int, int], form: str = "TIFF", **options: Any) -> bytes:
    out = BytesIO()
    made = [Image.effect_noise(size, 60) for size in sizes]
    made[0].save(out, form, save_all=True, append_images=made[1:], **options)
    return out.getvalue()


def test_the_first_pages_of_a_tiff_are_read_and_the_rest_is_reported(seen: list[tuple[int, int]]) -> None:
    found = ocr.text_of(pages(*[(40, 30)] * 3, compression="tiff_lzw"), "eng")
    assert (found["pages"], found.get("more"), found["text"][:23]) == (3, None, "--- Page 1 ---\ntext 1\n\n")
    found = ocr.text_of(pages(*[(40, 30)] * (ocr.PAGES + 2)), "eng")
    assert (found["pages"], found["more"], len(seen)) == (ocr.PAGES, True, 3 + ocr.PAGES)


def test_the_limit_applies_to_each_page(seen: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "PIXELS", 5_000)
    found = ocr.text_of(pages((40, 30), (400, 300), (40, 30)), "eng")
    assert (found["text"], found["more"], len(seen)) == ("text 1", True, 1)
    with pytest.raises(Refused, match="bomb"):
        ocr.text_of(pages((400, 300)), "eng")


def test_a_cyclic_chain_of_pages_ends(seen: list[tuple[int, int]]) -> None:
    data = bytearray(pages((40, 30), (40, 30)))
    (first,) = struct.unpack_from("<I", data, 4)
    (second,) = struct.unpack_from("<I", data, first + 2 + 12 * struct.unpack_from("<H", data, first)[0])
    struct.pack_into("<I", data, second + 2 + 12 * struct.unpack_from("<H", data, second)[0], first)
    found = ocr.text_of(bytes(data), "eng")
    assert len(seen) <= ocr.PAGES
    assert found["confidence"] == 90


def test_the_first_frame_of_an_animation_is_read(seen: list[tuple[int, int]]) -> None:
    for form in ("GIF", "WEBP"):
        found = ocr.text_of(pages(*[(40, 30)] * 4, form=form), "eng")
        assert (found["more"], found["width"]) == (True, 40)
    assert len(seen) == 2


@pytest.mark.parametrize(
    "data", [TIFF_4_GB, WEBP_HUGE, b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + struct.pack(">II", 50_000, 50_000) + b"\0" * 40]
)
def test_an_image_that_declares_a_huge_size_is_not_opened(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "open", None)
    with pytest.raises(Refused, match="bomb"):
        ocr.text_of(data, "eng")
