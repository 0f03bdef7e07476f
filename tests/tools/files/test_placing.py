"""``delete_path``, ``move_file``, ``copy_file`` and ``create_directory``."""

from __future__ import annotations

from pathlib import Path

from tests.tools.conftest import Calls


async def test_a_folder_that_is_not_empty_needs_recursive(call: Calls, ws: Path) -> None:
    (ws / "d").mkdir()
    (ws / "d" / "x").write_text("x")
    assert (await call("delete_path", path="d"))["code"] == "not_empty"
    assert (await call("delete_path", path="d", recursive=True))["success"]
    assert not (ws / "d").exists()
    assert (await call("delete_path", path="."))["code"] == "whole"


async def test_moving_never_takes_another_s_place_unasked(call: Calls, ws: Path) -> None:
    (ws / "a").write_text("a")
    (ws / "b").write_text("b")
    assert (await call("move_file", source="a", destination="b"))["code"] == "exists"
    assert (await call("move_file", source="a", destination="b", overwrite=True))["success"]
    assert (ws / "b").read_text() == "a"
    assert (await call("move_file", source="nope", destination="c"))["code"] == "not_found"


async def test_a_folder_takes_in_what_is_moved_to_it(call: Calls, ws: Path) -> None:
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


async def test_making_a_folder_twice_is_no_error(call: Calls, ws: Path) -> None:
    assert (await call("create_directory", path="a/b"))["success"]
    assert "exists already" in (await call("create_directory", path="a/b"))["message"]
    (ws / "f").write_text("")
    assert (await call("create_directory", path="f"))["code"] == "exists"
