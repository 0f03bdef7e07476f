"""Files whose names are not UTF-8: the shown name opens the file, and is unique."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.support.visible_and_shortened_text import name_on_disk, readable_name
from tests.tools.conftest import Calls

NAMES = [b"top\xe9.txt", b"top\xe8.txt"]


@pytest.fixture
def odd(ws: Path) -> list[str]:
    if sys.platform != "linux":
        pytest.skip("names are text here")
    for name in NAMES:
        Path(os.fsdecode(os.fsencode(ws) + b"/" + name)).write_bytes(b"needle\n")
    return ["top⟨E8⟩.txt", "top⟨E9⟩.txt"]


async def test_shown_names_can_be_read_and_changes_are_refused_with_a_message(
    call: Calls, ws: Path, odd: list[str]
) -> None:
    listed = sanitized((await call("list_directory", path="."))["entries"])
    assert [row["name"] for row in listed] == odd
    found = sanitized((await call("search_files", pattern="needle"))["matches"])
    assert sorted(row["path"] for row in found) == odd
    globbed = sanitized(await call("glob_files", pattern="*.txt"))
    assert all(name in str(globbed) for name in odd)
    for name in odd:
        assert "needle" in str(await call("read_file", path=name))
    for tool, arguments in (
        ("edit_file", {"path": odd[1], "old_string": "needle", "new_string": "thread"}),
        ("write_file", {"path": odd[1], "content": "thread"}),
        ("delete_path", {"path": odd[1]}),
    ):
        refused = await call(tool, **arguments)
        assert (refused["code"], odd[1] in refused["error"]) == ("bad_path", True)
    assert Path(os.fsdecode(os.fsencode(ws) + b"/" + NAMES[0])).read_bytes() == b"needle\n"


@pytest.mark.parametrize("name", ["plain.txt", "été.txt", "a\udce9b\udc80", "\ud83d\udc80"])
def test_a_name_survives_being_shown(name: str) -> None:
    shown = readable_name(name)
    assert name_on_disk(shown) == name
    assert sanitized(shown).encode() == sanitized(name).encode()
