"""Commands import at their top, and leave it to one place whether JSON or words are printed."""

from __future__ import annotations

import ast
from pathlib import Path

import atelier_desk.cli

ROOM = Path(atelier_desk.cli.__file__).parent
LATE = {
    ("notices.py", "atelier_desk.tools.registry.builtin"),  # every tool, for a line that is seldom said
    ("output.py", "atelier_desk.engine.attachments.decoding"),  # pydantic, for piped input alone
    # the engine, which a command that another process performs does without
    ("session.py", "atelier_desk.cli.data_folder_server"),
    ("log_output.py", "atelier_desk.llm"),  # pydantic
}
"""What may be imported within a function, and why it takes too long at the top."""
ASKS = {
    "result.py": 3,  # the one place
    "render.py": 1,  # a run's stream
    "follow.py": 1,
    "commands/run.py": 2,  # notes about the turn
    "commands/chat.py": 1,  # refuses JSON
    "commands/mcp.py": 1,  # what is no text is refused for people alone
    "commands/prompts.py": 1,  # reads what only people are told
    "commands/tasks.py": 1,
}
"""Places that ask whether JSON is wanted, by file."""


def modules() -> dict[str, ast.Module]:
    return {
        path.relative_to(ROOM).as_posix(): ast.parse(path.read_text("utf-8")) for path in sorted(ROOM.rglob("*.py"))
    }


def test_commands_import_at_their_top() -> None:
    late = {
        (name, inner.module)
        for name, tree in modules().items()
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.ImportFrom)
    }
    assert late == LATE


def test_one_place_prints_json_or_words() -> None:
    asks: dict[str, int] = {}
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "json"
                and ast.unparse(node.value) in ("out", "self._out")
            ):
                asks[name] = asks.get(name, 0) + 1
    assert asks == ASKS
