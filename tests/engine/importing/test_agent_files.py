"""Agent files of other programs: what is imported, and the notes about the rest."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain import limits
from atelier_desk.domain.agent import ApprovalMode, Effort
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.engine.importing.agent_files import ForeignAgent, Surroundings, is_foreign, read

HERE = Surroundings(
    tools=(
        "TodoTool",
        "read_file",
        "write_file",
        "edit_file",
        "glob_files",
        "search_files",
        "list_directory",
        "run_command",
        "SpawnAgentTool",
    ),
    usual=("TodoTool", "read_file", "write_file", "run_command"),
    providers=("local", "Anthropic"),
    provider="local",
    model="starter",
)
CLAUDE = """---
name: reviewer
description: Reviews code. Use when: something changed
tools: Read, Grep, Bash(git diff:*), WebSearch, mcp__github__list
disallowedTools: Grep
model: sonnet
permissionMode: bypassPermissions
maxTurns: 500
effort: high
color: blue
hooks:
  PreToolUse: []
---
You review code.
"""


def notes(found: ForeignAgent) -> str:
    return "\n".join(map(str, found.notes))


def test_an_agent_of_claude_code() -> None:
    found = read(CLAUDE, "reviewer.md", HERE)
    config = found.config
    assert (config.name, config.system_prompt) == ("reviewer", "You review code.")
    assert config.purpose == "Reviews code. Use when: something changed"
    assert config.tools == ("read_file", "run_command", "mcp__github__list")
    assert (config.provider, config.model, config.max_tool_iterations, config.effort) == (
        "local",
        "starter",
        200,
        Effort.HIGH,
    )
    assert config.approval is ApprovalMode.SELECTIVE, "no file makes an agent ask less often"
    for said in ("WebSearch", "sonnet", "bypassPermissions", "Bash(git diff:*)", "Not imported: hooks"):
        assert said in notes(found)
    assert "color" not in notes(found)


def test_an_agent_of_opencode() -> None:
    header = (
        "description: Plans\nmode: primary\nmodel: anthropic/claude-x\ntemperature: 0.1\ntools:\n  write: false\n  "
        "bash: false"
    )
    text = f"---\n{header}\n---\nPlan."
    found = read(text, "plan.md", HERE)
    config = found.config
    assert (config.name, config.provider, config.model, config.temperature) == ("plan", "Anthropic", "claude-x", 0.1)
    assert config.tools == ("TodoTool", "read_file")


def test_an_agent_of_codex() -> None:
    text = (
        'name = "docs"\ndeveloper_instructions = "Write docs."\nmodel = "gpt-x"\nmodel_reasoning_effort = "xhigh"\n'
        'sandbox_mode = "read-only"\n'
    )
    found = read(text, "docs.toml", HERE)
    config = found.config
    assert (config.name, config.system_prompt, config.effort, config.approval) == (
        "docs",
        "Write docs.",
        Effort.HIGH,
        ApprovalMode.PLAN,
    )
    assert config.tools == HERE.usual
    assert "lists no tools" in notes(found)


def test_an_agent_of_cline_and_of_cursor() -> None:
    cline = read("name: helper\ndescription: Helps\ntools: [read_file]\nprompt: Help.\n", "helper.yaml", HERE)
    assert (cline.config.name, cline.config.system_prompt, cline.config.tools) == ("helper", "Help.", ("read_file",))
    cursor = read("---\nname: look\ndescription: Looks\nreadonly: true\nmodel: inherit\n---\nLook.", "look.md", HERE)
    assert (cursor.config.approval, cursor.config.model) == (ApprovalMode.PLAN, "starter")


def test_its_description_becomes_its_purpose_and_a_note_says_when_it_was_too_long() -> None:
    short, long = (
        read(f"---\nname: a\ndescription: {text}\n---\nWork.", "a.md", HERE) for text in ("Looks", "word " * 60)
    )
    assert (short.config.purpose, "shortened" in notes(short)) == ("Looks", False)
    assert len(long.config.purpose) <= limits.AGENT_PURPOSE
    assert "shortened to 200 characters: “word word" in notes(long)


@pytest.mark.parametrize(
    ("text", "name", "word"),
    [
        ("Just text", "a.md", "no header"),
        ("---\nname: a\n---\n", "a.md", "no instructions"),
        ("---\nname: [\n---\nx", "a.md", "not YAML"),
        ("name = ", "a.toml", "not TOML"),
        ("---\nname: a\n---\n" + "x" * 100_001, "a.md", "at most"),
    ],
)
def test_an_invalid_file_is_refused_with_the_reason(text: str, name: str, word: str) -> None:
    with pytest.raises((UsageError, LimitError), match=word):
        read(text, name, HERE)


def test_an_agent_file_of_atelier_is_recognised() -> None:
    assert not is_foreign(' {"name": "x"}', "a.json")
    assert is_foreign("---\n", "a.json")
    assert is_foreign("{", "a.md")


@given(st.text(max_size=200), st.sampled_from(["a.md", "a.toml", "a.yaml", "x.agent.md", ".md"]))
def test_any_file_is_parsed_or_refused(text: str, name: str) -> None:
    for each in (text, f"---\nname: {text}\ntools: {text}\nmodel: {text}\nmaxTurns: {text}\n---\n{text}"):
        with contextlib.suppress(UsageError):
            assert read(each, name, HERE).config.system_prompt


COPILOT = [
    ("search", ("search_files", "glob_files", "list_directory")),
    ("codebase", ("search_files", "glob_files")),
    ("search/codebase", ("search_files", "glob_files")),
    ("search/textSearch", ("search_files",)),
    ("edit", ("edit_file", "write_file")),
    ("editFiles", ("edit_file", "write_file")),
    ("edit/editFiles", ("edit_file", "write_file")),
    ("edit/createFile", ("write_file",)),
    ("read/readFile", ("read_file",)),
    ("runCommands", ("run_command",)),
    ("execute", ("run_command",)),
    ("execute/runInTerminal", ("run_command",)),
    ("runCommands/runInTerminal", ("run_command",)),
    ("runTests", ("run_command",)),
    ("todo", ("TodoTool",)),
    ("todos", ("TodoTool",)),
    ("agent", ("SpawnAgentTool",)),
    ("agent/runSubagent", ("SpawnAgentTool",)),
    ("github/search", ()),
    ("playwright/*", ()),
    ("problems", ()),
]


@pytest.mark.parametrize(("written", "tools"), COPILOT)
def test_tools_of_copilot_are_translated_and_not_confused_with_those_of_servers(
    written: str, tools: tuple[str, ...]
) -> None:
    found = read(f"---\nname: a\ndescription: d\ntools: ['{written}']\n---\nWork.", "a.agent.md", HERE)
    assert set(found.config.tools) == set(tools)
    assert (f"No tool here corresponds to: {written}" in notes(found)) is not bool(tools), "what was not taken is named"


def test_long_instructions_are_imported_completely() -> None:
    text = "Work. " * 16_000
    assert read(f"---\nname: a\ndescription: d\n---\n{text}", "a.md", HERE).config.system_prompt == text.strip()
