"""Approvals: which calls need one, requests, and decisions.

Modes and flags are stored under these names; people see the profiles of docs/permissions.md.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, field_validator

from atelier_desk.domain import limits
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.call_presentation_and_subjects import Presentation, Subjects
from atelier_desk.domain.permission import Holds, PermissionRule, RuleScope

NOBODY_TO_ASK = "Refused: nobody is there to ask in this run. Go on without this call."
"""Note of a rejection that was chosen in advance for a whole run. It is for the agent; people see a translation."""

RiskName = Literal["low", "medium", "high"]
RISKS: tuple[RiskName, ...] = ("low", "medium", "high")


class ApprovalKind(StrEnum):
    """Kind of a request; each has a flag in ``ApprovalFlags`` for the selective mode."""

    TOOL = "tool"
    SUB_AGENT = "sub_agent"
    MCP = "mcp"
    FILE_OP = "file_op"
    DB_OP = "db_op"


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    """The run was stopped before a decision."""


class ApprovalScope(StrEnum):
    """Scope of an approval.

    This call, all calls of the tool in this run and its sub-agents, or permanently (a rule).
    """

    ONCE = "once"
    RUN = "run"
    ALWAYS = "always"


class OnTimeout(StrEnum):
    """What happens without a decision in time; ``ask_again`` restarts the time."""

    REJECT = "reject"
    APPROVE = "approve"
    ASK_AGAIN = "ask_again"


class ApprovalFlags(Model):
    """Which kinds the selective mode asks about."""

    tools: bool = False
    sub_agents: bool = True
    mcp: bool = True
    file_ops: bool = True
    db_ops: bool = True

    def asks(self, kind: ApprovalKind) -> bool:
        return {
            ApprovalKind.TOOL: self.tools,
            ApprovalKind.SUB_AGENT: self.sub_agents,
            ApprovalKind.MCP: self.mcp,
            ApprovalKind.FILE_OP: self.file_ops,
            ApprovalKind.DB_OP: self.db_ops,
        }[kind]


class ApprovalSettings(Model):
    """The user's settings for all runs. ``timeout_s`` is 0 (wait forever) or 30–300 seconds of card visibility."""

    flags: ApprovalFlags = ApprovalFlags()
    auto_approve_low: bool = True
    always_confirm_high: bool = False
    timeout_s: float = limits.APPROVAL_TIMEOUT_S
    on_timeout: OnTimeout = OnTimeout.REJECT
    risks: dict[str, RiskName] = {}
    """By tool: a risk that replaces the tool's own."""
    rules: tuple[PermissionRule, ...] = ()

    @field_validator("timeout_s")
    @classmethod
    def _known_timeout(cls, value: float) -> float:
        low, high = limits.APPROVAL_TIMEOUT
        if value != 0 and not low <= value <= high:
            raise ValueError(f"must be 0 (no time limit) or between {low} and {high} seconds, not {value:g}")
        return value


class ApprovalPolicy(ApprovalSettings):
    """Policy of one run: the settings at its start, and its mode."""

    mode: ApprovalMode = ApprovalMode.SELECTIVE
    snapshot: str = ""
    """Hash of its rules: runs with equal hashes used equal rules."""


class Decision(Model):
    """Decision about one call.

    Attributes:
        arguments: edited arguments of the call; None keeps the model's own.
        rules: further permissions: for the run, or permanently.
        note: reason of a rejection, for the agent.
        decided_by: ``user``, ``timeout`` or ``stop``.
    """

    status: ApprovalStatus
    arguments: dict[str, object] | None = None
    scope: ApprovalScope = ApprovalScope.ONCE
    rules: tuple[PermissionRule, ...] = ()
    note: str = ""
    decided_by: str = "user"


class Ancestor(Model):
    """A run above a sub-agent; a lineage lists them from root to parent."""

    run_id: str
    agent_name: str


EVERYWHERE = Holds(RuleScope.ALWAYS)


class ApprovalRequest(Model):
    """A call that waits for approval.

    Attributes:
        root_run_id: the run that a person started.
        lineage: the runs above ``run_id``, root first; empty for a root run.
        reason: why it asks: a reason of ``Verdict``, such as ``manual`` or ``protected``.
        rule, about: the rule that asked, if any, and the part of the call that it, or the reason, concerns.
        always: the narrowest rules that would allow it permanently; none if no rule can.
        details: what a card shows besides the arguments, by kind: spawn ``sub_agent_name``, ``prompt_preview``,
            ``prompt_length``, ``tools``; delegate ``target_agent_id``, ``target_agent_name``, ``prompt_preview``,
            ``prompt_length``; parallel ``task_count``, ``tasks``; file changes ``undo`` and ``undo_days``, see
            ``undo_text``. ``always_in`` is the scope of a permanent permission, ``{"scope", "scope_id"}``: see
            ``holds``.
        presentation: the call in words for people; ``subjects``: what it affects.
        arguments: the call's arguments as written by the model or as parsed; ``edited``: those changed by a person,
            None if unchanged.
        seen_ms: how long the card was visible; only that counts towards ``timeout_s`` (0 = none).
        round: number of times it was asked, from 1.
        decided_by: ``user``, ``timeout`` or ``stop``; ``note`` is the reason of a rejection, for the agent.
    """

    id: str = Field(default_factory=new_id)
    workflow_id: str
    run_id: str
    root_run_id: str = ""
    call_id: str
    agent_id: str = ""
    agent_name: str = ""
    lineage: tuple[Ancestor, ...] = ()
    kind: ApprovalKind = ApprovalKind.TOOL
    tool: str
    operation: str = ""
    server: str = ""
    section: str = ""
    effect: str = ""
    risk: RiskName = "low"
    reason: str = ""
    rule: str = ""
    about: str = ""
    always: tuple[str, ...] = ()
    arguments: dict[str, object] = {}
    edited: dict[str, object] | None = None
    details: dict[str, Any] = {}
    presentation: Presentation = Presentation()
    subjects: Subjects = Subjects()
    status: ApprovalStatus = ApprovalStatus.PENDING
    scope: ApprovalScope = ApprovalScope.ONCE
    timeout_s: float = limits.APPROVAL_TIMEOUT_S
    on_timeout: OnTimeout = OnTimeout.REJECT
    seen_ms: int = 0
    round: int = 1
    decided_by: str = ""
    note: str = ""
    created_at: Timestamp = Field(default_factory=utc_now)
    decided_at: Timestamp | None = None

    @property
    def holds(self) -> Holds:
        """Scope of a permanent permission: for file operations the folder of the call, for others everywhere."""
        said = self.details.get("always_in")
        if isinstance(said, dict) and said.get("scope") in set(RuleScope):
            return Holds(RuleScope(said["scope"]), str(said.get("scope_id", "")))
        # From a version that did not store it.
        return (
            Holds(RuleScope.WORKFLOW, self.workflow_id) if self.subjects.command or self.subjects.paths else EVERYWHERE
        )


def same_arguments(one: dict[str, object], other: dict[str, object]) -> bool:
    """Whether two values are the same JSON: in Python ``1 == True``."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
