"""Rules about hosts: with ports, in brackets, with the mark of the private network."""

# judges: app/atelier_desk/policy/permissions/rule_pattern.py
from __future__ import annotations

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.policy.permissions import rule_pattern


@pytest.mark.parametrize(
    ("argument", "host", "covered"),
    [
        ("domain:python.org", "python.org", True),
        ("domain:python.org", "python.org:8080", True),
        ("domain:python.org:8080", "python.org:8080", True),
        ("domain:python.org:8080", "python.org", False),
        ("domain:python.org:443", "python.org", True),
        ("domain:*.python.org:8080", "docs.python.org:8080", True),
        ("domain:[::1]:8080", "[::1]:8080", True),
        ("domain:[::1]", "[::1]:8080", True),
        ("domain:[::1]:443", "[::1]", True),
        ("domain:[::1]:8080", "[::1]", False),
        ("local:nas.lan", "nas.lan:5000", True),
        ("local:nas.lan", "other.lan", False),
    ],
)
def test_a_port_in_a_rule_is_compared(argument: str, host: str, covered: bool) -> None:
    assert rule_pattern.covers_host(argument, host) is covered


def test_the_text_of_a_rule_is_validated() -> None:
    for text in ("fetch_web_page(domain:[::1]:80)", "fetch_web_page(local:*.lan)"):
        assert rule_pattern.is_about_hosts(rule_pattern.parse(text).argument or "")
    for text in ("fetch_web_page(local:)", "fetch_web_page(domain:a/b)", "fetch_web_page(local:a b)"):
        with pytest.raises(UsageError):
            rule_pattern.parse(text)


@pytest.mark.parametrize(("argument", "named"), [
    ("domain:x.org", False), ("domain:x.org:80", True), ("local:[::1]", False), ("local:[::1]:443", True),
    ("domain:*.x.org:8080", True),
])  # fmt: skip
def test_whether_a_rule_names_a_port(argument: str, named: bool) -> None:
    assert rule_pattern.is_for_port(argument) is named
