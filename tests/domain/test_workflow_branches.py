"""The branches of a workflow, computed from run rows."""

from __future__ import annotations

from atelier_desk.domain.workflow_branches import RunLink, newest_under


def run(id: str, previous: str | None = None) -> RunLink:
    return RunLink(id, previous, None)


def test_choosing_a_version_shows_what_followed_it_last() -> None:
    runs = [run("a"), run("b", "a"), run("c", "b"), run("c2", "b"), run("b2", "a")]
    assert newest_under(runs, "b") == "c2"
    assert newest_under(runs, "b2") == "b2"
    assert newest_under(runs, "a") == "b2"
