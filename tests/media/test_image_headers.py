"""Image dimensions according to the header, whatever else the file contains."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from atelier_desk.media.image_headers import size_of

TIFF_4_GB = struct.pack("<2sHIH", b"II", 42, 8, 3) + b"".join(
    struct.pack("<HHII", *tag) for tag in ((256, 4, 1, 60_000), (257, 3, 1, 50_000), (270, 2, 0xFFFFFFF0, 99))
)
"""A TIFF that declares a description of 4 GB."""
WEBP_HUGE = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0" + (16_382).to_bytes(3, "little") * 2


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
