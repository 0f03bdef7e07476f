"""Approvals: which calls a person must allow first, the requests for it, and what was decided.

Modes and flags are stored under these names; people see the profiles of docs/permissions.md.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, field_validator

from atelier_desk.domain import limits
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.base import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.call import Presentation, Subjects
from atelier_desk.domain.permission import Holds, PermissionRule, RuleScope

NOBODY_TO_ASK = "Refused: nobody is there to ask in this run. Go on without this call."
"""The note of a rejection that was chosen for a whole run beforehand. The agent reads it; people are told in their language."""

RiskName = Literal["low", "medium", "high"]
RISKS: tuple[RiskName, ...] = ("low", "medium", "high")


class ApprovalKind(StrEnum):
    """What is asked for; each kind has a flag in ``ApprovalFlags`` that the selective mode looks at."""

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
    """The run was stopped before anybody decided."""


class ApprovalScope(StrEnum):
    """How far a yes reaches: this call, every call of the tool in this run and its sub-agents, or from now on (a rule)."""

    ONCE = "once"
    RUN = "run"
    ALWAYS = "always"


class OnTimeout(StrEnum):
    """What happens when nobody decided in time; ``ask_again`` starts the time anew."""

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
    """The owner's choice for all runs. ``timeout_s`` is 0 (wait for ever) or 30–300 seconds in which the card can be seen."""

    flags: ApprovalFlags = ApprovalFlags()
    auto_approve_low: bool = True
    always_confirm_high: bool = False
    timeout_s: float = limits.APPROVAL_TIMEOUT_S
    on_timeout: OnTimeout = OnTimeout.REJECT
    risks: dict[str, RiskName] = {}
    """By tool, a risk that replaces the tool's own."""
    rules: tuple[PermissionRule, ...] = ()

    @field_validator("timeout_s")
    @classmethod
    def _known_timeout(cls, value: float) -> float:
        low, high = limits.APPROVAL_TIMEOUT
        if value != 0 and not low <= value <= high:
            raise ValueError(f"must be 0 (wait for ever) or between {low} and {high} seconds, not {value:g}")
        return value


class ApprovalPolicy(ApprovalSettings):
    """What holds for one run: the settings as they were when it started, and its mode."""

    mode: ApprovalMode = ApprovalMode.SELECTIVE
    snapshot: str = ""
    """A hash of what its rules say: runs with the same one were judged by the same rules."""


class Decision(Model):
    """What was decided about one call.

    Attributes:
        arguments: what the call runs with instead of the model's own arguments; None leaves them.
        rules: what is allowed besides this call: for the run, or from now on.
        note: why it was rejected, in words for the agent.
        decided_by: ``user``, ``timeout`` or ``stop``.
    """

    status: ApprovalStatus
    arguments: dict[str, Any] | None = None
    scope: ApprovalScope = ApprovalScope.ONCE
    rules: tuple[PermissionRule, ...] = ()
    note: str = ""
    decided_by: str = "user"


class Ancestor(Model):
    """A run above a sub-agent; a lineage lists them from the root to the parent."""

    run_id: str
    agent_name: str


EVERYWHERE = Holds(RuleScope.ALWAYS)


class ApprovalRequest(Model):
    """A call that waits for a person's yes.

    Attributes:
        root_run_id: the run a person started.
        lineage: the runs above ``run_id``, the root first; empty for a root run.
        reason: why it is asked: a reason of ``Verdict``, such as ``manual`` or ``protected``.
        rule, about: the rule that asked, if one did, and the part of the call that it, or the reason, is about.
        always: the narrowest rules that would allow it from now on; none where no rule can.
        details: what a card shows besides the arguments, by kind: spawn ``sub_agent_name``, ``prompt_preview``, ``prompt_length``,
            ``tools``; delegate ``target_agent_id``, ``target_agent_name``, ``prompt_preview``, ``prompt_length``; parallel ``task_count``,
            ``tasks``; changes of files ``undo`` and ``undo_days``, see ``undo_text``. ``always_in`` is where a yes for ever holds,
            ``{"scope", "scope_id"}``: see ``holds``.
        presentation: the call in words for people; ``subjects`` what it touches.
        arguments: the call's exact arguments, as the model wrote them or as they were read; ``edited`` what a person made of them, None
            when unchanged.
        seen_ms: how long the card could be seen; only that uses up ``timeout_s`` (0 = none).
        round: how often it was asked, from 1.
        decided_by: ``user``, ``timeout`` or ``stop``; ``note`` is a rejection's reason, which the agent reads.
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
    arguments: dict[str, Any] = {}
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
        """Where a yes from now on holds: what works on files holds in the folder it was asked in, anything else everywhere."""
        said = self.details.get("always_in")
        if isinstance(said, dict) and said.get("scope") in set(RuleScope):
            return Holds(RuleScope(said["scope"]), str(said.get("scope_id", "")))
        # Asked by a version that did not say.
        return Holds(RuleScope.WORKFLOW, self.workflow_id) if self.subjects.command or self.subjects.paths else EVERYWHERE


def same_arguments(one: dict[str, object], other: dict[str, object]) -> bool:
    """Whether these are the same JSON: to Python ``1`` and ``true`` are equal."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
