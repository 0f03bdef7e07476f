"""The monthly limit in the terminal."""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_the_limit_is_set_shown_and_removed(cli: Cli) -> None:
    assert "This month: $0.00, no limit" in cli("usage").out
    limited = cli("usage", "--limit", "12.5")
    assert "This month: $0.00 of $12.50" in limited.out
    assert "US dollars" in limited.err
    assert cli("usage", "--json").json["month"]["limit"] == 12.5
    assert cli("usage", "--limit", "-1").status == 2
    assert "no limit" in cli("usage", "--limit", "0").out


def test_a_new_limit_warns_again_in_the_same_month(cli: Cli) -> None:
    assert cli("settings", "set", "monthly_warned", "2026-11").status == 0
    assert cli("settings", "get", "monthly_warned").out.strip() == "2026-11"
    cli("usage", "--limit", "12.5")
    assert cli("settings", "get", "monthly_warned").out.strip() != "2026-11"
