"""A model in a loop is recognised by the repeated passage, however its text is split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatDelta, ReasoningDelta, TextDelta, ToolCallDelta
from atelier_desk.engine.run.request import repetition_detection
from atelier_desk.engine.run.request.repetition_detection import Loop, Repetition

PASSAGE = "I will now look into the file once more. \n"
assert 40 <= len(PASSAGE) < 45
FENCE = "```\n"


def stopped(*deltas: ChatDelta, pieces: int = 7) -> bool:
    follow = Repetition()
    for delta in deltas:
        for start in range(0, len(delta.content if hasattr(delta, "content") else "x"), pieces):
            part = (
                delta.model_copy(update={"content": delta.content[start : start + pieces]})
                if hasattr(delta, "content")
                else delta
            )
            if follow.over(part):
                return True
    return False


@pytest.mark.parametrize("pieces", [1, 7, 100_000])
@pytest.mark.parametrize(
    ("text", "stops"),
    [
        (PASSAGE * 12, True),
        ("Well then.\n" + PASSAGE * 12 + "and so on", True),
        (PASSAGE * 11 + PASSAGE[:-1] + "?" + PASSAGE * 11, False),
        (PASSAGE[:39] * 40, False),
        ("A first paragraph of some length that is quite its own.\n\n" + PASSAGE * 11, False),
        (("a longer passage " + PASSAGE * 3 + "with repetition inside.\n") * 12, True),
        ("-" * 5_000 + "\n", False),
        ("| 0 | 0 | 0 |\n" * 400, False),
        ("".join(f"{number}. I will now look into the file once more.\n" for number in range(200)), False),
        (FENCE + PASSAGE * 40 + FENCE, False),
        (PASSAGE * 11 + FENCE + "x\n" + FENCE + PASSAGE * 11, False),
        (FENCE + "x\n" + FENCE + PASSAGE * 12, True),
        ("x" * 30_000 + "\n" + PASSAGE * 12, True),
    ],
)
def test_a_passage_repeated_twelve_times_is_a_loop(text: str, stops: bool, pieces: int) -> None:
    assert stopped(TextDelta(content=text), pieces=pieces) is stops


def test_thinking_is_counted_separately_and_arguments_are_not() -> None:
    assert stopped(ReasoningDelta(content=PASSAGE * 12))
    assert not stopped(ReasoningDelta(content=PASSAGE * 6), TextDelta(content=PASSAGE * 6))
    assert not stopped(*[ToolCallDelta(index=0, name="write_file", arguments=PASSAGE)] * 20)


@given(
    st.text("abcd", max_size=20),
    st.text("abc", min_size=1, max_size=12),
    st.integers(1, 6),
    st.text("ab", max_size=8),
    st.integers(1, 9),
)
def test_it_finds_the_same_as_an_exhaustive_search(
    before: str, passage: str, times: int, after: str, pieces: int
) -> None:
    least, most, count = 3, 12, 4
    text = before + passage * times + after

    def repeats(end: int, size: int) -> bool:
        unit = text[end - size : end]
        return (
            end >= count * size
            and text[end - count * size : end] == unit * count
            and (unit + unit).find(unit, 1) >= least
        )

    expected = any(repeats(end, size) for end in range(len(text) + 1) for size in range(least, most + 1))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SHORTEST", least), ("LONGEST", most), ("TIMES", count), ("_WINDOW", (count + 1) * most)):
            patch.setattr(repetition_detection, name, value)
        follow = Loop()
        assert any(follow.follow(text[at : at + pieces]) for at in range(0, len(text), pieces)) is expected
