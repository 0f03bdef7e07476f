"""Small images, and files that only look like images."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from PIL import Image


def png(width: int = 2, height: int = 2, *, claims: tuple[int, int] | None = None) -> bytes:
    """A valid PNG of one colour; ``claims`` is another size for its header."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", *(claims or (width, height)), 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\x20\x80\xc0" * width for _row in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def picture(form: str, width: int = 30, height: int = 20, *, mode: str = "RGB", orientation: int = 0) -> bytes:
    """A valid image in one of Pillow's formats, half coloured; ``orientation`` goes into EXIF."""
    made = Image.new(mode, (width, height))
    made.paste((200,) * len(made.getbands()), (0, 0, width // 2, height))
    out, exif = BytesIO(), Image.Exif()
    if orientation:
        exif[274] = orientation
    made.save(out, form, **({"exif": exif} if orientation else {}))
    return out.getvalue()


def broken_inside(width: int = 64, height: int = 64) -> bytes:
    """A PNG with intact header and end, and damaged pixels."""
    whole = png(width, height)
    at = whole.index(b"IDAT") + 4
    return whole[: at + 8] + b"\xff" * 8 + whole[at + 16 :]


def jpeg_header(width: int, height: int) -> bytes:
    """Beginning and end of a JPEG, with an application segment before its frame header."""
    segment = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + bytes(10)
    return b"\xff\xd8" + segment + frame + b"\xff\xd9"


def gif_header(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(8) + b"\x3b"


def webp_header(width: int, height: int) -> bytes:
    body = (
        b"WEBPVP8X"
        + struct.pack("<I", 10)
        + bytes(4)
        + (width - 1).to_bytes(3, "little")
        + (height - 1).to_bytes(3, "little")
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body
