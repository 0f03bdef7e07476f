"""Permission rules of other programs, in their file formats."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atelier_desk.domain.errors import UsageError
from atelier_desk.policy.permissions.rule_import import LINES, read


def became(whole: object) -> dict[str, list[str] | str]:
    """For each line its rule, or the English reason why there is none."""
    return {
        line.source: line.problem.text
        if line.problem is not None
        else [f"{rule.action} {rule.text}" for rule in line.rules]
        for line in read(json.dumps(whole))
    }


def test_claude_settings() -> None:
    permissions = {
        "allow": [
            "Bash(npm run test:*)",
            "Bash(git * main)",
            "Read",
            "Edit(/src/**)",
            "WebFetch(domain:x.org)",
            "mcp__github__get_issue",
            "Task(Ann)",
        ],
        "ask": ["Bash(git push:*)"],
        "deny": ["Read(./.env)", "mcp__shop", "Frobnicate", "Bash(rm", 7, "Read(../x)"],
        "defaultMode": "acceptEdits",
    }
    found = became({"permissions": permissions, "env": {"A": "b"}})
    assert found["allow: Bash(npm run test:*)"] == ["allow run_command(npm run test:*)"]
    assert found["allow: Bash(git * main)"] == ["allow run_command(git * main)"]
    assert found["allow: Read"] == ["allow read_file"]
    assert found["allow: Edit(/src/**)"] == ["allow edit_file(/src/**)", "allow write_file(/src/**)"]
    assert found["allow: WebFetch(domain:x.org)"] == ["allow fetch_web_page(domain:x.org)"]
    assert found["allow: mcp__github__get_issue"] == ["allow mcp__github__get_issue"]
    assert found["allow: Task(Ann)"] == ["allow DelegateTaskTool(Ann)"]
    assert found["ask: Bash(git push:*)"] == ["ask run_command(git push:*)"]
    assert found["deny: Read(./.env)"] == [
        f"deny {tool}(./.env)" for tool in ("read_file", "search_files", "get_file_info", "copy_file")
    ]
    assert found["deny: mcp__shop"] == ["deny mcp__shop"]
    assert found["deny: Frobnicate"] == "Atelier has no corresponding tool"
    assert found["deny: Bash(rm"] == "its parenthesis is not closed"
    assert found["deny: 7"] == "not text"
    assert "which is not allowed" in found["deny: Read(../x)"]


def test_opencode() -> None:
    found = became(
        {
            "permission": {
                "edit": "ask",
                "bash": {"*": "ask", "git *": "allow", "git push *": "deny"},
                "read": {"*.env": "deny", "sample.env": "allow"},
                "webfetch": "deny",
                "doom_loop": "ask",
                "list": 3,
            }
        }
    )
    assert found["edit: ask"] == [
        f"ask {tool}"
        for tool in ("write_file", "edit_file", "delete_path", "move_file", "copy_file", "create_directory")
    ]
    assert found["bash *: ask"] == "such calls need approval anyway, even without a rule"
    assert found["bash git *: allow"] == ["allow run_command(git *)"]
    assert found["bash git push *: deny"] == ["deny run_command(git push *)"]
    assert "a later rule makes an exception" in found["read *.env: deny"]
    assert found["webfetch: deny"] == ["deny fetch_web_page"]
    assert found["doom_loop: ask"] == "Atelier has no corresponding tool"
    assert found["list"] == "the action must be “allow”, “ask” or “deny”"
    assert became({"permission": "deny"}) == {"*: deny": ["deny *"]}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"permissions": 1}', "[" * 100_000])
def test_files_without_rules(text: str) -> None:
    with pytest.raises(UsageError):
        read(text)


def test_a_file_with_too_many_rules() -> None:
    with pytest.raises(UsageError, match="more than"):
        read(json.dumps({"permissions": {"allow": ["Read"] * (LINES + 1)}}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)
TABLE = st.dictionaries(
    st.sampled_from(["allow", "ask", "deny", "bash", "edit", "*", "x"]),
    JSON | st.dictionaries(st.text(max_size=8), JSON, max_size=3),
)


@settings(max_examples=25)
@given(st.sampled_from(["permissions", "permission"]), TABLE)
def test_any_table_is_read_line_by_line(key: str, table: dict[str, object]) -> None:
    for line in read(json.dumps({key: table})):
        assert (line.problem is None) == bool(line.rules)


def test_a_file_with_comments_is_read() -> None:
    text = '\ufeff{\n  // what is forbidden\n  "permissions": {"deny": ["Read(.env)",], /* for now */ },\n}'
    assert [line.source for line in read(text)] == ["deny: Read(.env)"]
    with pytest.raises(UsageError, match="line 3"):
        read('{\n // a comment of one line\n  "permissions": nothing}')
