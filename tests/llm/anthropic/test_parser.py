"""Anthropic message streams: cut anywhere, out of order, with unknown events."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import FinishReason
from atelier_desk.llm.anthropic.parser import MessageParser
from atelier_desk.llm.error_conversion import ErrorLocation
from tests.helpers.error_codes import raises_code
from tests.helpers.servers.anthropic import FakeAnthropic, event
from tests.helpers.servers.scripted_http_server import Call, Reply
from tests.llm.provider_requests import JSON, ask, cut_at, parsed_deltas, reply_of


def parsed(*pieces: bytes) -> Any:
    return reply_of(parsed_deltas(MessageParser(ask(), ErrorLocation("Anthropic")), pieces))


def stream_bytes(**fields: Any) -> bytes:
    server = FakeAnthropic()
    server.redacts = server.interleaves = True
    calls = [Call("a", {"é": 1}, id="toolu_1"), Call("b", {}, id="toolu_2")]
    return b"".join(
        server.events(
            Reply(text="Où ? 3 € 🙂", reasoning="d'abord", calls=calls, pieces=2, **fields), "claude-sonnet-5"
        )
    )


STREAM = stream_bytes()
WHOLE = parsed(STREAM)
START = event("message_start", {"message": {"model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}})
END = event("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}) + event(
    "message_stop", {}
)


@given(st.sets(st.integers(0, len(STREAM)), max_size=40))
def test_every_chunking_gives_the_same(cuts: set[int]) -> None:
    assert parsed(*cut_at(STREAM, cuts)) == WHOLE


def test_the_deltas_and_the_reply() -> None:
    assert (WHOLE.content, WHOLE.reasoning) == ("Où ? 3 € 🙂", "d'abord\n\nd'abord (1)")
    assert [(call.name, call.arguments) for call in WHOLE.tool_calls] == [("a", {"é": 1}), ("b", {})]
    kinds = ["thinking", "redacted_thinking", "text", "tool_use", "thinking", "redacted_thinking", "tool_use"]
    assert [block["type"] for block in WHOLE.provider_data.value()["blocks"]] == kinds


def test_a_stream_cut_at_any_byte_is_an_error_or_complete() -> None:
    """Never a reply that looks complete and is not. After the event with the stop reason only the end mark may be
    missing.
    """
    decided = STREAM.index(b"event: message_delta")
    for place in range(len(STREAM)):
        if place <= decided:
            with pytest.raises(ProviderError, match=r"middle of the reply|invalid response") as caught:
                parsed(STREAM[:place])
            assert caught.value.code in ("truncated", "bad_response"), place
            continue
        with suppress(ProviderError):  # inside the event itself
            assert parsed(STREAM[:place]) == WHOLE, place


def test_a_reply_without_its_end_mark_is_complete_after_the_stop_reason() -> None:
    assert parsed(stream_bytes(end_mark=False)) == WHOLE
    with raises_code(ProviderError, "truncated"):
        parsed(stream_bytes(end_mark=False, finish=None))


def test_unknown_events_are_ignored() -> None:
    def block(index: int, kind: str, **fields: Any) -> bytes:
        return event("content_block_start", {"index": index, "content_block": {"type": kind, **fields}})

    def piece(index: int, kind: str, **fields: Any) -> bytes:
        return event("content_block_delta", {"index": index, "delta": {"type": kind, **fields}})

    reply = parsed(
        b": comment\n\n", START, event("ping", {}), event("content_block_glow", {"index": 0}),
        b"event: vertex_event\ndata: {}\n\n",
        block(0, "server_tool_use", id="s", name="web_search", input={"q": 1}),
        piece(0, "input_json_delta", partial_json="{"),
        block(1, "text", text=""), piece(1, "text_delta", text="a"), piece(1, "citations_delta", citation={}),
        piece(1, "text_delta"),
        piece(7, "text_delta", text="of no block"), block(2, "text", text="b", citations=None),
        piece(2, "thinking_delta", thinking="no"),
        event("content_block_stop", {"index": 1}), event("content_block_stop", {"index": 9}), END, event("late", {}),
    )  # fmt: skip
    assert (reply.content, reply.tool_calls, reply.finish_reason, reply.model) == ("ab", (), FinishReason.STOP, "m")
    assert (reply.usage.tokens_input, reply.usage.tokens_output, reply.provider_data) == (3, 2, None)


@pytest.mark.parametrize(
    ("between", "said"), [(None, "It is, they say, so."), ("server_tool_use", "It is\n\n, they say, so.")]
)
def test_a_text_split_by_citations_is_one_text(between: str | None, said: str) -> None:
    """Seen in recordings with citations: nothing comes between the blocks, and their texts continue in the middle
    of a sentence.
    """
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "It is"}]
    blocks += [{"type": between, "id": "s", "name": "web_search", "input": {}}] if between else []
    blocks += [{"type": "text", "text": ", they say"}, {"type": "text", "text": ", so."}]
    parts = [event("content_block_start", {"index": place, "content_block": each}) for place, each in enumerate(blocks)]
    assert parsed(START, *parts, END).content == said


def test_a_call_with_broken_arguments_is_marked() -> None:
    opened = event(
        "content_block_start", {"index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {}}}
    )
    broken = event("content_block_delta", {"index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a": '}})
    (call,) = parsed(START, opened, broken, END).tool_calls
    assert call.error
    assert (call.raw, call.arguments) == ('{"a": ', {})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<!doctype html>", "bad_response"),
        (b"data: no json\n\n", "bad_response"),
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}', "overloaded"),
        (b'event: error\ndata: {"message": "it broke"}\n\n', "server_error"),
        (
            b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "Internal"}}\n\n',
            "server_error",
        ),
        (b"", "truncated"),
        (b'{"type": "message", "content": []}', "truncated"),
        (b"data: [DONE]\n\n", None),
    ],
)
def test_other_answers(body: bytes, code: str | None) -> None:
    if code is None:
        assert parsed(body).content == ""
        return
    with raises_code(ProviderError, code):
        parsed(body)


NAMES = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "ping", "?"]
)


@given(st.lists(st.tuples(NAMES, JSON, JSON, JSON), max_size=8), st.booleans())
def test_strange_events_do_no_harm(events: list[tuple[str, Any, Any, Any]], ends: bool) -> None:
    fields = ("type", "index", "delta", "content_block", "message", "usage")
    raw = b"".join(
        f"data: {json.dumps(dict(zip(fields, (kind, index, inner, inner, other, other), strict=True)))}\n\n".encode()
        for kind, index, inner, other in events
    )
    with suppress(ProviderError):
        json.dumps(parsed(raw, END if ends else b"").model_dump(mode="json"))


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_thousands_of_empty_blocks_are_parsed_quickly(kind: str) -> None:
    blocks = [
        event("content_block_start", {"index": number, "content_block": {"type": kind, kind: ""}})
        for number in range(50_000)
    ]
    assert parsed(START, *blocks, END).content == ""
