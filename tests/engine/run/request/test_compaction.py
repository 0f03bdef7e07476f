"""Compactions: undoing one restores everything in its position, and pinned messages are never compacted."""

from __future__ import annotations

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ContextOverflowError
from atelier_desk.domain.events.run import (
    CompactionUndone,
    ContextCompacted,
    EntryPinned,
    EventBody,
    Injected,
    UserMessage,
)
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.reducer.state import RunState, inherited_context
from atelier_desk.engine.run.request import compaction, context_fitting
from tests.helpers.runs_without_driver import Script, advance, call, finished, reply, started

LONG = "a long result, word after word; " * 60


def words(entries: tuple[ContextEntry, ...]) -> list[tuple[EntryKind, str, str]]:
    """The relevant parts of a conversation: kinds, texts and names, in order."""
    return [(entry.kind, entry.text, entry.origin) for entry in entries]


def turn(script: Script, number: int, text: str = LONG) -> Script:
    """A message, a call with a long result, and an answer."""
    id = f"c{number}"
    script.add(reply("", call(id)), started(id), finished(id, text=f"{number} {text}"), reply(f"answer {number}"))
    return script.add(UserMessage(content=f"message {number}"))


def conversation(turns: int) -> RunState:
    script = Script()
    for number in range(turns):
        turn(script, number)
    return script.state


def after(state: RunState, *bodies: EventBody) -> RunState:
    for body in bodies:
        state = advance(state, body)
    return state


def summarised(state: RunState, *, first: int = 0, count: int = 4) -> tuple[RunState, str]:
    """The state with some entries replaced by a summary, and the name of that compaction."""
    dropped = state.numbers[first : first + count]
    state = after(state, ContextCompacted(method="summary", dropped=dropped, summary="In short."))
    return state, f"r:{state.last_seq}"


def test_undoing_a_summary_restores_everything_in_its_position() -> None:
    before = conversation(3)
    state, origin = summarised(before)
    assert [entry.kind for entry in state.conversation][:1] == [EntryKind.SUMMARY]
    assert len(state.conversation) == len(before.conversation) - 3
    assert compaction.can_undo(state, origin)
    back = after(state, CompactionUndone(origin=origin))
    assert words(back.conversation) == words(before.conversation)
    assert not compaction.can_undo(back, origin)


def test_undoing_cut_results_restores_their_text() -> None:
    before = conversation(3)
    results = tuple(entry.seq for entry in before.entries if entry.kind is EntryKind.RESULT)[:2]
    state = after(before, ContextCompacted(method="cut_results", dropped=results))
    assert sum(entry.cut for entry in state.entries) == 2
    assert len(state.entries[2].text) < len(before.entries[2].text)
    back = after(state, CompactionUndone(origin=f"r:{state.last_seq}"))
    assert words(back.entries) == words(before.entries)
    assert not any(entry.cut or entry.full for entry in back.entries)


def test_messages_after_a_summary_stay_after_the_restored_ones() -> None:
    before = conversation(3)
    state, origin = summarised(before)
    later = after(state, reply("more"), UserMessage(content="and more"))
    back = after(later, CompactionUndone(origin=origin))
    assert words(back.conversation)[: len(before.conversation)] == words(before.conversation)
    assert [entry.text for entry in back.conversation[len(before.conversation) :]] == ["more", "and more"]


def test_nested_summaries_are_undone_from_the_newest_on() -> None:
    before = conversation(4)
    once, first = summarised(before)
    twice, second = summarised(once, count=6)
    assert not compaction.can_undo(twice, first)
    back = after(twice, CompactionUndone(origin=second))
    assert words(back.conversation) == words(once.conversation)
    assert words(after(back, CompactionUndone(origin=first)).conversation) == words(before.conversation)


def test_in_a_following_run_restored_messages_precede_new_ones() -> None:
    before = conversation(3)
    state, origin = summarised(before)
    following = Script(message="a new turn", run_id="next")
    new = fold(following.events, inherited_context(state))
    assert new is not None
    back = after(new, CompactionUndone(origin=origin))
    old = [entry for entry in before.conversation if entry.kind is not EntryKind.NOTE]
    assert [entry.text for entry in back.conversation] == [*(entry.text for entry in old), "a new turn"]
    assert [entry.origin for entry in back.history] == [entry.origin for entry in old]


def test_an_older_pinned_entry_keeps_its_position_before_a_later_summary() -> None:
    """A pinned message of an earlier turn comes after the summary; a later summary includes it, and restores it
    there.
    """
    older = inherited_context(conversation(2))
    following = Script(message="new", run_id="next")
    state = fold(following.events, older)
    assert state is not None
    kept = older[0]
    state = after(state, EntryPinned(origin=kept.origin))
    dropped = tuple(
        number for number, entry in zip(state.numbers, state.history, strict=False) if entry.origin != kept.origin
    )
    once = after(state, ContextCompacted(method="summary", dropped=dropped, summary="First."))
    first = f"next:{once.last_seq}"
    turns = after(once, reply("answer"), UserMessage(content="next"))
    numbered = zip(turns.numbers, turns.conversation, strict=True)
    gone = (next(number for number, entry in numbered if entry.kind is EntryKind.SUMMARY), turns.entries[0].seq)
    twice = after(turns, ContextCompacted(method="summary", dropped=gone, summary="Second."))
    back = after(twice, CompactionUndone(origin=f"next:{twice.last_seq}"))
    assert words(back.conversation) == words(turns.conversation)
    whole = after(back, CompactionUndone(origin=first))
    assert [entry.text for entry in whole.conversation][: len(older)] == [entry.text for entry in older]


PLANS = st.lists(
    st.one_of(
        st.tuples(st.just("summary"), st.integers(0, 6), st.integers(1, 8)),
        st.tuples(st.just("cut_results"), st.integers(0, 6), st.integers(1, 8)),
        st.tuples(st.just("cut_message"), st.integers(0, 12), st.just(1)),
    ),
    min_size=1,
    max_size=4,
)


@given(turns=st.integers(1, 5), split=st.booleans(), plans=PLANS, notes=st.booleans())
def test_undone_in_turn_every_compaction_restores_what_it_replaced(
    turns: int, split: bool, plans: list[tuple[Literal["summary", "cut_results", "cut_message"], int, int]], notes: bool
) -> None:
    state = conversation(turns)
    if split:
        following = Script(message="a following turn", run_id="next")
        folded = fold(turn(following, 90).events, inherited_context(state))
        assert folded is not None
        state = folded
    if notes:
        state = after(state, Injected(reason="loop_warning", content="note"))
    stages = [state]
    for method, first, count in plans:
        dropped = tuple(
            number
            for number, entry in zip(state.numbers, state.conversation, strict=True)
            if method == "summary" or (not entry.cut and (method == "cut_message" or entry.kind is EntryKind.RESULT))
        )[first : first + count]
        if not dropped:
            continue
        state = after(
            state,
            ContextCompacted(method=method, dropped=dropped, kept=200, summary="s" if method == "summary" else ""),
        )
        stages.append(state)
    for before, made in zip(reversed(stages[:-1]), reversed(stages[1:]), strict=True):
        origin = f"{made.run_id}:{made.last_seq}"
        assert compaction.can_undo(state, origin)
        state = after(state, CompactionUndone(origin=origin))
        assert words(state.conversation) == words(before.conversation)
        assert len(set(state.numbers)) == len(state.conversation)


@given(turns=st.integers(2, 6), pins=st.sets(st.integers(0, 20), max_size=3), window=st.integers(900, 4000))
def test_pinned_messages_are_sent_completely_however_little_space_there_is(
    turns: int, pins: set[int], window: int
) -> None:
    state = conversation(turns)
    for index in pins:
        entry = state.conversation[index % len(state.conversation)]
        state = after(state, EntryPinned(origin=entry.origin))
    pinned = words(tuple(entry for entry in state.conversation if entry.pinned))
    for _ in range(50):
        try:
            step = context_fitting.plan(state, system="s", tools=(), window=window)
        except ContextOverflowError:
            break
        if isinstance(step, context_fitting.ReadyRequest):
            break
        if isinstance(step, context_fitting.CutResults):
            body = ContextCompacted(method="cut_results", dropped=step.seqs)
        elif isinstance(step, context_fitting.Shorten):
            body = ContextCompacted(method="cut_message", dropped=(step.seq,), kept=step.unshortened)
        else:
            body = ContextCompacted(
                method="digest", dropped=tuple(entry.seq for entry in step.entries), summary="short"
            )
        state = after(state, body)
    else:
        raise AssertionError("it is planned for ever")
    assert words(tuple(entry for entry in state.conversation if entry.pinned)) == pinned
    assert words(tuple(entry for entry in inherited_context(state) if entry.pinned)) == pinned
    free = after(state, *(EntryPinned(origin=origin, pinned=False) for _, _, origin in pinned))
    assert not any(entry.pinned for entry in free.conversation)


def test_an_unknown_name_changes_nothing() -> None:
    state = conversation(1)
    for body in (EntryPinned(origin="r:99"), CompactionUndone(origin="r:99"), CompactionUndone(origin="")):
        assert words(after(state, body).conversation) == words(state.conversation)
    assert not compaction.can_undo(state, "r:99")
