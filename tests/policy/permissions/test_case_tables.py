"""What rules cover and what is decided, case by case, from ``rule_coverage.txt`` and ``verdicts.txt``, which document
both.
"""

# judges: app/atelier_desk/policy/permissions/path_denials.py
# judges: app/atelier_desk/policy/permissions/rule_pattern.py
# judges: app/atelier_desk/policy/permissions/decide.py
from __future__ import annotations

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions.decide import Level, decide
from tests.policy.permissions.read_case_tables import call, levels, rows

STRICT = ApprovalPolicy(mode=ApprovalMode.MANUAL, auto_approve_low=False)
FREE = ApprovalPolicy(mode=ApprovalMode.AUTO)
YES = {"yes": True, "no": False}


def coverage(cells: list[str]) -> tuple[object, object]:
    """The expectation of a line of ``rule_coverage.txt``, and the actual result."""
    rule, said, allow, deny = cells
    facts = call(said)
    allowed = decide([Level((PermissionRule(text=rule, action=Action.ALLOW),), STRICT)], facts).action is Action.ALLOW
    denied = decide([Level((PermissionRule(text=rule, action=Action.DENY),), FREE)], facts).action is Action.DENY
    return (YES[allow], YES[deny]), (allowed, denied)


def verdict(cells: list[str]) -> tuple[object, object]:
    """The expectation of a line of ``verdicts.txt``, and the actual result."""
    modes, written, said, action, reason, about = cells
    found = decide(levels(modes, written), call(said))
    return (action, reason, about), (found.action.value, found.reason, found.about)


def test_every_line_of_both_tables() -> None:
    wrong, cases = [], 0
    for name, judge in (("rule_coverage.txt", coverage), ("verdicts.txt", verdict)):
        for number, cells in rows(name):
            cases += 1
            try:
                expected, found = judge(cells)
            except Exception as error:
                expected, found = "a case", error
            if expected != found:
                wrong.append(f"{name}:{number}: {' | '.join(cells)}\n    expected {expected}, found {found}")
    assert not wrong, f"{len(wrong)} of {cases} lines are wrong:\n" + "\n".join(wrong)
    assert cases >= 300
