"""The published table of commands: every command of the policy's own table is listed, with options that the policy
accepts.
"""

# judges: app/atelier_desk/workspace/commands/judge.py
from __future__ import annotations

import pytest

from atelier_desk.workspace.commands import command_table, git_safety, safe_command_descriptions
from atelier_desk.workspace.commands.judge import Kind, judge
from atelier_desk.workspace.commands.safe_command_descriptions import ABOUT, Does, safe_commands


def test_every_command_of_the_table_is_listed_once_with_its_effect() -> None:
    known = [*command_table.READS, *command_table.WRITES, *git_safety.rules(), "cd", "find", "sed"]
    assert sorted(each.name for each in safe_commands()) == sorted(known)
    assert set(ABOUT) == set(known)
    assert {each.name for each in safe_commands() if each.does is Does.DELETES} == command_table.DELETES
    assert {each.name for each in safe_commands() if each.does is not Does.READS} == set(command_table.WRITES)


@pytest.mark.parametrize("name", ["cat", "grep", "git log", "find", "sort", "ls", "cp"])
def test_the_policy_accepts_each_listed_option(name: str) -> None:
    """Options of one command, each tried on its own line as written."""
    one = next(each for each in safe_commands() if each.name == name)
    tokens = one.options.replace(" X", "\0X").split()
    assert tokens
    for token in tokens:
        flags = (
            token[1:]
            if token.startswith("-") and not token.startswith("--") and "\0" not in token and name != "find"
            else ""
        )
        for option in [f"-{flag}" for flag in flags] if flags and token != "-20" else [token]:
            value = option.replace("\0", " ").replace("X", "1")
            line = f"find a {value}" if name == "find" and option not in ("-H", "-P") else f"{name} {value} a b"
            judged = judge(line, "/home")
            assert judged.kind is (Kind.WRITES if one.does is Does.WRITES else Kind.READS), (
                line,
                judged.reason,
                judged.commands,
            )


def test_a_command_without_rules_has_no_options() -> None:
    assert next(each.options for each in safe_commands() if each.name == "whoami") == ""
    assert (
        safe_command_descriptions.options(command_table.READS["head"])
        == "-qvz -n X -c X -20 --quiet --silent --verbose --lines=X --bytes=X"
    )
