"""Streams of the Responses API: cut anywhere, out of order, with unknown events."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import FinishReason
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.openai_responses.parser import ResponseParser
from tests.helpers.error_codes import raises_code
from tests.helpers.servers.openai_responses import FakeResponses, event
from tests.helpers.servers.scripted_http_server import Call, Reply
from tests.llm.provider_requests import JSON, ask, cut_at, parsed_deltas, reply_of


def parsed(*pieces: bytes) -> Any:
    return reply_of(parsed_deltas(ResponseParser(ask(), ErrorLocation("OpenAI")), pieces))


def stream_bytes(**fields: Any) -> bytes:
    server = FakeResponses()
    server.interleaves = server.phases = True
    server.at_once = fields.pop("at_once", False)
    calls = [Call("a", {"é": 1}, id="call_1"), Call("b", {}, id="call_2")]
    return b"".join(
        server.streamed(Reply(text="Où ? 3 € 🙂", reasoning="d'abord", calls=calls, pieces=2, **fields), "gpt-5.5")
    )


STREAM = stream_bytes()
WHOLE = parsed(STREAM)
END = event(
    "response.completed",
    {"response": {"status": "completed", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 2}}},
)


@given(st.sets(st.integers(0, len(STREAM)), max_size=40))
def test_every_chunking_gives_the_same(cuts: set[int]) -> None:
    assert parsed(*cut_at(STREAM, cuts)) == WHOLE


def test_the_deltas_and_the_reply() -> None:
    assert (WHOLE.content, WHOLE.reasoning) == ("Où ? 3 € 🙂", "d'abord\n\nd'abord (1)")
    assert [(call.id, call.name, call.arguments) for call in WHOLE.tool_calls] == [
        ("call_1", "a", {"é": 1}),
        ("call_2", "b", {}),
    ]
    layout = WHOLE.provider_data.value()["items"]
    assert [block["type"] for block in layout] == ["reasoning", "text", "tool_use", "reasoning", "tool_use"]
    assert layout[0] == {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "d'abord"}],
                         "encrypted_content": "gAAAA0+/é=="}  # fmt: skip
    assert layout[1] == {"type": "text", "length": 10, "gap": 0, "phase": "commentary"}
    assert parsed(stream_bytes(at_once=True)) == WHOLE, "and so from servers that tell of whole items alone"
    last = json.loads(STREAM.rsplit(b"data: ", 1)[1])
    assert parsed(event("response.completed", last)) == WHOLE, "and from the last event alone"


def test_a_stream_cut_at_any_byte_is_an_error_or_complete() -> None:
    """Never a reply that looks complete and is not: the last event marks the end."""
    last = STREAM.rindex(b"event: response.completed")
    for place in range(0, len(STREAM), 7):
        if place <= last:
            with pytest.raises(ProviderError) as caught:
                parsed(STREAM[:place])
            assert caught.value.code in ("truncated", "bad_response"), place
            continue
        with suppress(ProviderError):  # inside the event itself
            assert parsed(STREAM[:place]) == WHOLE, place
    with pytest.raises(ProviderError, match="middle of the reply"):
        parsed(stream_bytes(finish=None))


def test_unknown_events_are_ignored() -> None:
    def item(index: int, **fields: Any) -> bytes:
        return event("response.output_item.done", {"output_index": index, "item": fields})

    def text(index: int, delta: str) -> bytes:
        return event("response.output_text.delta", {"output_index": index, "delta": delta})

    reply = parsed(
        b": comment\n\n", event("response.created", {}), event("response.glow", {"output_index": 0}),
        event("keepalive", {}),
        item(0, type="web_search_call", id="ws_1"), text(1, "a"), text(1, ""),
        event("response.output_text.delta", {"delta": 5}),
        event("response.function_call_arguments.delta", {"output_index": 7, "delta": "{"}), text(2, "b"),
        event("response.refusal.delta", {"output_index": 2, "delta": "!"}),
        item(2, type="message", content=[{"text": "again"}]),
        item(3, type="reasoning"), item(4, type="message", content=None), END, event("late", {}),
    )  # fmt: skip
    assert (reply.content, reply.tool_calls, reply.finish_reason, reply.model) == (
        "a\n\nb!",
        (),
        FinishReason.STOP,
        "m",
    )
    assert (reply.usage.tokens_input, reply.usage.tokens_output, reply.provider_data) == (3, 2, None)


def test_a_call_with_broken_arguments_is_marked() -> None:
    broken = {"type": "function_call", "call_id": "c", "name": "n", "arguments": '{"a": '}
    (call,) = parsed(event("response.output_item.done", {"output_index": 0, "item": broken}), END).tool_calls
    assert call.error
    assert (call.raw, call.arguments) == ('{"a": ', {})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<!doctype html>", "bad_response"),
        (b"data: no json\n\n", "bad_response"),
        (b'{"error": {"type": "server_error", "message": "Overloaded"}}', "server_error"),
        (b'event: error\ndata: {"message": "it broke"}\n\n', "server_error"),
        (b'data: {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}\n\n', "rate_limited"),
        (b'data: {"type": "response.failed", "response": {"status": "failed", "error": null}}\n\n', "server_error"),
        (b"", "truncated"),
        (b'{"object": "response", "status": "in_progress", "output": []}', "truncated"),
        (b"data: [DONE]\n\n", None),
    ],
)
def test_other_answers(body: bytes, code: str | None) -> None:
    if code is None:
        assert parsed(body).content == ""
        return
    with raises_code(ProviderError, code):
        parsed(body)


KINDS = st.sampled_from(
    ["response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.reasoning_summary_text.delta",
     "response.function_call_arguments.delta", "response.reasoning_summary_part.added", "response.incomplete", "?"]
)  # fmt: skip


@given(st.lists(st.tuples(KINDS, JSON, JSON, JSON), max_size=8), st.booleans())
def test_strange_events_do_no_harm(events: list[tuple[str, Any, Any, Any]], ends: bool) -> None:
    kinds = ("message", "function_call", "reasoning")
    raw = b"".join(
        event(kind, {"output_index": index, "delta": inner, "item": inner, "response": other})
        + event(
            kind,
            {
                "output_index": 0,
                "item": {"type": kinds[number % 3], "content": inner, "summary": other, "arguments": inner},
            },
        )
        for number, (kind, index, inner, other) in enumerate(events)
    )
    with suppress(ProviderError):
        json.dumps(parsed(raw, END if ends else b"").model_dump(mode="json"))


def sparse(*items: tuple[int, dict[str, Any]], listed: list[dict[str, Any]]) -> bytes:
    """A stream whose items have these positions, and a final list in its own order."""
    made = []
    for place, item in items:
        made.append(event("response.output_item.added", {"output_index": place, "item": {**item, "arguments": ""}}))
        if item["type"] == "function_call":
            made.append(
                event("response.function_call_arguments.delta", {"output_index": place, "delta": item["arguments"]})
            )
        else:
            made.append(event("response.output_text.delta", {"output_index": place, "delta": "said"}))
        made.append(event("response.output_item.done", {"output_index": place, "item": item}))
    return b"".join(
        [*made, event("response.completed", {"response": {"status": "completed", "model": "m", "output": listed}})]
    )


def made_call(number: int) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "a",
        "arguments": f'{{"n": {number}}}',
    }


SAID = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "said"}]}


@pytest.mark.parametrize(
    ("items", "listed", "calls", "content"),
    [
        ([(1, made_call(1))], [made_call(1)], [1], ""),
        ([(3, SAID), (5, made_call(1))], [SAID, made_call(1)], [1], "said"),
        ([(1, made_call(1)), (0, made_call(2))], [made_call(1), made_call(2)], [1, 2], ""),
        ([(0, made_call(1))], [made_call(2), made_call(1)], [1, 2], ""),
        ([], [made_call(1), SAID], [1], "said"),
        ([(1, {**made_call(1), "id": "fc_other"})], [made_call(1)], [1], ""),
    ],
)
def test_an_item_counts_once_wherever_the_final_list_has_it(
    items: list[tuple[int, dict[str, Any]]], listed: list[dict[str, Any]], calls: list[int], content: str
) -> None:
    reply = parsed(sparse(*items, listed=listed))
    assert [call.arguments["n"] for call in reply.tool_calls] == calls
    assert reply.content == content
