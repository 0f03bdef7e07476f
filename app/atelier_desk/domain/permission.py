"""Permission rules.

What the user allows, wants to be asked about, or denies. ``policy.permissions`` parses their text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now


class Action(StrEnum):
    """Action of a rule for the calls it covers. Deny beats ask, ask beats allow, regardless of specificity."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        """0 for allow, 1 for ask, 2 for deny."""
        return list(Action).index(self)


class RuleScope(StrEnum):
    """Scope of a rule: one run with its sub-agents, one workflow, the workflows of one folder, one agent, or
    everywhere.

    Approving a single call creates no rule.
    """

    RUN = "run"
    WORKFLOW = "workflow"
    FOLDER = "folder"
    """Workflows whose first granted folder (where commands run and relative paths start) is this one."""
    AGENT = "agent"
    ALWAYS = "always"


class Holds(NamedTuple):
    """Scope of a rule, with its id or path."""

    scope: RuleScope
    scope_id: str = ""


class PermissionRule(Model):
    """One permission rule.

    Attributes:
        text: the rule as people write it: ``read_file(src/**)``, ``run_command(git log:*)``, ``run_command(cd vendor &&
            make)``, ``mcp__github``, ``section:web_ops``.
        scope_id: run, workflow or agent of the scope, or its absolute folder; empty for everywhere.
        match, not_match: calls that the rule must and must not cover, checked when it is saved.
        last_matched_at: when it last decided a call; None: never.
        held: it came with foreign data and is inactive until the user confirms it.
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
            raise ValueError(
                "scope_id is the id of the run, workflow or agent, or the folder, and empty for a rule that always "
                "holds"
            )
        return self

    @property
    def where(self) -> Holds:
        """Its scope."""
        return Holds(self.scope, self.scope_id)

    @property
    def used_or_made(self) -> datetime:
        """When it last decided a call, or was created if it never did."""
        return self.last_matched_at or self.created_at

    def bare(self) -> PermissionRule:
        """The rule without data for display only, as given to a run."""
        return self.model_copy(update={"match": (), "not_match": (), "last_matched_at": None})

    def holds_for(self, *, run_id: str = "", workflow_id: str = "", agent_id: str = "", folder: str = "") -> bool:
        """Whether the scope includes a call of this root run, workflow, agent and first granted folder."""
        here = {
            RuleScope.RUN: run_id,
            RuleScope.WORKFLOW: workflow_id,
            RuleScope.AGENT: agent_id,
            RuleScope.FOLDER: folder,
        }
        return self.scope is RuleScope.ALWAYS or here[self.scope] == self.scope_id


class Verdict(Model):
    """Decision about a call.

    Attributes:
        rule_id, rule: the deciding rule, empty if there is none.
        reason: a stable code: ``rule``, a concern (``protected``, ``tainted``, ``repaired``, ``unparsed``, ``opaque``,
            ``installs``, ``unconfined``, ``altered``, ``repository``, ``denied``), ``outside`` (in no granted folder,
            so the tool cannot access it), or the run's mode (``plan``, ``manual``, ``selective``, ``risk_high``,
            ``mode``).
        about: the deciding part of the call: a path, command, host or agent; empty for the whole call.
    """

    action: Action
    reason: str
    rule_id: str = ""
    rule: str = ""
    about: str = ""


class DecisionRecord(Model):
    """Facts of a verdict besides the call's own event: they reproduce the verdict without accessing files.

    Default values (False, empty) are not stored.

    Attributes:
        version: ``decide.VERSION``; ``level`` identifies the rules, mode and settings used (``decide.Level.name``).
        unread: the call could not be inspected, so no rule was applied.
        paths: each path in all its spellings, links resolved; ``redirected`` are positions in it. ``roots``: the
            granted folders.
        commands: the words of each command; ``safe`` are positions in it. ``folders``, ``spelled_out``: by command,
            empty if all are empty or 0.
        concerns: why it asks although a rule allows it, and what that concerns.
        reached, taken: like ``paths``, each with its roots. also: by command and word, other spellings.
        kind, changes, writes, sends, path_tools, hosts, agents, home, settings: see
            ``policy.permissions.call_facts.CallFacts``.
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
    """Return rules for display: latest use first; an unused one is sorted by its creation."""
    return tuple(sorted(rules, key=lambda rule: rule.used_or_made, reverse=True))


def snapshot(rules: Iterable[PermissionRule]) -> str:
    """Return a hexadecimal hash of the rules' content, independent of order and use."""
    records = sorted([rule.action.value, rule.scope.value, rule.scope_id, rule.text] for rule in rules)
    return hashlib.sha256(json.dumps(records).encode()).hexdigest()
