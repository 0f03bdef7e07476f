"""Which calls need a person's approval: every mode with every kind, risk, flag and threshold."""

# judges: app/atelier_desk/policy/approval_strictness_and_grouping.py

from __future__ import annotations

import itertools

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import (
    ApprovalFlags,
    ApprovalKind,
    ApprovalPolicy,
    ApprovalRequest,
    ApprovalStatus,
    RiskName,
)
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.approval_strictness_and_grouping import risk_of, stricter, together
from atelier_desk.policy.permissions.call_facts import CallFacts, Concern
from atelier_desk.policy.permissions.decide import Level, decide
from atelier_desk.tools.registry.sections import SectionRegistry

FLAGS = {
    ApprovalKind.TOOL: "tools",
    ApprovalKind.SUB_AGENT: "sub_agents",
    ApprovalKind.MCP: "mcp",
    ApprovalKind.FILE_OP: "file_ops",
    ApprovalKind.DB_OP: "db_ops",
}
RISKS: tuple[RiskName, ...] = ("low", "medium", "high")


def facts(kind: ApprovalKind = ApprovalKind.TOOL, risk: RiskName = "medium", **more: object) -> CallFacts:
    return CallFacts(**{"tool": "t", "kind": kind, "risk": risk, **more})  # type: ignore[arg-type]


def reason(policy: ApprovalPolicy, call: CallFacts, granted: tuple[str, ...] = ()) -> str | None:
    """Why a call needs approval; None when it may run."""
    more = tuple(PermissionRule(text=text, action=Action.ALLOW) for text in granted)
    verdict = decide([Level((*policy.rules, *more), policy)], call)
    return None if verdict.action is Action.ALLOW else verdict.reason


def expected(mode: ApprovalMode, kind: ApprovalKind, risk: RiskName, flag: bool, low: bool, high: bool) -> str | None:
    """The table of the modes, written a second time independently."""
    asks_high = high and risk == "high"
    skips_low = low and risk == "low"
    if mode is ApprovalMode.PLAN:
        return None  # these calls change nothing
    if mode is ApprovalMode.AUTO:
        return "risk_high" if asks_high else None
    if asks_high:
        return "risk_high"
    if mode is ApprovalMode.MANUAL:
        return None if skips_low else "manual"
    return "selective" if flag and not skips_low else None


TABLE = list(itertools.product(ApprovalMode, ApprovalKind, RISKS, (False, True), (False, True), (False, True)))


@pytest.mark.parametrize("mode", ApprovalMode)
def test_every_combination_matches_the_table(mode: ApprovalMode) -> None:
    for _mode, kind, risk, flag, low, high in (row for row in TABLE if row[0] is mode):
        flags = ApprovalFlags(**{name: flag if each is kind else not flag for each, name in FLAGS.items()})
        policy = ApprovalPolicy(mode=mode, flags=flags, auto_approve_low=low, always_confirm_high=high)
        assert reason(policy, facts(kind, risk)) == expected(mode, kind, risk, flag, low, high), (
            kind,
            risk,
            flag,
            low,
            high,
        )


def test_the_defaults() -> None:
    policy = ApprovalPolicy()
    asked = {kind for kind in ApprovalKind if reason(policy, facts(kind)) is not None}
    assert asked == {ApprovalKind.SUB_AGENT, ApprovalKind.MCP, ApprovalKind.FILE_OP, ApprovalKind.DB_OP}
    assert [reason(policy, facts(ApprovalKind.SUB_AGENT, risk)) for risk in RISKS] == [None, "selective", "selective"]
    assert (policy.timeout_s, policy.on_timeout) == (0, "reject")  # it waits; a limit set by a person rejects
    manual = ApprovalPolicy(mode=ApprovalMode.MANUAL)
    assert [reason(manual, facts(risk=risk)) for risk in RISKS] == [None, "manual", "manual"]
    assert reason(ApprovalPolicy(mode=ApprovalMode.AUTO), facts(risk="high", kind=ApprovalKind.FILE_OP)) is None


@pytest.mark.parametrize("mode", ApprovalMode)
@pytest.mark.parametrize(
    ("rule", "covered"),
    [
        ("t", True),
        ("section:planning_ops", True),
        ("mcp__files", True),
        ("planning_ops", True),  # a section's name covers its tools
        ("planning", False),
        ("section:t", False),
        ("mcp__other", False),
    ],
)
def test_a_rule_covers_only_what_it_names(mode: ApprovalMode, rule: str, covered: bool) -> None:
    policy = ApprovalPolicy(
        mode=mode,
        auto_approve_low=False,
        always_confirm_high=True,
        rules=(PermissionRule(text=rule, action=Action.ALLOW),),
    )
    asked = reason(policy, facts(risk="high", section="planning_ops", server="files"))
    assert (asked is None) is (covered or mode is ApprovalMode.PLAN)  # a plan is read-only, and this call is not


def test_an_approval_for_the_run_covers_its_tool_alone() -> None:
    policy = ApprovalPolicy(mode=ApprovalMode.MANUAL)
    assert reason(policy, facts(tool="a"), ("a",)) is None
    assert reason(policy, facts(tool="b"), ("a",)) == "manual"


def test_repaired_arguments_of_a_changing_call_need_approval() -> None:
    policy = ApprovalPolicy(flags=ApprovalFlags(tools=False))
    assert reason(policy, facts(concerns=(Concern.REPAIRED,), changes=True)) == "repaired"
    assert reason(policy, facts(changes=True)) is None
    free = ApprovalPolicy(mode=ApprovalMode.AUTO)
    assert reason(free, facts(concerns=(Concern.REPAIRED,), changes=True)) == "repaired", (
        "only what was read is given up under Free"
    )
    assert reason(free, facts(concerns=(Concern.TAINTED,), changes=True)) is None


def test_a_risk_set_by_the_owner_replaces_the_tools_own() -> None:
    policy = ApprovalPolicy(risks={"t": "high"}, always_confirm_high=True, mode=ApprovalMode.AUTO)
    assert risk_of(policy, "t", "low") == "high"
    assert risk_of(policy, "other", "low") == "low"
    assert reason(policy, facts(risk=risk_of(policy, "t", "low"))) == "risk_high"


def test_the_stricter_of_two_modes_applies() -> None:
    order = [ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.SELECTIVE, ApprovalMode.MANUAL, ApprovalMode.PLAN]
    for one, other in itertools.product(order, order):
        assert stricter(one, other) is order[max(order.index(one), order.index(other))]


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ("planning_ops", ApprovalKind.SUB_AGENT),
        ("file_ops", ApprovalKind.FILE_OP),
        ("shell_ops", ApprovalKind.FILE_OP),
        ("rag_ops", ApprovalKind.DB_OP),
        ("project_ops", ApprovalKind.DB_OP),
        ("core_ops", ApprovalKind.TOOL),
    ],
)
def test_a_section_determines_the_kind_of_its_calls(section: str, kind: ApprovalKind) -> None:
    assert SectionRegistry().get(section).kind is kind


def waits(id: str, **fields: object) -> ApprovalRequest:
    values = {
        "workflow_id": "w",
        "run_id": "r",
        "call_id": id,
        "tool": "t",
        "reason": "selective",
        "risk": "medium",
        "always": ("t",),
    }
    return ApprovalRequest(id=id, **(values | fields))  # type: ignore[arg-type]


ALONE: list[dict[str, object]] = [
    {"risk": "high"},
    {"reason": "risk_high"},
    *(dict[str, object](reason=concern.value) for concern in Concern),
    {"reason": "rule"},
    {"always": ()},  # asks each time, although the profile is given as the reason
    {"status": ApprovalStatus.APPROVED},
    {"run_id": "another"},
    {
        "presentation": Presentation(
            summary=CallText(text="Run “{command}”", params={"command": "echo " + "a" * 190 + "…"})
        )
    },
]
"""Calls that no common approval may cover."""


@pytest.mark.parametrize("fields", ALONE, ids=str)
def test_these_calls_are_approved_one_by_one(fields: dict[str, object]) -> None:
    found = together([waits("a"), waits("b", **fields), waits("c")])
    assert [[each.id for each in group] for group in found] == [["a", "c"], ["b"]]


def test_calls_of_one_run_are_approved_together_in_order() -> None:
    found = together(
        [waits("a", reason="manual"), waits("x", run_id="s"), waits("b", risk="low"), waits("y", run_id="s")]
    )
    assert [[each.id for each in group] for group in found] == [["a", "b"], ["x", "y"]]
    assert together([]) == []
