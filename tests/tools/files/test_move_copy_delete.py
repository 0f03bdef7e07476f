"""``delete_path``, ``move_file``, ``copy_file`` and ``create_directory``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.tools.calls.argument_validation import validate
from tests.helpers.error_codes import raises_code
from tests.tools.conftest import Calls


async def test_a_non_empty_folder_needs_recursive(call: Calls, ws: Path) -> None:
    (ws / "d").mkdir()
    (ws / "d" / "x").write_text("x")
    assert (await call("delete_path", path="d"))["code"] == "not_empty"
    assert (await call("delete_path", path="d", recursive=True))["success"]
    assert not (ws / "d").exists()
    assert (await call("delete_path", path="."))["code"] == "whole"


async def test_moving_overwrites_nothing_without_a_request(call: Calls, ws: Path) -> None:
    (ws / "a").write_text("a")
    (ws / "b").write_text("b")
    assert (await call("move_file", source="a", destination="b"))["code"] == "exists"
    assert (await call("move_file", source="a", destination="b", overwrite=True))["success"]
    assert (ws / "b").read_text() == "a"
    assert (await call("move_file", source="nope", destination="c"))["code"] == "not_found"


async def test_a_file_moved_to_a_folder_goes_into_it(call: Calls, ws: Path) -> None:
    (ws / "a").write_text("a")
    (ws / "d").mkdir()
    assert (await call("move_file", source="a", destination="d"))["destination"] == "d/a"
    assert (await call("copy_file", source="d/a", destination="."))["destination"] == "a"
    assert (await call("move_file", source="d", destination="d"))["success"] is False
    assert (await call("copy_file", source=".", destination="d/all"))["code"] == "into_itself"


async def test_copies_keep_permissions_and_links(call: Calls, ws: Path) -> None:
    (ws / "d").mkdir()
    (ws / "d" / "run").write_text("x")
    (ws / "d" / "run").chmod(0o755)
    (ws / "d" / "link").symlink_to("run")
    assert (await call("copy_file", source="d", destination="e"))["success"]
    assert (ws / "e" / "run").stat().st_mode & 0o777 == 0o755
    assert (ws / "e" / "link").readlink() == Path("run")


async def test_creating_a_folder_twice_is_no_error(call: Calls, ws: Path) -> None:
    assert (await call("create_directory", path="a/b"))["success"]
    assert "exists already" in (await call("create_directory", path="a/b"))["message"]
    (ws / "f").write_text("")
    assert (await call("create_directory", path="f"))["code"] == "exists"


async def test_the_approval_shows_everything_a_call_would_affect(
    call: Calls, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "d" / "e").mkdir(parents=True)
    (ws / "d" / "x").write_bytes(b"\x00" * 10)
    (ws / "d" / "e" / "y").write_text("12345")
    (ws / "note.md").write_text("one\ntwo\n")

    def seen(tool: str, **arguments: Any) -> list[tuple[str, str, str, int, int]]:
        known = call.registry.get_tool(tool)
        assert known is not None
        found = known.preview(validate(known, arguments), call.context)
        return [(each.action, each.path, each.moved_to, each.files, each.size) for each in found]

    known = call.registry.get_tool("delete_path")
    assert known is not None
    (text,) = known.preview(validate(known, {"path": "note.md"}), call.context)
    assert (text.action, text.removed, text.files) == ("deleted", 2, 0)
    assert "-two" in text.diff
    assert seen("delete_path", path="d", recursive=True) == [("deleted", "d/", "", 2, 15)]
    assert seen("move_file", source="d", destination="f") == [("moved", "d/", "f", 2, 15)]
    assert seen("copy_file", source="d", destination="f") == [("created", "f/", "", 2, 15)]
    assert seen("move_file", source="note.md", destination="d/x", overwrite=True) == [
        ("deleted", "d/x", "", 1, 10), ("moved", "note.md", "d/x", 1, 8),
    ]  # fmt: skip
    for tool, code, arguments in (
        ("delete_path", "not_empty", {"path": "d"}),
        ("move_file", "exists", {"source": "note.md", "destination": "d/x"}),
        ("copy_file", "exists", {"source": "note.md", "destination": "d/x"}),
    ):
        with raises_code(ToolError, code):
            seen(tool, **arguments)
    assert sorted(each.name for each in ws.iterdir()) == ["d", "note.md"], "nothing was touched"
    monkeypatch.setattr("atelier_desk.domain.limits.COUNTED_FILES", 1)
    assert seen("delete_path", path="d", recursive=True)[0][3] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "named"),
    [
        ("copy_file", {"source": "a", "destination": "b"}, "exists", "set overwrite"),
        ("move_file", {"source": "a", "destination": "b"}, "exists", "set overwrite"),
        ("copy_file", {"source": "a", "destination": "a"}, "same", "another destination"),
        ("copy_file", {"source": "a", "destination": "a", "overwrite": True}, "same", "another destination"),
        (
            "copy_file",
            {"source": "a", "destination": "d", "overwrite": True},
            "exists",
            "is a folder: choose another name",
        ),
        ("read_file", {"path": "d"}, "not_a_file", "list_directory"),
        ("edit_file", {"path": "d", "append": "x"}, "not_a_file", "list_directory"),
        ("write_file", {"path": "d", "content": "x"}, "not_a_file", "list_directory"),
        ("list_directory", {"path": "a"}, "not_a_folder", "read_file"),
        ("delete_path", {"path": "d"}, "not_empty", "recursive"),
    ],
)
async def test_an_error_names_the_next_call(
    call: Calls, ws: Path, tool: str, arguments: dict[str, Any], code: str, named: str
) -> None:
    (ws / "a").write_text("a")
    (ws / "b").write_text("b")
    (ws / "d" / "a").mkdir(parents=True)
    result = await call(tool, **arguments)
    assert (result["code"], named in result["error"]) == (code, True), result["error"]
