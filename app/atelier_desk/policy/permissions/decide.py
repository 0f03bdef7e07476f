"""Decide about a call: rules first, then reasons to ask despite permission, then the run's mode.

A call is split into what it affects: each command of a line, each path, host and agent. One forbidden part forbids the
call; rules allow it only if they allow each part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.permission import Action, PermissionRule, Verdict
from atelier_desk.policy.permissions import path_denials, rule_pattern
from atelier_desk.policy.permissions.call_facts import CallFacts, CommandFact, Concern, HostFact, Part, Path, TargetFact
from atelier_desk.policy.permissions.rule_pattern import Pattern
from atelier_desk.policy.permissions.rule_set import ReadRule, RuleSet

VERSION = 4
"""Increase it whenever the same facts under the same rules may give another verdict."""
_NAME = 16
"""Hexadecimal digits of a level's name, which distinguishes the levels of one run."""


@dataclass(frozen=True)
class Level:
    """The rules and the mode of one run of a lineage."""

    rules: tuple[PermissionRule, ...]
    policy: ApprovalPolicy

    @cached_property
    def read(self) -> RuleSet:
        """The parsed rules; parsed on first use."""
        return RuleSet(self.rules)

    @cached_property
    def name(self) -> str:
        """A hash of everything that decides here: the rules in their order, the mode and the settings."""
        rules = [(rule.id, rule.action, rule.text) for rule in self.rules]
        said = self.policy.model_dump(mode="json", exclude={"rules", "snapshot"})
        return hashlib.sha256(json.dumps([rules, said]).encode()).hexdigest()[:_NAME]


def decide(levels: Sequence[Level], facts: CallFacts) -> Verdict:
    """Return the strictest verdict along a lineage, from the root to the calling run.

    A child never gets more than its parent.
    """
    if not levels:
        raise ValueError("a call belongs to a run")
    return max((_of_level(level, facts) for level in levels), key=lambda verdict: verdict.action.strictness)


def bars(level: Level, facts: CallFacts) -> bool:
    """Whether a rule about what a call affects forbids it or asks about it.

    Rules about a tool as a whole are ignored: they were checked for the call that this is a result of.
    """
    named = (
        one for action in (Action.DENY, Action.ASK) for one in level.read.about(action, facts) if one.read.argument
    )
    return _first(named, facts) is not None


def _of_level(level: Level, facts: CallFacts) -> Verdict:
    for action in (Action.DENY, Action.ASK):
        found = _first(level.read.about(action, facts), facts)
        if found is not None:
            return found
    if level.policy.mode is ApprovalMode.PLAN and facts.changes:
        # Read-only was chosen for this workflow: a permission given elsewhere does not override it.
        return Verdict(action=Action.DENY, reason="plan")
    if Concern.REPOSITORY in facts.concerns and not _settings_allowed(level, facts):
        # Before the mode's own verdict, so that the card shows what is special.
        action = Action.DENY if level.policy.mode is ApprovalMode.PLAN else Action.ASK
        return Verdict(
            action=action, reason=Concern.REPOSITORY.value, about=dict(facts.about).get(Concern.REPOSITORY, "")
        )
    allowed = _allowed(level.read.about(Action.ALLOW, facts), facts)
    verdict = allowed or by_mode(level.policy, facts)
    if verdict.action is Action.ASK:
        # Report the special concern rather than that the profile asks about this kind of call.
        special = next((concern for concern in _PRIORITY_CONCERNS if concern in facts.concerns), None)
        return (
            verdict
            if special is None
            else Verdict(action=Action.ASK, reason=special.value, about=dict(facts.about).get(special, ""))
        )
    if verdict.action is not Action.ALLOW:
        return verdict
    for concern in Concern:
        if concern is Concern.REPOSITORY:
            continue  # its settings were allowed
        if concern in facts.concerns and not (concern in _NOT_IN_AUTO and level.policy.mode is ApprovalMode.AUTO):
            return Verdict(action=Action.ASK, reason=concern.value, about=dict(facts.about).get(concern, ""))
    return verdict


def _settings_allowed(level: Level, facts: CallFacts) -> bool:
    """Whether rules approve the present settings of every repository of the call."""
    return set(facts.settings) <= {rule.text for rule in level.rules if rule.action is Action.ALLOW}


_NOT_IN_AUTO = frozenset({Concern.TAINTED})
"""Concerns that "auto" disables; all others still ask. See docs/permissions.md."""


_PRIORITY_CONCERNS = (Concern.PROTECTED, Concern.TAINTED)
"""Concerns that are reported first, whatever else asks."""


def _first(rules: Iterable[ReadRule], facts: CallFacts) -> Verdict | None:
    """Return the verdict of the first rule that covers any part of the call: for rules that forbid or ask."""
    every = _parts(facts)
    for one in rules:
        rule, read = one.rule, one.read
        parts = every if read.names(facts) else facts.paths if read.argument and read.name in facts.path_tools else ()
        also = path_denials.held_for(read, facts) if rule.action is Action.DENY else ()
        for part in (*parts, *also):
            if _covers(read, part, facts, strictly=False):
                return _verdict(rule, part)
    return None


def _allowed(rules: Iterable[ReadRule], facts: CallFacts) -> Verdict | None:
    """Allow if every part is covered by some rule; names the last part's rule."""
    named = [(one.rule, one.read) for one in rules if one.read.names(facts)]
    verdict: Verdict | None = None
    for part in _asked_for(facts):
        found = next((rule for rule, read in named if _covers(read, part, facts, strictly=True)), None)
        if found is None:
            return None
        verdict = _verdict(found, part)
    return verdict


def _asked_for(facts: CallFacts) -> tuple[Part | None, ...]:
    """Return what a permission must cover.

    An allowed command may access the files it names; protected files ask anyway. A ``cd`` below the workspace only sets
    the folder of the following commands, whose rules must name it.
    """
    acting = (
        tuple(command for command in facts.commands if not (command.safe and command.words[:1] == ("cd",)))
        or facts.commands
    )
    return (*acting, *facts.redirected) if facts.commands else _parts(facts)


def _parts(facts: CallFacts) -> tuple[Part | None, ...]:
    """Return what the call affects; None stands for a call that affects nothing."""
    return facts.parts or (None,)


def _covers(read: Pattern, part: Part | None, facts: CallFacts, *, strictly: bool) -> bool:
    if read.argument is None:
        return True
    match part:
        case HostFact():
            return rule_pattern.is_about_hosts(read.argument) and rule_pattern.covers_host(read.argument, part.name)
        case CommandFact():
            return rule_pattern.covers_command(read.argument, part, facts.home, strictly=strictly)
        case Path():
            return rule_pattern.covers_path(read.argument, part, facts.home, strictly=strictly)
        case TargetFact():
            return part.name == read.argument if strictly else part.name.casefold() == read.argument.casefold()
        case None:
            return False


def _verdict(rule: PermissionRule, part: Part | None) -> Verdict:
    return Verdict(action=rule.action, reason="rule", rule_id=rule.id, rule=rule.text, about=part_text(part))


def part_text(part: Part | None) -> str:
    """Return a part of a call in displayable words."""
    match part:
        case CommandFact():
            return rule_pattern.command_text(part.words)
        case Path():
            return part.spellings[0]
        case HostFact() | TargetFact():
            return part.name
        case None:
            return ""


def by_mode(policy: ApprovalPolicy, facts: CallFacts) -> Verdict:
    """Return the verdict of the run's mode where no rule applies. See docs/permissions.md, "Profiles"."""
    mode = policy.mode
    if mode is ApprovalMode.PLAN:
        return Verdict(action=Action.ALLOW, reason="plan")
    if facts.risk == "high" and policy.always_confirm_high:
        return Verdict(action=Action.ASK, reason="risk_high")
    # Data that leaves the machine cannot be recalled: neither low risk nor an unasked kind sends it without approval.
    if mode is ApprovalMode.AUTO or (facts.risk == "low" and policy.auto_approve_low and not facts.sends):
        return Verdict(action=Action.ALLOW, reason="mode")
    if mode is ApprovalMode.MANUAL:
        return Verdict(action=Action.ASK, reason="manual")
    if mode is ApprovalMode.EDIT and _undoable(facts):
        return Verdict(action=Action.ALLOW, reason="mode")
    # Nor may a tool of an unasked kind change anything outside the workspace.
    leaves = facts.sends or (facts.changes and any(not path.inside for path in facts.paths))
    return (
        Verdict(action=Action.ASK, reason="selective")
        if leaves or policy.flags.asks(facts.kind)
        else Verdict(action=Action.ALLOW, reason="mode")
    )


def _undoable(facts: CallFacts) -> bool:
    """Whether the call only changes files inside the workspace, or is a line of commands known to be harmless."""
    safe = all(command.safe for command in facts.commands) if facts.commands else facts.writes
    return safe and bool(facts.commands or facts.paths) and all(path.inside for path in facts.paths) and not facts.hosts


def narrowest(facts: CallFacts) -> tuple[str, ...]:
    """Return the most specific rules that together cover this call, one for each part.

    Empty if no rule can: the folder of a command is uncertain, or it reads a file from outside the workspace.
    """
    texts: list[str] = []
    for part in _asked_for(facts):
        match part:
            case CommandFact():
                if part.folder is None or part.spelled_out > len(part.words):
                    return ()
                text = f"{facts.tool}({rule_pattern.folder_text(part.folder)}{rule_pattern.command_text(part.words)})"
            case Path():
                text = f"{facts.tool}({rule_pattern.path_text(part, facts.home)})"
            case HostFact():
                text = f"{facts.tool}(domain:{part.name})"
            case TargetFact():
                text = f"{facts.tool}({part.name})"
            case None:
                text = facts.tool
        if text not in texts:
            texts.append(text)
    return tuple(texts)
