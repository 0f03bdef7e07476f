"""Deny rules for paths apply to every tool and command that accesses a path, and to no other call. See
docs/permissions.md.
"""

from __future__ import annotations

import pytest

from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import CallFacts, CommandFact, Path
from atelier_desk.policy.permissions.path_denials import bans, denies_reading, denies_writing, held_for

NAMED, TOLD, TAKEN = Path(("/w/a",)), Path(("/w/b",)), Path(("/w/c",))


@pytest.mark.parametrize(("text", "reads", "writes"), [
    ("read_file(.env)", True, False), ("search_files(.env)", True, False),
    ("write_file(.env)", False, True), ("edit_file(.env)", False, True), ("delete_path(.env)", False, True),
    ("move_file(.env)", False, True), ("copy_file(.env)", False, True), ("create_directory(.env)", False, True),
    ("file_ops(.env)", True, True), ("*(.env)", True, True), ("*_file(.env)", True, True),
    ("list_directory(.env)", False, False), ("get_file_info(.env)", False, False),
    ("render_3d_asset(.env)", False, False),
    ("glob_files(.env)", False, False), ("run_command(cat:*)", False, False),
    ("read_file", False, False), ("write_file", False, False), ("*", False, False), ("file_ops", False, False),
    ("section:x", False, False),
    ("*(domain:evil.com)", False, False), ("read_file(domain:evil.com)", False, False),
    ("write_file(domain:evil.com)", False, False),
    ("*(local:nas.lan)", False, False),
])  # fmt: skip
def test_what_a_rule_denies(text: str, reads: bool, writes: bool) -> None:
    read = rule_pattern.parse(text)
    assert (denies_reading(read), denies_writing(read)) == (reads, writes)
    found = bans([PermissionRule(text=text, action=Action.DENY)])
    assert [(ban.rule, ban.line, ban.start, ban.reads, ban.writes) for ban in found] == (
        [(text, ".env", "workspace", reads, writes)] if reads or writes else []
    )


def test_a_deny_without_a_path_is_no_path_denial_and_hides_none_after_it() -> None:
    rules = [
        PermissionRule(text="read_file(a.env)", action=Action.ALLOW),
        PermissionRule(text="read_file(b.env)", action=Action.ASK),
        PermissionRule(text="read_file(", action=Action.DENY),  # cannot be parsed
        PermissionRule(text="read_file(a\\)", action=Action.DENY),  # ends with a backslash: no path
        PermissionRule(text="Calculator", action=Action.DENY),
        PermissionRule(text="read_file(~/keys/**)", action=Action.DENY),
        PermissionRule(text="write_file(//etc/hosts)", action=Action.DENY),
    ]
    found = bans(rules)
    assert [(ban.rule, ban.start) for ban in found] == [
        ("read_file(~/keys/**)", "home"),
        ("write_file(//etc/hosts)", "top"),
    ]
    assert (found[0].matches("keys/one"), found[0].matches("other/one")) == (True, False)


@pytest.mark.parametrize(("text", "tool", "changes", "command", "held"), [
    ("read_file(a)", "read_file", False, False, (NAMED, TOLD, TAKEN)),
    ("read_file(a)", "run_command", True, True, (NAMED, TOLD, TAKEN)),
    ("read_file(a)", "get_file_info", False, False, (NAMED, TOLD, TAKEN)),
    ("read_file(a)", "copy_file", True, False, (NAMED, TOLD, TAKEN)),
    # These tools reveal only that a path exists.
    ("read_file(a)", "list_directory", False, False, ()),
    ("read_file(a)", "glob_files", False, False, ()),
    ("read_file(a)", "file_exists", False, False, ()),
    ("read_file(a)", "create_directory", True, False, ()),
    # A deny of changes is compared with what a call changes; the words of a command do not say what that is.
    ("write_file(a)", "write_file", True, False, (TAKEN, NAMED)),
    ("write_file(a)", "delete_path", True, False, (TAKEN, NAMED)),
    ("write_file(a)", "create_directory", True, False, (TAKEN, NAMED)),
    ("write_file(a)", "read_file", False, False, (TAKEN,)),
    ("write_file(a)", "run_command", True, True, (TAKEN,)),
    ("write_file(a)", "run_command", False, True, (TAKEN,)),
    ("file_ops(a)", "list_directory", False, False, (TAKEN,)),
    ("file_ops(a)", "write_file", True, False, (NAMED, TOLD, TAKEN, TAKEN, NAMED)),
    ("list_directory(a)", "read_file", False, False, ()),
    ("list_directory(a)", "write_file", True, False, ()),
])  # fmt: skip
def test_which_paths_of_a_call_are_compared(
    text: str, tool: str, changes: bool, command: bool, held: tuple[Path, ...]
) -> None:
    facts = CallFacts(
        tool=tool,
        changes=changes,
        paths=(NAMED,),
        revealed=(TOLD,),
        contained=(TAKEN,),
        commands=(CommandFact(("cat", "a")),) * command,
    )
    assert held_for(rule_pattern.parse(text), facts) == held
