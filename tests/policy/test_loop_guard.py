"""The loop guard: what counts as the same call, and when it speaks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.policy.loop_guard import WINDOW, remember, signature, verdict


def repeated(*digests: str) -> tuple[str, ...]:
    recent: tuple[str, ...] = ()
    for digest in digests:
        recent = remember(recent, digest)
    return recent


def test_order_of_arguments_does_not_matter_and_everything_else_does() -> None:
    same = signature("T", {"a": 1, "b": 2}, "r")
    assert signature("T", {"b": 2, "a": 1}, "r") == same
    assert (
        len({same, signature("U", {"a": 1, "b": 2}, "r"), signature("T", {"a": 2, "b": 2}, "r"), signature("T", {"a": 1, "b": 2}, "x")})
        == 4
    )


def test_thirds_warn_once_and_fifths_pause() -> None:
    assert verdict(repeated("a", "a"), frozenset()) is None
    third = verdict(repeated("a", "a", "a"), frozenset())
    assert third is not None
    assert (third.action, third.count) == ("warn", 3)
    assert verdict(repeated("a", "a", "a"), frozenset({"a"})) is None
    assert verdict(repeated("a", "a", "a", "a"), frozenset({"a"})) is None
    fifth = verdict(repeated("a", "a", "a", "a", "a"), frozenset({"a"}))
    assert fifth is not None
    assert fifth.action == "pause"


def test_alternating_calls_are_a_loop_too() -> None:
    fifth = verdict(repeated(*("a", "b") * 5), frozenset({"a", "b"}))
    assert fifth is not None
    assert fifth.action == "pause"


def test_every_call_of_the_newest_reply_is_judged() -> None:
    found = verdict(repeated("a", "a", "a", "z"), frozenset(), newest=2)
    assert found is not None
    assert (found.digest, found.index) == ("a", 1)


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_window_is_bounded_and_the_guard_never_fails(digests: list[str]) -> None:
    recent = repeated(*digests)
    assert len(recent) <= WINDOW
    found = verdict(recent, frozenset(), newest=3)
    assert found is None or found.count >= 3
