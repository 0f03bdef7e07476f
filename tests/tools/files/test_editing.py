"""``write_file`` and ``edit_file``: exact, all or nothing, and everything else in the file is unchanged."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.tools.base import Risk, ToolResult
from atelier_desk.tools.files.editing import EditFileTool
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from tests.tools.conftest import Calls

CODE = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"


async def test_a_new_file_and_its_folders_are_created(call: Calls, ws: Path) -> None:
    result = await call.outcome("write_file", path="a/b/c.txt", content="hi\n")
    assert isinstance(result, ToolResult)
    assert (ws / "a" / "b" / "c.txt").read_text() == "hi\n"
    (part,) = result.parts
    assert isinstance(part, FileChange)
    assert (part.action, part.path, part.added) == ("created", "a/b/c.txt", 1)


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"a\n", "b", b"b\n"),
        ("é\n".encode("cp1252"), "è\n", "è\n".encode("cp1252")),
        ("é\n".encode("utf-16"), "è\n", "è\n".encode("utf-16")),
        (b"a", "b", b"b"),
    ],
)
async def test_overwriting_keeps_line_ends_marks_and_encoding(
    call: Calls, ws: Path, before: bytes, content: str, after: bytes
) -> None:
    path = ws / "a.txt"
    path.write_bytes(before)
    path.chmod(0o750)
    assert (await call("write_file", path="a.txt", content=content))["success"]
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_a_character_missing_from_the_files_encoding_is_refused(call: Calls, ws: Path) -> None:
    (ws / "a.txt").write_bytes("é\n".encode("cp1252"))
    data = await call("write_file", path="a.txt", content="日本\n")
    assert data["code"] == "encoding"
    assert (ws / "a.txt").read_bytes() == "é\n".encode("cp1252")


async def test_an_exact_passage_is_replaced(call: Calls, ws: Path) -> None:
    (ws / "a.py").write_text(CODE)
    data = await call(
        "edit_file", path="a.py", old_string="def g():\n    return 1", new_string="def g():\n    return 2"
    )
    assert (data["added"], data["removed"]) == (1, 1)
    assert "-    return 1\n+    return 2" in data["diff"]
    assert (ws / "a.py").read_text() == CODE[:-2] + "2\n"


async def test_a_passage_found_twice_needs_replace_all(call: Calls, ws: Path) -> None:
    (ws / "a.py").write_text(CODE)
    data = await call("edit_file", path="a.py", old_string="return 1", new_string="return 2")
    assert data["code"] == "not_unique"
    assert "lines 2, 6" in data["error"]
    assert (ws / "a.py").read_text() == CODE
    assert (await call("edit_file", path="a.py", old_string="return 1", new_string="return 2", replace_all=True))[
        "added"
    ] == 2


@pytest.mark.parametrize(
    ("old", "told"),
    [
        ("def g():\n  return 1", "at line 5"),
        ("def  h():\n    return 1\n\n\ndef g():", "at line 1"),
        ("\treturn 1", "Only blanks"),
        ("retrun 1", "line 2"),
        ("nothing of the kind at all", "Read the file again"),
    ],
)
async def test_a_failed_edit_shows_the_closest_text(call: Calls, ws: Path, old: str, told: str) -> None:
    (ws / "a.py").write_text(CODE)
    data = await call("edit_file", path="a.py", old_string=old, new_string="x")
    assert data["code"] == "no_match"
    assert told in data["error"]
    assert (ws / "a.py").read_text() == CODE


@pytest.mark.parametrize(
    ("there", "old", "told"),
    [
        ("Prix\u00a0: 12\u202f€", "Prix : 12 €", "the file has U+00A0 NO-BREAK SPACE, U+202F NARROW NO-BREAK SPACE"),
        (
            "Cafe\u0301 cre\u0300me",
            "Café crème",
            "the file has U+0300 COMBINING GRAVE ACCENT, U+0301 COMBINING ACUTE ACCENT",
        ),
        ("Café crème", "Cafe\u0301 cre\u0300me", "old_string has U+0300 COMBINING GRAVE ACCENT"),
        (
            "He said “hi”, it’s été",
            'He said "hi", it\'s',
            "the file has U+2019 RIGHT SINGLE QUOTATION MARK, U+201C LEFT DOUBLE QUOTATION MARK",
        ),
        ("a\u200bb = 1", "ab = 1", "the file has U+200B ZERO WIDTH SPACE"),
        ("x = 5 \u2212 3", "x = 5 - 3", "the file has U+2212 MINUS SIGN; old_string has U+002D HYPHEN-MINUS"),
    ],
)
async def test_an_invisible_difference_is_named(call: Calls, ws: Path, there: str, old: str, told: str) -> None:
    (ws / "a.md").write_text(f"first\n{there}\nlast\n")
    data = await call("edit_file", path="a.md", old_string=old, new_string="x")
    assert data["code"] == "no_match"
    assert "at line 2" in data["error"]
    assert told in data["error"]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
async def test_line_ends_are_not_compared(call: Calls, ws: Path, end: str) -> None:
    (ws / "a.txt").write_bytes(end.join(["one", "two", "three", ""]).encode())
    assert (await call("edit_file", path="a.txt", old_string="one\ntwo", new_string="1\n2\n2b"))["success"]
    assert (ws / "a.txt").read_bytes() == end.join(["1", "2", "2b", "three", ""]).encode()


async def test_mixed_line_ends_of_unchanged_lines_are_preserved(call: Calls, ws: Path) -> None:
    (ws / "a.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
    assert (await call("edit_file", path="a.txt", old_string="three", new_string="3"))["success"]
    assert (ws / "a.txt").read_bytes() == b"one\r\ntwo\n3\r\n"


async def test_several_edits_are_all_applied_or_none(call: Calls, ws: Path) -> None:
    (ws / "a.py").write_text(CODE)
    edits = [{"old_string": "def f", "new_string": "def one"}, {"old_string": "def nowhere", "new_string": "x"}]
    data = await call("edit_file", path="a.py", edits=edits)
    assert "Edit 2 of 2, and none was made" in data["error"]
    assert (ws / "a.py").read_text() == CODE
    edits[1] = {"old_string": "def one", "new_string": "def two"}
    assert (await call("edit_file", path="a.py", edits=edits))["success"]
    assert "def two" in (ws / "a.py").read_text()


async def test_lines_are_replaced_after_a_check_of_their_content(call: Calls, ws: Path) -> None:
    (ws / "a.py").write_text(CODE)
    wrong = await call("edit_file", path="a.py", start_line=2, end_line=2, expected="    return 7", new_string="x")
    assert wrong["code"] == "no_match"
    assert "     2\t    return 1" in wrong["error"]
    right = {"path": "a.py", "start_line": 2, "end_line": 2, "expected": "    return 1"}
    assert (await call("edit_file", "", **right, new_string="    return 7"))["success"]
    assert (ws / "a.py").read_text().splitlines()[1] == "    return 7"
    assert (await call("edit_file", path="a.py", start_line=3, end_line=4, expected="\n\n", new_string=""))["success"]
    assert (ws / "a.py").read_text() == "def f():\n    return 7\ndef g():\n    return 1\n"
    assert (await call("edit_file", path="a.py", start_line=9, end_line=9, expected="", new_string="x"))[
        "code"
    ] == "bad_range"


async def test_text_is_appended(call: Calls, ws: Path) -> None:
    (ws / "a.txt").write_text("one\n")
    (ws / "b.txt").write_text("one")
    assert (await call("edit_file", path="a.txt", append="two"))["success"]
    assert (await call("edit_file", path="b.txt", append="two"))["success"]
    assert ((ws / "a.txt").read_text(), (ws / "b.txt").read_text()) == ("one\ntwo\n", "one\ntwo")


async def test_a_patch_of_several_files(call: Calls, ws: Path) -> None:
    (ws / "a.py").write_text(CODE)
    (ws / "old.txt").write_text("gone soon\n")
    (ws / "name.txt").write_text("stays\n")
    patch = """*** Begin Patch
*** Update File: a.py
@@ def g():
-    return 1
+    return 2
*** Add File: docs/new.md
+# New
+
*** Delete File: old.txt
*** Update File: name.txt
*** Move to: named.txt
@@
-stays
+moved
*** End Patch"""
    result = await call.outcome("edit_file", patch=patch)
    assert isinstance(result, ToolResult)
    assert result.success, result.data
    assert [(part.action, part.path) for part in result.parts if isinstance(part, FileChange)] == [
        ("changed", "a.py"),
        ("created", "docs/new.md"),
        ("deleted", "old.txt"),
        ("moved", "name.txt"),
    ]
    assert (ws / "a.py").read_text().endswith("def g():\n    return 2\n")
    assert (ws / "docs" / "new.md").read_text() == "# New\n\n"
    assert (ws / "named.txt").read_text() == "moved\n"
    assert not (ws / "old.txt").exists()
    assert not (ws / "name.txt").exists()


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        (
            "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: a.py\n@@\n-not there\n+x\n*** End Patch",
            "no_match",
        ),
        (
            "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: a.py\n@@\n-    return 1\n+x\n*** End Patch",
            "not_unique",
        ),
        ("*** Begin Patch\n*** Add File: new.txt\n+x\n*** Add File: a.py\n+x\n*** End Patch", "exists"),
        ("*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: ../../etc/passwd\n*** End Patch", "outside"),
        ("*** Begin Patch\n*** Add File: new.txt\n+x\n*** Add File: a.py/below.txt\n+x\n*** End Patch", "not_a_folder"),
        ("*** Begin Patch\n*** Add File: new.txt\nx\n*** End Patch", "bad_patch"),
        ("*** Begin Patch\n*** Add File: new.txt\n+x", "bad_patch"),
        ("*** Begin Patch\n*** End Patch", "bad_patch"),
        ("*** Begin Patch\n*** Update File: a.py\n*** Add File: new.txt\n+x\n*** End Patch", "bad_patch"),
    ],
)
async def test_a_patch_that_fails_changes_nothing(
    call: Calls, ws: Path, files: WorkspaceFiles, patch: str, code: str
) -> None:
    (ws / "a.py").write_text(CODE)
    assert (await call("edit_file", patch=patch))["code"] == code
    assert sorted(path.name for path in ws.iterdir()) == ["a.py"]
    assert (ws / "a.py").read_text() == CODE
    assert not files.store.of(call.context.workflow_id)


async def test_a_file_changed_since_it_was_read_is_refused(call: Calls, ws: Path) -> None:
    (ws / "a.py").write_text(CODE)
    await call("read_file", path="a.py")
    (ws / "a.py").write_text(CODE + "# mine\n")
    for tool, more in (
        ("edit_file", {"old_string": "def f", "new_string": "def x"}),
        ("write_file", {"content": "x"}),
        ("delete_path", {}),
    ):
        data = await call(tool, path="./sub/../a.py", **more)
        assert data["code"] == "changed", tool
    assert (ws / "a.py").read_text() == CODE + "# mine\n"
    await call("read_file", path="a.py")
    assert (await call("edit_file", path="a.py", old_string="def f", new_string="def x"))["success"]
    assert (await call("edit_file", path="a.py", old_string="def x", new_string="def y"))["success"], (
        "its own change is no surprise"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "a"},
        {"path": "a", "old_string": "x"},
        {"path": "a", "old_string": "x", "new_string": "y", "append": "z"},
        {"path": "a", "start_line": 1, "new_string": "x"},
        {"path": "a", "patch": "*** Begin Patch\n*** End Patch"},
        {"old_string": "x", "new_string": "y"},
    ],
)
async def test_the_forms_cannot_be_mixed(call: Calls, arguments: dict[str, object]) -> None:
    data = await call("edit_file", "", **arguments)
    assert data["code"] == "invalid_arguments"
    assert "Traceback" not in data["error"]


async def test_a_patch_that_fails_between_a_write_and_its_move_changes_nothing(
    call: Calls, ws: Path, files: WorkspaceFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "a").write_text("x\n")

    def refused(*given: object) -> None:
        raise ToolError("no", code="denied")

    monkeypatch.setattr(type(files), "move", refused)
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch"
    assert not (await call("edit_file", patch=patch))["success"]
    assert {path.name: path.read_text() for path in ws.iterdir()} == {"a": "x\n"}
    assert files.store.of(call.context.workflow_id) == []


def test_the_description_of_a_call(registry: ToolRegistry) -> None:
    def said(tool: str, **arguments: object) -> tuple[object, ...]:
        known = registry.get_tool(tool)
        assert known is not None
        call = registry.prepare(known, arguments).described
        return call.effect.value, call.risk, call.subjects.paths, call.kind.value

    assert said("read_file", path="a") == ("read", Risk.LOW, ("a",), "file_op")
    assert said("write_file", path="a", content="") == ("write", Risk.MEDIUM, ("a",), "file_op")
    assert said("move_file", source="a", destination="b") == ("write", Risk.MEDIUM, ("a", "b"), "file_op")
    assert said("write_file", path="sub/../.GIT/hooks/pre-commit", content="")[1] is Risk.HIGH
    patch = (
        "*** Begin Patch\n*** Update File: a\n*** Move to: .git/config\n@@\n-x\n+y\n*** Add File: c\n+x\n*** End Patch"
    )
    assert said("edit_file", patch=patch) == ("write", Risk.HIGH, ("a", ".git/config", "c"), "file_op")


async def test_every_change_can_be_undone(call: Calls, ws: Path, files: WorkspaceFiles) -> None:
    (ws / "a.py").write_text(CODE)
    (ws / "a.py").chmod(0o755)
    (ws / "dir" / "deep").mkdir(parents=True)
    (ws / "dir" / "deep" / "x").write_text("x")
    before = {str(path.relative_to(ws)): path.read_text() if path.is_file() else None for path in ws.rglob("*")}
    for tool, arguments in (
        ("write_file", {"path": "new/n.txt", "content": "n"}),
        ("edit_file", {"path": "a.py", "old_string": "def f", "new_string": "def x"}),
        ("write_file", {"path": "a.py", "content": "short\n"}),
        ("move_file", {"source": "a.py", "destination": "moved/b.py"}),
        ("copy_file", {"source": "dir", "destination": "copy"}),
        ("delete_path", {"path": "dir", "recursive": True}),
        ("create_directory", {"path": "e/f"}),
        ("copy_file", {"source": "new/n.txt", "destination": "moved/b.py", "overwrite": True}),
    ):
        assert (await call(tool, **arguments))["success"], (tool, arguments)
    changes = files.store.of(call.context.workflow_id)
    assert all(done.problem is None for done in undo(files, changes))
    assert {str(path.relative_to(ws)): path.read_text() if path.is_file() else None for path in ws.rglob("*")} == before
    assert stat.S_IMODE((ws / "a.py").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "a.py", "content": "evil"}),
        ("edit_file", {"path": "a.py", "old_string": "def f", "new_string": "evil"}),
        ("edit_file", {"path": "a.py", "append": "evil"}),
        ("edit_file", {"patch": "*** Begin Patch\n*** Update File: a.py\n@@\n-def g():\n+evil\n*** End Patch"}),
        ("copy_file", {"source": "b.py", "destination": "a.py", "overwrite": True}),
        ("move_file", {"source": "b.py", "destination": "a.py", "overwrite": True}),
    ],
)
async def test_another_name_of_a_file_outside_the_folder_keeps_its_content(
    call: Calls, ws: Path, files: WorkspaceFiles, tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(CODE)
    (ws / "a.py").hardlink_to(outside)
    (ws / "b.py").write_text("evil")
    assert (await call(tool, **arguments))["success"]
    assert "evil" in (ws / "a.py").read_text()
    assert outside.read_text() == CODE
    undo(files, files.store.of(call.context.workflow_id))
    assert ((ws / "a.py").read_text(), outside.read_text()) == (CODE, CODE)


async def test_the_definition_lists_only_the_offered_forms_and_the_others_still_work(call: Calls, ws: Path) -> None:
    tool = EditFileTool()
    whole, text, both = tool.definition(), tool.definition_with(["text"]), tool.definition_with(["text", "lines"])
    assert tool.definition_with(["text", "lines", "patch"]) == whole
    fields = {"path", "old_string", "new_string", "replace_all", "edits", "append", "cell"}
    assert set(text.parameters["properties"]) == fields
    assert set(both.parameters["properties"]) == fields | {"start_line", "end_line", "expected"}
    assert "patch" not in both.description
    assert "expected" not in text.description
    (ws / "a.py").write_text("x = 1\n")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    assert (await call("edit_file", patch=patch))["success"]


async def test_a_change_that_makes_data_unparseable_is_reported_in_each_form(call: Calls, ws: Path) -> None:
    for number in range(4):
        (ws / f"{number}.json").write_text('{"a": 1}\n')
    patch = '*** Begin Patch\n*** Update File: 2.json\n@@\n-{"a": 1}\n+{"a": }\n*** End Patch'
    for number, result in enumerate(
        [
            await call("write_file", path="0.json", content="{"),
            await call("edit_file", path="1.json", old_string="1", new_string=""),
            await call("edit_file", patch=patch),
        ]
    ):
        assert f"{number}.json is no longer valid JSON" in result["warning"]
    assert "warning" not in await call("edit_file", path="3.json", old_string="1", new_string="2")


async def test_a_notebook_cell_is_replaced(call: Calls, ws: Path) -> None:
    (ws / "n.ipynb").write_text('{"cells": [{"id": "a", "source": ["x"], "outputs": [1]}]}')
    result = await call("edit_file", path="n.ipynb", cell="a", new_string='print("hi")')
    assert "warning" not in result
    assert (ws / "n.ipynb").read_text() == '{"cells": [{"id": "a", "source": ["print(\\"hi\\")"], "outputs": [1]}]}'
