"""The rules of a run, parsed once and indexed, so that a call is compared only with those that may cover it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions import path_denials, rule_pattern
from atelier_desk.policy.permissions.call_facts import CallFacts
from atelier_desk.policy.permissions.rule_pattern import Pattern


@dataclass(frozen=True, slots=True)
class ReadRule:
    """A parsed rule.

    Attributes:
        place: its position in the run's rules: of several matching rules, the first is named.
        prefix: prefix of the names of its tools.
        program: last name of the program of all commands it covers; empty if uncertain.
        folder: leading folder of the paths it covers below a granted folder; empty if uncertain.
    """

    place: int
    rule: PermissionRule
    read: Pattern
    prefix: str
    program: str
    folder: str = ""


class RuleSet:
    """Rules by action and name.

    Raises:
        UsageError: the text of a rule cannot be parsed.
    """

    def __init__(self, rules: Iterable[PermissionRule]) -> None:
        self._named: dict[tuple[Action, str], list[ReadRule]] = {}
        self._patterns: dict[Action, list[ReadRule]] = {action: [] for action in Action}
        self._bans: list[ReadRule] = []
        for index, rule in enumerate(rules):
            read = rule_pattern.parse(rule.text)
            prefix, star, _rest = read.name.partition("*")
            argument = read.argument or ""
            one = ReadRule(index, rule, read, prefix, rule_pattern.program(argument), rule_pattern.folder(argument))
            if rule.action is Action.DENY and (path_denials.denies_reading(read) or path_denials.denies_writing(read)):
                self._bans.append(one)
            if star:
                self._patterns[rule.action].append(one)
            else:
                self._named.setdefault(
                    (rule.action, f"section:{read.section}" if read.section else read.name), []
                ).append(one)

    def about(self, action: Action, facts: CallFacts) -> list[ReadRule]:
        """Return the rules of an action that may cover the call, in order; a superset of those that do."""
        names = {facts.tool, facts.section, f"section:{facts.section}", f"mcp__{facts.server}", *facts.path_tools}
        found = [one for name in names for one in self._named.get((action, name), ())]
        found += [one for one in self._patterns[action] if facts.tool.startswith(one.prefix)]
        if action is Action.DENY and self._bans and (facts.paths or facts.revealed or facts.contained):
            found = list({one.place: one for one in (*found, *self._bans)}.values())
        if facts.commands and not (facts.revealed or facts.contained or facts.paths or facts.hosts or facts.agents):
            programs = {program for command in facts.commands for program in rule_pattern.last_names(command)}
            found = [one for one in found if one.program in programs or not one.program]
        elif facts.paths and not (facts.commands or facts.hosts or facts.agents):
            folders = {
                folder
                for path in (*facts.paths, *facts.revealed, *facts.contained)
                for folder in rule_pattern.folders(path)
            }
            found = [one for one in found if one.folder in folders or not one.folder]
        return sorted(found, key=lambda one: one.place)
