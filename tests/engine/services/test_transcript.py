"""Which turns are in view, and what stands beside them: pure, from run rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.domain.workflow import Run
from app.engine.services.transcript import lineage, newest_under

START = datetime(2026, 1, 1, tzinfo=UTC)


def run(id: str, previous: str | None = None, *, minute: int = 0, parent: str | None = None) -> Run:
    return Run(id=id, workflow_id="w", previous_run_id=previous, parent_run_id=parent, created_at=START + timedelta(minutes=minute))


def test_a_straight_conversation_is_complete_and_has_no_branches() -> None:
    found = lineage([run("a"), run("b", "a", minute=1), run("c", "b", minute=2)], "c")
    assert found.chain == ("a", "b", "c")
    assert found.complete
    assert found.branches == {}


def test_versions_of_a_turn_are_counted_in_the_order_they_were_made() -> None:
    runs = [run("a"), run("b", "a", minute=1), run("b2", "a", minute=2), run("c", "b2", minute=3), run("b3", "a", minute=4)]
    found = lineage(runs, "c")
    assert found.chain == ("a", "b2", "c")
    assert not found.complete
    assert found.branches["b2"].runs == ("b", "b2", "b3")
    assert (found.branches["b2"].index, found.branches["b2"].count) == (1, 3)
    assert "c" not in found.branches


def test_versions_of_the_first_turn_are_branches_too() -> None:
    found = lineage([run("a"), run("a2", minute=1)], "a2")
    assert found.branches["a2"].runs == ("a", "a2")


def test_sub_agents_are_in_no_branch_and_make_a_page_filter() -> None:
    found = lineage([run("a"), run("child", "a", parent="a", minute=1)], "a")
    assert found.chain == ("a",)
    assert not found.complete
    assert found.branches == {}


def test_damage_ends_the_chain_instead_of_looping() -> None:
    assert lineage([run("a", "b"), run("b", "a")], "a").chain == ("b", "a")
    assert lineage([run("b", "gone")], "b").chain == ("b",)
    assert lineage([], None).chain == ()


def test_choosing_a_version_shows_what_followed_it_last() -> None:
    runs = [run("a"), run("b", "a", minute=1), run("c", "b", minute=2), run("c2", "b", minute=3), run("b2", "a", minute=4)]
    assert newest_under(runs, "b") == "c2"
    assert newest_under(runs, "b2") == "b2"
    assert newest_under(runs, "a") == "b2"
