"""What the text of a rule covers: the table of ``coverage.txt``, and texts that are no rule."""

from __future__ import annotations

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.policy.permissions.decide import Level, decide
from atelier_desk.policy.permissions.pattern import parse
from tests.policy.permissions.reading import call, rows

STRICT = ApprovalPolicy(mode=ApprovalMode.MANUAL, auto_approve_low=False)
FREE = ApprovalPolicy(mode=ApprovalMode.AUTO)


@pytest.mark.parametrize(("rule", "said", "allow", "deny"), list(rows("coverage.txt")))
def test_what_a_rule_covers(rule: str, said: str, allow: str, deny: str) -> None:
    allowing = PermissionRule(text=rule, action=Action.ALLOW)
    forbidding = PermissionRule(text=rule, action=Action.DENY)
    assert decide([Level((allowing,), STRICT)], call(said)).action == (Action.ALLOW if allow == "yes" else Action.ASK)
    assert decide([Level((forbidding,), FREE)], call(said)).action == (Action.DENY if deny == "yes" else Action.ALLOW)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "read file", "read_file(", "read_file()", "read_file( )", "read_file(:*)", "(x)", "section:", "section:a b",
        "read_file(../x)", "read_file(a/../../b)", "read_file(!secret)", "fetch(domain:)", "fetch(domain:a b)", "fetch(domain:*.*.x)",
        "fetch(domain:a/b)", "read_file(x) ", "read_file(x)y", "domain:x", "a\nb",
    ],
)  # fmt: skip
def test_texts_that_are_no_rule(text: str) -> None:
    with pytest.raises(UsageError, match="“"):
        parse(text)
