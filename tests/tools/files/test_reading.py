"""``read_file``, ``file_exists`` and ``get_file_info``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atelier_desk.domain.result_parts import PicturePart
from atelier_desk.tools.base import ToolResult
from tests.helpers.sample_images import broken_inside, png
from tests.tools.conftest import Calls


async def test_lines_are_numbered_and_pages_show_where_to_continue(call: Calls, ws: Path) -> None:
    (ws / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    data = await call("read_file", path="a.txt", offset=3, limit=2)
    assert data["content"] == "     3\tline 3\n     4\tline 4"
    assert (data["total_lines"], data["next_offset"]) == (10, 5)
    whole = await call("read_file", path="a.txt")
    assert "next_offset" not in whole
    past = await call("read_file", path="a.txt", offset=12)
    assert "10 lines" in past["error"]


async def test_long_lines_are_cut_and_long_files_are_returned_in_pages_that_fit(call: Calls, ws: Path) -> None:
    (ws / "long.txt").write_text("x" * 50_000 + "\nshort\n")
    data = await call("read_file", path="long.txt")
    assert "[48000 characters more]" in data["content"]
    assert data["content"].endswith("     2\tshort")
    (ws / "many.txt").write_text("".join(f"{'y' * 90} {n}\n" for n in range(3_000)))
    first = await call("read_file", path="many.txt")
    assert first["next_offset"] < 1_000
    second = await call("read_file", path="many.txt", offset=first["next_offset"])
    assert f"{first['next_offset']:>6}\t" in second["content"]


async def test_a_huge_file_and_one_very_long_line_are_read_page_by_page(call: Calls, ws: Path) -> None:
    path = ws / "huge.log"
    with path.open("wb") as file:
        file.write(b"first\n" + b"z" * 25_000_000 + b"\nlast\n")
        file.truncate(2 * 1024**3)
    data = await call("read_file", path="huge.log", limit=3)
    assert data["success"]
    assert data["content"].startswith("     1\tfirst\n     2\tzzz")
    assert "     3\tlast" in data["content"]
    assert data["size"] == 2 * 1024**3
    assert (await call("edit_file", path="huge.log", append="x"))["code"] == "too_large"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("déjà vu".encode("windows-1252"), "windows-1252"),
        (b"\xef\xbb\xbfmarked", None),
        ("wide é".encode("utf-16"), "utf-16-le"),
        ("plain é".encode(), None),
    ],
)
async def test_other_encodings_are_decoded(call: Calls, ws: Path, data: bytes, encoding: str | None) -> None:
    (ws / "a.txt").write_bytes(data)
    read = await call("read_file", path="a.txt")
    assert read.get("encoding", None if encoding is None else "") == (
        encoding if encoding is not None else read.get("encoding")
    )
    assert "�" not in read["content"]
    assert "\ufeff" not in read["content"]
    assert read.get("encoding_guessed", False) == (encoding == "windows-1252")


async def test_binary_files_are_described_and_not_dumped(call: Calls, ws: Path) -> None:
    (ws / "a.bin").write_bytes(bytes(range(256)) * 10)
    data = await call("read_file", path="a.bin")
    assert (data["code"], "2560 bytes" in data["error"]) == ("binary", True)
    (ws / "empty").write_bytes(b"")
    assert (await call("read_file", path="empty"))["note"] == "The file is empty."


async def test_an_image_is_shown(call: Calls, ws: Path) -> None:
    (ws / "a.png").write_bytes(png())
    result = await call.outcome("read_file", path="a.png")
    assert isinstance(result, ToolResult)
    (part,) = result.parts
    assert isinstance(part, PicturePart)
    assert part.image.media_type == "image/png"


async def test_a_damaged_image_is_an_error_and_not_shown(call: Calls, ws: Path) -> None:
    (ws / "a.png").write_bytes(broken_inside())
    assert await call("read_file", path="a.png") == {
        "success": False,
        "error": "a.png is damaged: it cannot be decoded and is not shown. Go on without it, and tell the user.",
        "code": "broken",
    }


async def test_a_missing_file_suggests_the_closest_name(call: Calls, ws: Path) -> None:
    (ws / "src").mkdir()
    (ws / "src" / "parser.py").write_text("x")
    data = await call("read_file", path="src/parsre.py")
    assert data["code"] == "not_found"
    assert "src/parser.py" in data["error"]


async def test_existence_and_details(call: Calls, ws: Path) -> None:
    (ws / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (ws / "a.txt").chmod(0o640)
    assert await call("file_exists", path="a.txt") == {"success": True, "path": "a.txt", "exists": True, "type": "file"}
    assert (await call("file_exists", path="b.txt"))["exists"] is False
    assert (await call("file_exists", path="a.txt/x"))["exists"] is False
    facts = await call("get_file_info", path="a.txt")
    assert (facts["size"], facts["permissions"], facts["line_ends"], facts["lines"]) == (10, "640", "CRLF", 2)
    assert (await call("get_file_info", path="."))["entries"] == 1


async def test_pipes_and_devices_are_refused(call: Calls, ws: Path) -> None:
    os.mkfifo(ws / "pipe")
    for path in ("pipe", "."):
        assert (await call("read_file", path=path))["code"] == "not_a_file"


async def test_without_a_folder_it_explains_how_to_grant_one(calls: Calls) -> None:
    data = await calls("read_file", path="a")
    assert data["code"] == "no_workspace"
    assert "--workspace" in data["error"]
