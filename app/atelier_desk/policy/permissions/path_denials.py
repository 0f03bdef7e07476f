"""Which rules deny reading or changing a path, whatever tool a call uses.

This is the only place for it: a rule against a path that covers a tool of ``READING`` denies reading it to every tool
and command except those of ``NAMING``; one that covers a tool of ``WRITING`` denies changing it to every tool and
command. ``file_ops(…)`` and ``*(…)`` deny both. Rules against other tools (``list_directory``, ``get_file_info``,
``render_3d_asset``) apply only to those tools.
"""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions import rule_pattern, word_patterns
from atelier_desk.policy.permissions.call_facts import CallFacts, Path
from atelier_desk.policy.permissions.rule_pattern import Pattern

READING = ("read_file", "search_files")
WRITING = ("write_file", "edit_file", "delete_path", "move_file", "copy_file", "create_directory")
NAMING = frozenset({"list_directory", "glob_files", "file_exists", "create_directory"})
"""Tools that reveal only that a path exists: denials protect the content of files."""
_FILES = "file_ops"


def denies_reading(read: Pattern) -> bool:
    return _about_paths(read) and _covers(read, READING)


def denies_writing(read: Pattern) -> bool:
    return _about_paths(read) and _covers(read, WRITING)


def _about_paths(read: Pattern) -> bool:
    return bool(read.argument) and not rule_pattern.is_about_hosts(read.argument or "")


def _covers(read: Pattern, tools: Iterable[str]) -> bool:
    return read.name == _FILES or any(word_patterns.word_covers(read.name, tool) for tool in tools)


def held_for(read: Pattern, facts: CallFacts) -> tuple[Path, ...]:
    """Return the paths of a call to which a rule against reading or changing paths applies although it names another
    tool.
    """
    found: tuple[Path, ...] = ()
    if denies_reading(read) and facts.tool not in NAMING:
        found = (*facts.paths, *facts.revealed, *facts.contained)
    if denies_writing(read):
        found = (*found, *facts.contained, *(facts.paths if facts.changes and not facts.commands else ()))
    return found


def bans(rules: Iterable[PermissionRule]) -> tuple[DeniedPattern, ...]:
    """Return the rules that deny reading or changing paths. Unparsable rules are skipped: they make every call ask."""
    found: list[DeniedPattern] = []
    for rule in rules:
        if rule.action is not Action.DENY:
            continue
        try:
            read = rule_pattern.parse(rule.text)
        except UsageError:
            continue
        reads, writes = denies_reading(read), denies_writing(read)
        if (reads or writes) and (placed := rule_pattern.placed(read.argument or "")) is not None:
            found.append(DeniedPattern(rule.text, placed.line, placed.start, reads, writes, placed.matches))
    return tuple(found)
