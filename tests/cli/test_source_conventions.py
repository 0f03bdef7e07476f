"""Commands import at their top, and one place decides whether JSON or text is printed."""

from __future__ import annotations

import ast
from pathlib import Path

import atelier_desk.cli

ROOM = Path(atelier_desk.cli.__file__).parent
LATE = {
    ("event_text.py", "atelier_desk.tools.registry.builtin"),  # every tool, for a message that is rarely shown
    ("terminal_io.py", "atelier_desk.engine.attachments.names_and_decoding"),  # pydantic, only for piped input
    # the engine, which a command does without when another process performs it
    ("data_folder_access.py", "atelier_desk.cli.data_folder_server"),
    ("commands/mcp.py", "atelier_desk.engine"),  # the SDK of MCP servers, only for the command that is one
}
"""What may be imported inside a function, and why it takes too long at the top."""
ASKS = {
    "command_result.py": 3,  # the one place
    "event_renderers.py": 1,  # the stream of a run
    "run_follower.py": 1,
    "commands/run.py": 2,  # notes about the turn
    "commands/chat.py": 1,  # refuses JSON
    "commands/mcp.py": 1,  # output that is no text is refused only for people
    "commands/prompts.py": 1,  # reads what only people are shown
    "commands/tasks.py": 1,
}
"""Places that check whether JSON is requested, by file."""


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


def test_one_place_decides_between_json_and_text() -> None:
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
