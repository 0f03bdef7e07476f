"""The loop guard: which calls count as equal, and when it warns or pauses."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.policy.loop_guard import WINDOW, remember, signature, verdict


def repeated(*digests: str) -> tuple[str, ...]:
    recent: tuple[str, ...] = ()
    for digest in digests:
        recent = remember(recent, digest)
    return recent


def test_the_order_of_arguments_does_not_matter_but_everything_else_does() -> None:
    same = signature("T", {"a": 1, "b": 2}, "r")
    assert signature("T", {"b": 2, "a": 1}, "r") == same
    assert (
        len(
            {
                same,
                signature("U", {"a": 1, "b": 2}, "r"),
                signature("T", {"a": 2, "b": 2}, "r"),
                signature("T", {"a": 1, "b": 2}, "x"),
            }
        )
        == 4
    )


def test_the_third_repetition_warns_once_and_the_fifth_pauses() -> None:
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


def test_every_call_of_the_newest_reply_is_checked() -> None:
    found = verdict(repeated("a", "a", "a", "z"), frozenset(), newest=2)
    assert found is not None
    assert (found.digest, found.index) == ("a", 1)


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_the_window_is_bounded_and_the_guard_never_fails(digests: list[str]) -> None:
    recent = repeated(*digests)
    assert len(recent) <= WINDOW
    found = verdict(recent, frozenset(), newest=3)
    assert found is None or found.count >= 3


def test_repetitions_count_within_the_last_twenty_calls() -> None:
    others = tuple(f"other {number}" for number in range(18))
    within = verdict(repeated("a", *others[:17], "a", "a"), frozenset())
    assert within is not None
    assert (within.action, within.count) == ("warn", 3)
    assert verdict(repeated("a", *others, "a", "a"), frozenset()) is None


def test_only_the_newest_call_is_checked_by_default() -> None:
    assert verdict(repeated("a", "a", "a", "z"), frozenset()) is None


def test_unusual_arguments_and_lone_surrogates_have_a_signature() -> None:
    odd = [signature("T", {"path": path}, "\ud800") for path in (Path("/a"), Path("/b"))]
    assert len(set(odd)) == 2


# equivalent: loop_guard.py signature: `12` → `11`
#   The digest is compared with others and shown to nobody; its length is free.
# equivalent: loop_guard.py signature: `12` → `13`
#   As above.
# equivalent: loop_guard.py signature: `hashlib.blake2s(digest_size=12)` → `hashlib.blake2s()`
#   As above.
# equivalent: loop_guard.py signature: `json.dumps(ensure_ascii=False)` → `json.dumps()`
#   Escapes are as good a text to make a digest of.
# equivalent: loop_guard.py signature: `False` → `True`
#   As above.
