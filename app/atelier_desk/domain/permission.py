"""Permission rules: what the owner allows, wants to be asked about, or forbids. The text of a rule is read in ``policy.permissions``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.base import Model, Timestamp, new_id, utc_now


class Action(StrEnum):
    """What a rule says of the calls it covers. Deny beats ask, ask beats allow, whichever rule is more specific."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        """0 for allow, 1 for ask, 2 for deny."""
        return list(Action).index(self)


class RuleScope(StrEnum):
    """Where a rule holds: one run with its sub-agents, one workflow, the workflows of one folder, one agent, or everywhere. A yes to one
    call is no rule."""

    RUN = "run"
    WORKFLOW = "workflow"
    FOLDER = "folder"
    """Workflows whose first granted folder, where commands run and relative paths start, is this one."""
    AGENT = "agent"
    ALWAYS = "always"


class Holds(NamedTuple):
    """Where a rule holds: its scope, and the id or path of that."""

    scope: RuleScope
    scope_id: str = ""


class PermissionRule(Model):
    """One line of what agents may do.

    Attributes:
        text: the rule as people write it: ``read_file(src/**)``, ``run_command(git log:*)``,
            ``run_command(cd vendor && make)``, ``mcp__github``, ``section:web_ops``.
        scope_id: the run, workflow or agent of the scope, or its folder as an absolute path; empty when it holds everywhere.
        match, not_match: calls that the rule must and must not cover, tried when it is saved.
        last_matched_at: when it last decided a call; None: never.
        held: it came with a backup from elsewhere and does not hold before its owner says so.
    """

    id: str = Field(default_factory=new_id)
    text: str = Field(min_length=1, max_length=limits.RULE_TEXT)
    action: Action
    scope: RuleScope = RuleScope.ALWAYS
    scope_id: str = ""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    created_at: Timestamp = Field(default_factory=utc_now)
    last_matched_at: Timestamp | None = None
    held: bool = False

    @model_validator(mode="after")
    def _scope_has_its_id(self) -> PermissionRule:
        if (self.scope is RuleScope.ALWAYS) != (self.scope_id == ""):
            raise ValueError("scope_id is the id of the run, workflow or agent, or the folder, and empty for a rule that always holds")
        return self

    @property
    def where(self) -> Holds:
        """Where it holds."""
        return Holds(self.scope, self.scope_id)

    @property
    def used_or_made(self) -> datetime:
        """When it last decided a call, or was made if it never did."""
        return self.last_matched_at or self.created_at

    def bare(self) -> PermissionRule:
        """What it says, without what only its owner looks at: as a run is given it."""
        return self.model_copy(update={"match": (), "not_match": (), "last_matched_at": None})

    def holds_for(self, *, run_id: str = "", workflow_id: str = "", agent_id: str = "", folder: str = "") -> bool:
        """Whether the rule's scope takes in a call of this root run, workflow, agent and first granted folder."""
        here = {RuleScope.RUN: run_id, RuleScope.WORKFLOW: workflow_id, RuleScope.AGENT: agent_id, RuleScope.FOLDER: folder}
        return self.scope is RuleScope.ALWAYS or here[self.scope] == self.scope_id


class Verdict(Model):
    """What was decided about a call.

    Attributes:
        rule_id, rule: the rule that decided, empty when none did.
        reason: why, as a stable word: ``rule``, a concern (``protected``, ``tainted``, ``repaired``, ``unparsed``, ``opaque``,
            ``installs``, ``unconfined``, ``altered``, ``repository``, ``denied``),
            ``outside`` (no granted folder holds it, so its tool never gets there), or what the run's mode says (``plan``, ``manual``,
            ``selective``, ``risk_high``, ``mode``).
        about: the part of the call that decided: one of its paths, commands, hosts or agents; empty for the whole call.
    """

    action: Action
    reason: str
    rule_id: str = ""
    rule: str = ""
    about: str = ""


class DecisionRecord(Model):
    """What a verdict rests on besides the call's own event: with it the same verdict is reached again without looking at a file.

    What says nothing (no, empty) is not written down.

    Attributes:
        version: of the deciding, ``decide.VERSION``; ``level`` names the rules, the mode and the settings it was decided by
            (``decide.Level.name``).
        unread: the call could not be looked into, so no rule was met.
        paths: each path in all its spellings, links followed; ``redirected`` are places in it. ``roots``: the granted folders.
        commands: the words of each command; ``safe`` are places in it. ``folders``, ``spelled_out``: of each command, none when all are
            empty or 0.
        concerns: why it is asked about though a rule allows it, and what that is about.
        reached, taken: as ``paths``, each with its roots. also: for each command, for each of its words the other ways to say it.
        kind, changes, writes, sends, path_tools, hosts, agents, home, settings: as in ``policy.permissions.facts.Facts``.
    """

    version: int = 0
    level: str = ""
    unread: bool = False
    kind: str = ""
    changes: bool = False
    writes: bool = False
    sends: bool = False
    paths: tuple[tuple[str, ...], ...] = ()
    roots: tuple[str, ...] = ()
    redirected: tuple[int, ...] = ()
    path_tools: tuple[str, ...] = ()
    reached: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    taken: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    also: tuple[tuple[tuple[str, ...], ...], ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    safe: tuple[int, ...] = ()
    folders: tuple[str | None, ...] = ()
    spelled_out: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    home: str = ""
    concerns: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()

    @model_serializer(mode="wrap")
    def _short(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in handler(self).items() if value}


def by_last_use(rules: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Rules as they are listed: those that decided a call last first; one that never did stands where it was made."""
    return tuple(sorted(rules, key=lambda rule: rule.used_or_made, reverse=True))


def snapshot(rules: Iterable[PermissionRule]) -> str:
    """A hash of what the rules say, in hexadecimal: the same rules in another order, or used since, have the same."""
    said = sorted([rule.action.value, rule.scope.value, rule.scope_id, rule.text] for rule in rules)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
