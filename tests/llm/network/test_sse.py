"""Lines and events are the same wherever the bytes are split."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.llm.network import sse
from atelier_desk.llm.network.sse import Event, EventDecoder, LineDecoder, LineTooLongError


def lines_of(*pieces: bytes) -> list[str]:
    decoder = LineDecoder()
    return [line for piece in pieces for line in decoder.feed(piece)] + decoder.flush()


def events_of(*pieces: bytes) -> list[Event]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.flush()


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data in pieces, split at these positions."""
    places = sorted({min(place, len(data)) for place in cuts} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_three_ways(end: str) -> None:
    assert lines_of(f"a{end}é{end}{end}last".encode()) == ["a", "é", "", "last"]


def test_a_split_line_end_is_one_line_end() -> None:
    assert lines_of(b"a\r", b"\nb\r", b"c") == ["a", "b", "c"]


def test_only_line_ends_split_lines() -> None:
    assert lines_of("a\u2028b\x85c\x0bd\n".encode()) == ["a\u2028b\x85c\x0bd"]


def test_a_character_may_be_split_and_bad_bytes_are_replaced() -> None:
    assert lines_of(b"\xc3", b"\xa9\n", b"\xff\n", b"\xf0\x9f") == ["é", "\ufffd", "\ufffd"]


def test_a_byte_order_mark_is_dropped_once() -> None:
    assert lines_of("\ufeffa\n\ufeffb".encode()) == ["a", "\ufeffb"]


def test_events() -> None:
    text = (
        'retry: 3\n: comment\nid: 7\ndata:one\ndata: two\ndata\n\nevent: error\ndata:  {"a": 1}\n\nevent: '
        "nothing\n\ndata: tail"
    )
    assert events_of(text.encode()) == [
        Event("message", "one\ntwo\n"),
        Event("error", ' {"a": 1}'),
        Event("message", "tail"),
    ]


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_LINE", 10)
    with pytest.raises(LineTooLongError):
        lines_of(b"0123456", b"789ab")
    with pytest.raises(LineTooLongError):
        events_of(b"data: 012345\ndata: 678901\n")


@given(st.text(alphabet="aé€🙂\r\n:d ", max_size=60), st.lists(st.integers(0, 200), max_size=12))
def test_splitting_changes_nothing(text: str, cuts: list[int]) -> None:
    data = text.encode()
    assert lines_of(*cut(data, cuts)) == lines_of(data)
    events = text.replace("d", "data").encode()
    assert events_of(*cut(events, cuts)) == events_of(events)
