"""Explain rules that can never match a call, when a rule is added, imported and listed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from atelier_desk.domain.call_presentation_and_subjects import CallText
from atelier_desk.domain.errors import UsageError
from atelier_desk.policy.permissions import rule_pattern, word_patterns
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Tool
from atelier_desk.tools.registry.access_groups import COMMANDS, PAGES
from atelier_desk.tools.registry.sections import PAGE_READER, SERVERS
from atelier_desk.workspace.commands.parsing import UnreadableError, read
from atelier_desk.workspace.repository_inspection import RULE

_TOPS = frozenset(
    (
        "home",
        "users",
        "etc",
        "usr",
        "root",
        "private",
        "volumes",
        "var",
        "tmp",
        "opt",
        "mnt",
        "srv",
        "proc",
        "sys",
        "library",
        "applications",
    )
)
"""Top-level folders of a disk that are unlikely to be in a workspace."""
_HOME = re.compile(r"\$HOME(?![A-Za-z0-9_])|\$\{HOME\}|(?<!\S)~(?=/|\s|$)")


def unmatchable(text: str, tools: Iterable[Tool]) -> CallText | None:
    """Return why a rule cannot cover any call of these tools; None if it may. Invalid rules give None."""
    try:
        rule = rule_pattern.parse(text)
    except UsageError:
        return None
    if rule.name == RULE:
        return None
    named = [tool for tool in tools if _names(rule, tool)]
    if not named:
        what = rule.section or rule.name
        return CallText(text=N_("there is no tool named {name}"), params={"name": what})
    if rule.argument is None:
        return None
    reasons = [_reason(rule.argument, tool) for tool in named]
    return None if any(reason is None for reason in reasons) else reasons[0]


def _names(rule: rule_pattern.Pattern, tool: Tool) -> bool:
    if rule.section:
        return tool.section == rule.section
    server = rule.name.startswith("mcp__") and tool.name.startswith(f"{rule.name}__")
    return server or tool.section == rule.name or word_patterns.word_covers(rule.name, tool.name)


def _reason(argument: str, tool: Tool) -> CallText | None:
    if tool.section.startswith(SERVERS):
        return CallText(text=N_("rules for a server's tools cannot depend on arguments: leave the parentheses out"))
    about_hosts = rule_pattern.is_about_hosts(argument)
    if tool.name in COMMANDS:
        no_host = CallText(
            text=N_("a rule for commands cannot name a host: write the rule for {tool}"), params={"tool": PAGE_READER}
        )
        return no_host if about_hosts else _of_command(argument)
    if tool.name in PAGES:
        return (
            None
            if about_hosts
            else CallText(text=N_("rules for web pages can only name a host: write domain:example.com"))
        )
    if "paths" in tool.subjects.values():
        return CallText(text=N_("rules for files cannot contain a host")) if about_hosts else _of_path(argument)
    plain = type(tool).describe is Tool.describe and not tool.subjects
    return CallText(text=N_("a rule for this tool cannot have parentheses: leave them out")) if plain else None


def _of_command(argument: str) -> CallText | None:
    text = rule_pattern.in_its_folder(argument).removesuffix(rule_pattern.PREFIX)
    if rule_pattern.PREFIX in text:
        return CallText(text=N_("“:*” is allowed only at the end of a rule; elsewhere, use an asterisk"))
    try:
        line = read(_HOME.sub("/home", text).replace("*", "x"), "/home")
    except UnreadableError as error:
        return CallText(
            text=N_("commands with “{part}” always need your approval, whatever the rules say"),
            params={"part": error.part or text[:60]},
        )
    if len(line.commands) > 1:
        return CallText(
            text=N_(
                "it contains several commands, but each command on a line is checked on its own: write one "
                "rule for each"
            )
        )
    if line.commands[0].redirects:
        return CallText(
            text=N_(
                "rules for commands do not cover redirections; leave the redirection out, and add a separate rule for "
                "its file"
            )
        )
    return None


def _of_path(argument: str) -> CallText | None:
    if rule_pattern.placed(argument) is None:
        return CallText(text=N_("it contains no path"))
    if argument != argument.strip():
        return CallText(text=N_("a space at the beginning or end of the path is part of the file name"))
    rest = _HOME.sub("~", argument, count=1)
    if re.match(r"[A-Za-z]:[\\/]", argument):
        return CallText(text=N_("an absolute path in a rule must begin with two slashes"))
    if re.match(r"[A-Za-z][A-Za-z+]+:/", argument):
        return CallText(text=N_("this is an address, not a file path"))
    if "$" in rest or re.search(r"%\w+%", rest):
        return CallText(text=N_("no variable except $HOME is expanded"))
    if argument.startswith("~") and not argument.startswith("~/") and argument != "~":
        return CallText(text=N_("“~” cannot refer to another user's home folder: write // and the full path"))
    first = argument[1:].partition("/")[0].casefold()
    if argument.startswith("/") and not argument.startswith("//") and first in _TOPS:
        return CallText(
            text=N_("one slash at the beginning means the workspace folder: write two for an absolute path")
        )
    return None
