"""The visible turns and their versions, computed from run rows."""

from __future__ import annotations

from atelier_desk.domain.workflow_branches import RunLink
from atelier_desk.engine.services.workflow.transcript import lineage


def run(id: str, previous: str | None = None, *, parent: str | None = None) -> RunLink:
    return RunLink(id, previous, parent)


def test_a_straight_conversation_is_complete_and_has_no_branches() -> None:
    found = lineage([run("a"), run("b", "a"), run("c", "b")], "c")
    assert found.chain == ("a", "b", "c")
    assert found.complete
    assert found.branches == {}


def test_versions_of_a_turn_are_counted_in_the_order_of_creation() -> None:
    runs = [run("a"), run("b", "a"), run("b2", "a"), run("c", "b2"), run("b3", "a")]
    found = lineage(runs, "c")
    assert found.chain == ("a", "b2", "c")
    assert not found.complete
    assert found.branches["b2"].runs == ("b", "b2", "b3")
    assert (found.branches["b2"].index, found.branches["b2"].count) == (1, 3)
    assert "c" not in found.branches


def test_versions_of_the_first_turn_are_branches_too() -> None:
    found = lineage([run("a"), run("a2")], "a2")
    assert found.branches["a2"].runs == ("a", "a2")


def test_sub_agents_are_in_no_branch_and_need_a_page_filter() -> None:
    found = lineage([run("a"), run("child", "a", parent="a")], "a")
    assert found.chain == ("a",)
    assert not found.complete
    assert found.branches == {}


def test_damage_ends_the_chain_instead_of_looping() -> None:
    assert lineage([run("a", "b"), run("b", "a")], "a").chain == ("b", "a")
    assert lineage([run("b", "gone")], "b").chain == ("b",)
    assert lineage([], None).chain == ()
