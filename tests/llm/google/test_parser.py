"""Google content streams: cut anywhere, out of order, with unknown parts."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import FinishReason, TextDelta
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.google.parser import ContentParser
from tests.helpers.error_codes import raises_code
from tests.helpers.servers.google import FakeGoogle, event
from tests.helpers.servers.scripted_http_server import Call, Reply
from tests.llm.provider_requests import JSON, ask, cut_at, parsed_deltas, reply_of


def parsed(*pieces: bytes) -> Any:
    return reply_of(parsed_deltas(ContentParser(ask(), ErrorLocation("Google")), pieces))


def stream_bytes(**fields: Any) -> bytes:
    calls = [Call("a", {"é": 1}, id="c1"), Call("b", {}, id="c2")]
    reply = Reply(text="Où ? 3 € 🙂", reasoning="d'abord", calls=calls, pieces=2, **fields)
    return b"".join(FakeGoogle().events(reply, "gemini-3.5-flash"))


STREAM = stream_bytes()
WHOLE = parsed(STREAM)


def piece(*parts: Any, **candidate: Any) -> bytes:
    return event({"candidates": [{"content": {"parts": parts}, **candidate}]})


END = event(
    {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}
)


@given(st.sets(st.integers(0, len(STREAM)), max_size=40))
def test_every_chunking_gives_the_same(cuts: set[int]) -> None:
    assert parsed(*cut_at(STREAM, cuts)) == WHOLE


def test_the_deltas_and_the_reply() -> None:
    assert (WHOLE.content, WHOLE.reasoning) == ("Où ? 3 € 🙂", "d'abord")
    assert [(call.name, call.arguments) for call in WHOLE.tool_calls] == [("a", {"é": 1}), ("b", {})]
    assert [list(call.provider_data.value()) if call.provider_data else [] for call in WHOLE.tool_calls] == [
        ["thoughtSignature"],
        [],
    ]
    assert WHOLE.provider_data is None, "nothing but the call is signed"


def test_a_stream_cut_at_any_byte_is_an_error_or_complete() -> None:
    """Never a reply that looks complete and is not: the last event has the finish reason."""
    last = STREAM.rindex(b"data: ")
    for place in range(len(STREAM)):
        if place <= last:
            with pytest.raises(ProviderError) as caught:
                parsed(STREAM[:place])
            assert caught.value.code in ("truncated", "bad_response"), place
            continue
        with suppress(ProviderError):  # inside the event itself
            assert parsed(STREAM[:place]) == WHOLE, place
    with pytest.raises(ProviderError, match="middle of the reply"):
        parsed(stream_bytes(finish=None))


def test_signed_parts_stay_separate() -> None:
    reply = parsed(
        piece({"text": "I saw ", "thought": True}, {"text": "it", "thought": True, "thoughtSignature": "s1"}),
        piece({"text": "one "}), piece({"text": "two"}, {"text": "", "thoughtSignature": "s2"}),
        piece({"text": " three"}),
        piece({"functionCall": {"name": "n", "args": None}, "thoughtSignature": "s3"}), piece({"text": "four"}), END,
    )  # fmt: skip
    assert (reply.content, reply.reasoning) == ("one two three\n\nfour", "I saw it")
    assert reply.provider_data.value() == {"parts": [
        {"type": "thought", "text": "it", "thoughtSignature": "s1"}, {"type": "text", "length": 7, "gap": 0},
        {"type": "text", "length": 0, "gap": 0, "thoughtSignature": "s2"}, {"type": "text", "length": 6, "gap": 0},
        {"type": "tool_use"}, {"type": "text", "length": 4, "gap": 2},
    ]}  # fmt: skip
    assert reply.tool_calls[0].provider_data.value() == {"thoughtSignature": "s3"}


def test_unknown_parts_are_ignored() -> None:
    reply = parsed(
        b": comment\n\n", event({}), event({"candidates": None}), event({"candidates": [5]}), piece(),
        piece({"executableCode": {"code": "1"}}, {"inlineData": {"data": "x"}}, None, {"glow": 1},
        {"text": "a", "videoMetadata": {}}),
        event({"candidates": [{"content": {"parts": [{"text": "b"}]}},
        {"content": {"parts": [{"text": "of another candidate"}]}}]}),
        piece(finishReason="FINISH_REASON_UNSPECIFIED"), END,
    )  # fmt: skip
    assert (reply.content, reply.tool_calls, reply.finish_reason, reply.provider_data) == (
        "ab",
        (),
        FinishReason.STOP,
        None,
    )
    assert (reply.usage.tokens_input, reply.usage.tokens_output) == (3, 2)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<!doctype html>", "bad_response"),
        (b"data: no json\n\n", "bad_response"),
        (b"[]", "bad_response"),
        (b'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\n\n', "overloaded"),
        (b'{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}', "auth"),
        (b"", "truncated"),
        (b'{"candidates": []}', "truncated"),
        (b'data: {"candidates": [{"finishReason": "MALFORMED_RESPONSE"}]}\n\n', "server_error"),
        (b'data: {"candidates": [{"finishReason": "MISSING_THOUGHT_SIGNATURE"}]}\n\n', "bad_request"),
    ],
)
def test_other_answers(body: bytes, code: str) -> None:
    with raises_code(ProviderError, code):
        parsed(body)


FIELDS = (
    "candidates",
    "content",
    "parts",
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "finishReason",
    "usageMetadata",
)


@given(st.lists(st.tuples(st.sampled_from(FIELDS), JSON, JSON), max_size=8), st.booleans())
def test_strange_events_do_no_harm(events: list[tuple[str, Any, Any]], ends: bool) -> None:
    raw = b"".join(
        event({name: inner}) + piece({name: inner, "text": other}, **{name: other}) for name, inner, other in events
    )
    with suppress(ProviderError):
        json.dumps(parsed(raw, END if ends else b"").model_dump(mode="json"))


def test_endless_blanks_are_scanned_once() -> None:
    parser = ContentParser(ask(), ErrorLocation("Google"))
    began = time.process_time()
    for _each in range(3_000):
        assert parser.feed(b" \r\n" * 400) == []
    assert time.process_time() - began < 0.5
    assert parser.feed(piece({"text": "Hi"})) == [TextDelta(content="Hi")]
