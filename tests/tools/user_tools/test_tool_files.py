"""Tool files are listed without being run, and running one gives its tools or an error."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.user_tools.tool_files import MAX_BYTES, FileStatus, ToolFile, list_candidates, run, source

GOOD = '''
"""Greets."""
from atelier_desk.tools.custom import tool

@tool
def greet(name: str, times: int = 1) -> str:
    """Greets someone."""
    return "hello " * times + name
'''


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def written(folder: Path, name: str, data: bytes) -> ToolFile:
    (folder / name).write_bytes(data)
    (found,) = list_candidates(folder, {})
    return found


def test_a_new_file_is_listed_and_not_run(tmp_path: Path) -> None:
    text = "raise SystemExit('it ran')"
    (tmp_path / "_helper.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    found = written(tmp_path, "boom.py", text.encode())
    assert (found.name, found.status, found.sha256) == ("boom.py", FileStatus.NEW, digest(text))


def test_the_confirmed_hash_distinguishes_confirmed_from_changed(tmp_path: Path) -> None:
    found = written(tmp_path, "greet.py", GOOD.encode())
    assert list_candidates(tmp_path, {"greet.py": found.sha256})[0].status is FileStatus.CONFIRMED
    (tmp_path / "greet.py").write_text(GOOD + "\n# changed")
    assert list_candidates(tmp_path, {"greet.py": found.sha256})[0].status is FileStatus.CHANGED


async def test_a_file_gives_its_tools(tmp_path: Path, context: ToolContext) -> None:
    registry = ToolRegistry()
    registry.register_all(run(written(tmp_path, "greet.py", (GOOD + "\nalias = greet").encode())))
    assert registry.get_all_tool_names() == ["greet"]
    result = await registry.execute("greet", {"name": "Ada"}, context)
    assert isinstance(result, ToolResult)
    assert result.data == {"success": True, "result": "hello Ada"}
    tool = registry.get_tool("greet")
    assert tool is not None
    assert tool.section == "custom_ops"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError.*wrong.py, line 1"),
        ("def (", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("\nraise KeyboardInterrupt", "KeyboardInterrupt.*line 2"),
        ("x = 1", "defines no tool"),
        (GOOD.replace("@tool", "@tool(category='control')"), "cannot be a control tool"),
        (GOOD.replace("@tool", "@tool(name='say hello')"), "'say hello' is not a valid tool name"),
        (GOOD.replace("times: int", "times: 'Unheard'"), "unknown type"),
        (GOOD.replace("times: int = 1", "times: slice = None"), "PydanticSchemaGenerationError"),
        (
            "from collections.abc import Callable" + GOOD.replace("times: int = 1", "times: Callable = print"),
            "PydanticInvalidForJsonSchema",
        ),
        ("#" * (MAX_BYTES + 1), "too long"),
    ],
)
def test_a_faulty_file_is_reported(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=f"(?s){reason}"):
        run(written(tmp_path, "wrong.py", text.encode()))


def test_the_shown_text_is_what_runs_whatever_the_coding_line(tmp_path: Path) -> None:
    hidden = b"# coding: utf-7\n# +AAo-raise SystemExit('hidden in a comment')\n"
    file = written(tmp_path, "greet.py", hidden + GOOD.encode())
    assert "# +AAo-raise" in source(file)
    assert [tool.name for tool in run(file)] == ["greet"]
    with pytest.raises(UsageError, match="not UTF-8"):
        source(written(tmp_path, "greet.py", b"# coding: latin-1\nx = '\xe9'"))


def test_no_folder_means_no_files(tmp_path: Path) -> None:
    assert list_candidates(tmp_path / "none", {}) == []
