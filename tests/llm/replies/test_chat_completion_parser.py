"""However the bytes are split, a stream gives the same deltas and the same reply."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatReply, ReplyDone, TextDelta, ToolCallDelta
from atelier_desk.llm.error_conversion import ErrorLocation
from atelier_desk.llm.replies.chat_completion_parser import ChatCompletionParser, usage_of
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply
from tests.llm.provider_requests import JSON, arguments, ask, joined, parsed_deltas

EVENTS = b"".join(
    FakeOpenAI.event(FakeOpenAI(), json.dumps(chunk, ensure_ascii=False))
    for chunk in FakeOpenAI().chunks(
        Reply(
            text="<think>où</think>Ça vaut 3 € 🙂",
            reasoning="d'abord",
            calls=[Call("a", {"é": "🙂"}, id="1"), Call("b", {"n": [1]}, id="2", whole=True)],
            pieces=3,
        )
    )
)


def parsed(pieces: list[bytes]) -> tuple[tuple[str, str], dict[int, str], ChatReply]:
    parser = ChatCompletionParser(ask(), ErrorLocation("Server"))
    deltas = parsed_deltas(parser, pieces)
    last = deltas[-1]
    assert isinstance(last, ReplyDone)
    assert not any(isinstance(delta, (TextDelta, ToolCallDelta)) and not delta.model_dump() for delta in deltas)
    return joined(deltas), arguments(deltas), last.reply


@given(st.sets(st.integers(0, len(EVENTS)), max_size=40), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_every_chunking_gives_the_same(cuts: set[int], newline: bytes) -> None:
    expected = parsed([EVENTS])
    assert expected[2].content == "Ça vaut 3 € 🙂"
    assert expected[2].reasoning == "d'abordoù"
    data = EVENTS.replace(b"\n", newline)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    assert parsed([data[start:end] for start, end in itertools.pairwise(places)]) == expected


def test_one_byte_at_a_time_gives_the_same() -> None:
    assert parsed([bytes([byte]) for byte in EVENTS]) == parsed([EVENTS])


@given(st.lists(JSON, max_size=5), st.booleans())
def test_nonsense_is_an_answer_or_a_provider_error(values: list[Any], whole: bool) -> None:
    chunks = [{"choices": [{"delta": value, "finish_reason": value}]} for value in values] + values
    if whole:
        body = [json.dumps(chunk).encode() for chunk in chunks[:1]]
    else:
        body = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    parser = ChatCompletionParser(ask(), ErrorLocation("Server"))
    try:
        deltas = parsed_deltas(parser, body)
    except ProviderError:
        return
    assert isinstance(deltas[-1], ReplyDone)


@given(st.binary(max_size=80))
def test_noise_is_a_provider_error(noise: bytes) -> None:
    parser = ChatCompletionParser(ask(), ErrorLocation("Server"))
    with pytest.raises(ProviderError):
        parser.feed(noise)
        parser.close()


@pytest.mark.parametrize(("reported", "cost"), [(0.25, 0.25), (True, 0.0), ("0.25", 0.0), (-1, 0.0), (1e9, 0.0)])
def test_only_a_plausible_number_is_a_reported_cost(reported: Any, cost: float) -> None:
    usage = usage_of({"usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": reported}})
    assert usage is not None
    assert usage.cost == cost
