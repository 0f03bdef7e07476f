"""Image dimensions according to the header, whatever else the file contains."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from atelier_desk.media.image_headers import size_of
from tests.media.image_header_samples import TIFF_4_GB, WEBP_HUGE


@pytest.mark.parametrize(
    ("form", "options"),
    [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True, "exif": b"Exif\0\0" + b"x" * 60_000}),
     ("GIF", {}), ("BMP", {}), ("TIFF", {}),
     ("TIFF", {"compression": "tiff_lzw"}), ("WEBP", {}), ("WEBP", {"lossless": True}),
     ("WEBP", {"exif": b"Exif\0\0"})],
)  # fmt: skip
def test_sizes_match_those_of_pillow(form: str, options: dict[str, Any]) -> None:
    out = BytesIO()
    Image.effect_noise((37, 23), 50).save(out, form, **options)
    data = out.getvalue()
    read: list[int] = []

    def part(offset: int, count: int) -> bytes:
        read.append(count)
        return data[offset : offset + count]

    assert size_of(part) == (37, 23)
    assert sum(read) < 7_000
    for cut in range(min(len(data), 60)):
        size_of(lambda offset, count, cut=cut: data[:cut][offset : offset + count])  # type: ignore[misc]


def test_false_lengths_are_not_read() -> None:
    assert size_of(lambda offset, count: TIFF_4_GB[offset : offset + count]) == (60_000, 50_000)
    assert size_of(lambda offset, count: WEBP_HUGE[offset : offset + count]) == (16_383, 16_383)
    assert size_of(lambda offset, count: b"\xff\xd8" + b"\xff" * 40) is None
    for text in (b"", b"no picture", b"BM" + b"\0" * 40, b"II*\0\xff\xff\xff\xff", b"\x89PNG\r\n\x1a\n" + b"\0" * 30):
        assert size_of(lambda offset, count, text=text: text[offset : offset + count]) is None  # type: ignore[misc]
