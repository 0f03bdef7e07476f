"""Headers of images that claim to be large."""

from __future__ import annotations

import struct

TIFF_4_GB = struct.pack("<2sHIH", b"II", 42, 8, 3) + b"".join(
    struct.pack("<HHII", *tag) for tag in ((256, 4, 1, 60_000), (257, 3, 1, 50_000), (270, 2, 0xFFFFFFF0, 99))
)
"""A TIFF that declares a description of 4 GB."""

WEBP_HUGE = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0" + (16_382).to_bytes(3, "little") * 2
