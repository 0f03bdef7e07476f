"""No file outside ``tools`` refers to a tool by name: a tool's own description provides what others need."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import atelier_desk
from atelier_desk.tools.registry.default_registry import create_default_tool_registry

APP = Path(atelier_desk.__file__).parent
OTHER = {"output", "task_complete"}
"""Names that are also words for other things: a kind of message, a stream event."""
FOREIGN = {"rule_import.py", "path_denials.py"}
"""The names of other programs' tools, and the matching rules for ours: rules are texts with tool names."""
EXAMPLES = {
    "cli/command_arguments/approvals.py",
    "cli/command_arguments/permissions.py",
    "desktop/settings/rule_form_and_import.py",
    "desktop/settings/rule_tester.py",
    "policy/permissions/rule_pattern.py",
}
"""Files that show people how a rule is written."""


def texts(path: Path) -> Iterator[str]:
    """The string constants of a file, without its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told | bare:
            yield node.value


@pytest.mark.parametrize("folder", ["cli", "desktop", "domain", "engine", "knowledge", "llm", "policy", "storage"])
def test_no_file_outside_of_tools_names_one(folder: str) -> None:
    names = set(create_default_tool_registry().get_all_tool_names()) - OTHER
    assert len(names) >= 15
    wanted = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
    found = [
        f"{path.relative_to(APP)}: {name}"
        for path in sorted((APP / folder).rglob("*.py"))
        if path.name not in FOREIGN and path.relative_to(APP).as_posix() not in EXAMPLES
        for text in texts(path)
        for name in wanted.findall(text)
    ]
    assert not found


def test_a_name_in_a_text_is_found(tmp_path: Path) -> None:
    code = [
        '"""TodoTool"""',
        'ICONS = {"TodoTool": 1}',
        "def f():",
        '    """MemoryTool"""',
        '    return f"use {1} ReportTool"',
    ]
    (tmp_path / "a.py").write_text("\n".join(code))
    assert [text for text in texts(tmp_path / "a.py") if "Tool" in text] == ["TodoTool", " ReportTool"]
