"""Texts that are no rule. What a rule covers stands in ``coverage.txt``."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.policy.permissions.pattern import parse


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
