"""``read_image`` and ``list_images``."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from atelier_desk.presentation import call_failure_text
from atelier_desk.support.worker.errors import Failed
from atelier_desk.support.worker.frames import Reply
from atelier_desk.tools.media import image_text_and_listing
from tests.media.image_header_samples import TIFF_4_GB
from tests.tools.conftest import Calls

FONT = next((Path(__file__).parents[3] / "resources" / "fonts").glob("Inter*"))


def written(path: Path, *lines: str) -> None:
    picture = Image.new("RGB", (760, 20 + 60 * len(lines)), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((20, 20 + 60 * number), line, fill="black", font=ImageFont.truetype(FONT, 28))
    picture.save(path)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


async def test_french_and_english_text_is_recognised_without_a_network(call: Calls, ws: Path) -> None:
    written(ws / "a.png", "Noël à la plage, déjà vu", "Invoice 2026-11: total 42.50")
    data = await call("read_image", path="a.png")
    assert data["text"].split("\n\n" if "\n\n" in data["text"] else "\n") == [
        "Noël à la plage, déjà vu",
        "Invoice 2026-11: total 42.50",
    ]
    assert (data["by"], data["width"], data["confidence"] > 70) == ("tesseract", 760, True)


async def test_a_bomb_a_truncated_file_and_a_file_that_is_no_image_are_refused(call: Calls, ws: Path) -> None:
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0))
    (ws / "bomb.png").write_bytes(head + chunk(b"IDAT", zlib.compress(b"\0" * 50_000)) + chunk(b"IEND", b""))
    written(ws / "torn.png", "some words that are torn off")
    whole = (ws / "torn.png").read_bytes()
    (ws / "torn.png").write_bytes(whole[: len(whole) // 2])
    (ws / "text.png").write_text("no picture")
    codes = {
        name: (await call("read_image", path=name))["code"] for name in ("bomb.png", "torn.png", "text.png", "none.png")
    }
    assert codes == {
        "bomb.png": "too_large",
        "torn.png": "broken",
        "text.png": "not_a_picture",
        "none.png": "not_found",
    }
    assert (await call("read_image", path="text.png", language="deu"))["code"] in ("language", "not_a_picture")


async def test_without_ocr_the_install_command_is_named(call: Calls, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask_once(*args: object, **options: object) -> Reply:
        raise Failed("no_ocr", code="no_ocr")

    monkeypatch.setattr(image_text_and_listing, "ask_once", ask_once)
    written(ws / "a.png", "some words")
    data = await call("read_image", path="a.png")
    assert data["code"] == "no_ocr"
    for text in (data["error"], call_failure_text._BY_CODE["no_ocr"]):
        assert "make run EXTRAS=ocr" in text
        assert "macOS 15" in text


async def test_images_are_listed_with_their_sizes(call: Calls, ws: Path) -> None:
    (ws / "shots").mkdir()
    Image.new("RGB", (30, 20)).save(ws / "shots" / "a.jpg")
    Image.new("RGB", (10, 10)).save(ws / "b.png")
    (ws / "c.png").write_text("broken")
    with (ws / "e.tif").open("wb") as file:  # it declares a description of 4 GB
        file.write(TIFF_4_GB)
        file.truncate(4 << 30)
    (ws / "d.txt").write_text("text")
    data = await call("list_images")
    assert {row["path"]: (row.get("width"), row.get("height")) for row in data["images"]} == {
        "shots/a.jpg": (30, 20), "b.png": (10, 10), "c.png": (None, None), "e.tif": (60_000, 50_000),
    }  # fmt: skip
    assert [row["path"] for row in (await call("list_images", recursive=False, pattern="b*"))["images"]] == ["b.png"]
