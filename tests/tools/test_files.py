"""Tool files run only when their very bytes were confirmed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app.tools.base import ToolContext, ToolResult
from app.tools.files import FileStatus, list_candidates, load_confirmed
from app.tools.registry import ToolRegistry

GOOD = '''
"""Greets."""
from app.tools.custom import tool

@tool
def greet(name: str, times: int = 1) -> str:
    """Greets someone."""
    return "hello " * times + name
'''


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(folder: Path, name: str, text: str) -> dict[str, str]:
    (folder / name).write_bytes(text.encode())
    return {name: digest(text)}


def test_a_new_file_is_listed_and_not_run(tmp_path: Path) -> None:
    write(tmp_path, "boom.py", "raise SystemExit('it ran')")
    write(tmp_path, "_helper.py", "")
    write(tmp_path, "notes.txt", "")
    (found,) = list_candidates(tmp_path, {})
    assert (found.name, found.status, found.sha256) == ("boom.py", FileStatus.NEW, digest("raise SystemExit('it ran')"))
    registry = ToolRegistry()
    assert load_confirmed(tmp_path, {}, registry) == []
    assert registry.get_all_tool_names() == []


async def test_a_confirmed_file_becomes_tools(tmp_path: Path, context: ToolContext) -> None:
    confirmed = write(tmp_path, "greet.py", GOOD)
    registry = ToolRegistry()
    (loaded,) = load_confirmed(tmp_path, confirmed, registry)
    assert (loaded.tools, loaded.error) == (("greet",), "")
    result = await registry.execute("greet", {"name": "Ada"}, context)
    assert isinstance(result, ToolResult)
    assert result.data == {"success": True, "result": "hello Ada"}
    tool = registry.get_tool("greet")
    assert tool is not None
    assert tool.section == "custom_ops"


def test_a_changed_file_is_not_loaded_until_it_is_confirmed_again(tmp_path: Path) -> None:
    confirmed = write(tmp_path, "greet.py", GOOD)
    changed = write(tmp_path, "greet.py", GOOD + "\n# changed")
    (found,) = list_candidates(tmp_path, confirmed)
    assert found.status is FileStatus.CHANGED
    registry = ToolRegistry()
    assert load_confirmed(tmp_path, confirmed, registry) == []
    assert load_confirmed(tmp_path, changed, registry)[0].tools == ("greet",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("def (", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = 1", "defines no tool"),
        (GOOD.replace("@tool", "@tool(category='common')"), "workflow or agent"),
        (GOOD.replace("def greet", "def output"), ""),
    ],
)
def test_a_file_with_an_error_is_explained_and_the_others_go_on(tmp_path: Path, text: str, reason: str) -> None:
    confirmed = write(tmp_path, "a_bad.py", text) | write(tmp_path, "b_good.py", GOOD)
    registry = ToolRegistry()
    bad, good = load_confirmed(tmp_path, confirmed, registry)
    assert reason in bad.error
    assert bool(bad.error) is bool(reason)
    assert good.tools == ("greet",)


def test_a_taken_name_registers_none_of_the_file(tmp_path: Path) -> None:
    confirmed = write(tmp_path, "a.py", GOOD) | write(tmp_path, "b.py", GOOD + GOOD.replace("def greet", "def other"))
    registry = ToolRegistry()
    _, second = load_confirmed(tmp_path, confirmed, registry)
    assert "greet" in second.error
    assert registry.get_all_tool_names() == ["greet"]


def test_no_folder_means_no_files(tmp_path: Path) -> None:
    assert list_candidates(tmp_path / "none", {}) == []
