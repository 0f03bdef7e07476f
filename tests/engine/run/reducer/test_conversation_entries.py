"""What is kept of a conversation's entries from turn to turn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.domain.skill import SkillUse
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind, History
from tests.helpers.runs_without_driver import call

TEXT = ContextEntry(seq=1, kind=EntryKind.USER, text="what is the way?")
FILE = Attachment(name="a", media_type="text/plain", size=1, sha256="0" * 64, text_sha256="1" * 64, text="a")
PLAIN = [
    TEXT,
    ContextEntry(seq=2, kind=EntryKind.REPLY, text="by the river", reasoning="hm"),
    ContextEntry(seq=3, kind=EntryKind.NOTE, text="note"),
    ContextEntry(seq=4, kind=EntryKind.SUMMARY, text="in short", order=("r:1",)),
    replace(TEXT, pinned=True),
    replace(TEXT, cut=True, full="longer"),
]
MORE = [
    replace(PLAIN[1], calls=(call(),)),
    ContextEntry(seq=5, kind=EntryKind.RESULT, text="{}", call_id="c1", tool="CalculatorTool"),
    ContextEntry(seq=6, kind=EntryKind.RESULT, text="{}"),
    replace(TEXT, images=(ImagePart(media_type="image/png", data="AAAA"),)),
    replace(TEXT, attachments=(FILE,)),
    replace(TEXT, skill=SkillUse(name="notes", folder="/x", digest="1")),
    replace(PLAIN[1], provider_data=ProviderData.pack("local", "scripted", {"reasoning_content": "x"})),
    replace(PLAIN[3], replaced=(TEXT,)),
    replace(PLAIN[3], earlier=(FILE,)),
]


@pytest.mark.parametrize(("entries", "plain"), [(PLAIN, True), (MORE, False)])
def test_an_entry_is_plain_when_it_has_nothing_but_a_text(entries: list[ContextEntry], plain: bool) -> None:
    assert [entry.plain for entry in entries] == [plain] * len(entries)


@given(st.lists(st.lists(st.sampled_from([*PLAIN, *MORE]), max_size=6), max_size=8))
def test_what_is_kept_equals_what_is_counted_anew(turns: list[list[ContextEntry]]) -> None:
    history = History()
    for turn in turns:
        history = history.followed_by(turn)
    fresh = History(replace(entry) for turn in turns for entry in turn)
    assert history == fresh
    assert history.tokens == fresh.tokens
    assert history.not_plain == fresh.not_plain
    assert history.with_more == [entry for entry in fresh if not entry.plain]
    assert history.in_turn == fresh.in_turn


@pytest.mark.parametrize(
    ("entries", "in_turn"),
    [
        ([], True),
        ([TEXT], True),
        ([TEXT, PLAIN[1], TEXT, PLAIN[1]], True),
        ([PLAIN[3], PLAIN[1], TEXT], True),
        ([PLAIN[1], TEXT], False),
        ([TEXT, TEXT], False),
        ([TEXT, PLAIN[1], PLAIN[1]], False),
        ([TEXT, replace(PLAIN[1], text=" \n")], False),
        *[([TEXT, PLAIN[1], entry], False) for entry in MORE],
    ],
)
def test_texts_of_the_user_and_the_model_are_in_turn(entries: list[ContextEntry], in_turn: bool) -> None:
    assert History(entries).in_turn == in_turn
    assert History(entries[:1]).followed_by(entries[1:]).in_turn == in_turn


def test_a_later_turn_does_not_look_at_earlier_entries_again() -> None:
    history = History([*PLAIN, *MORE])
    tokens, positions = history.tokens, history.not_plain
    text = History([replace(TEXT), replace(PLAIN[1])])
    assert text.in_turn
    for entry in (*history, *text):
        entry.__dict__.update(tokens=10**9, plain=not entry.plain)
    later = history.followed_by([replace(TEXT)])
    assert (later.tokens, later.not_plain) == (tokens + replace(TEXT).tokens, positions)
    assert text.followed_by([replace(TEXT)]).in_turn
