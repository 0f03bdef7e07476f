"""``atelier agents gallery`` and ``agents add --from``: a copy of a ready-made agent, in the language of the
terminal.
"""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_a_gallery_agent_is_listed_copied_renamed_and_removed(cli: Cli) -> None:
    listed = cli("agents", "gallery", "--json").json
    assert len(listed) >= 14
    reviewer = next(each for each in listed if each["key"] == "reviewer")
    assert (reviewer["name"], reviewer["purpose"]) == (
        "Code reviewer",
        "Finds bugs and risks in changes without editing anything",
    )
    added = cli("agents", "add", "--from", "reviewer", "--json").json
    assert (added["config"]["name"], added["config"]["tools"]) == ("Code reviewer", reviewer["tools"])
    assert cli("agents", "add", "--from", "reviewer").status == 2, "the name is taken"
    assert (
        cli("agents", "add", "--from", "reviewer", "--on-conflict", "rename").out.strip().endswith("Code reviewer (2)")
    )
    assert cli("agents", "add", "--from", "reviewer", "--name", "Ann").status == 0
    shown = cli("agents", "show", "Ann").json
    assert (shown["name"], shown["purpose"]) == ("Ann", reviewer["purpose"])
    assert "Finds bugs and risks" in cli("agents", "list").out
    assert cli("agents", "remove", "Ann").status == 0


def test_an_unknown_name_lists_the_available_ones(cli: Cli) -> None:
    unknown = cli("agents", "add", "--from", "poet")
    assert (unknown.status, "test-fixer" in unknown.err) == (2, True)
    assert cli("agents", "add").status == 2
    assert cli("agents", "add", "a.json", "--from", "writer").status == 2


def test_the_gallery_is_in_french(cli: Cli) -> None:
    assert "Relecteur de code" in cli("--lang", "fr", "agents", "gallery").out
