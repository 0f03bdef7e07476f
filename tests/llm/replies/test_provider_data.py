"""Data that a server attaches to its replies is sent back to it unchanged, and to no other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, ChatReply, Role, ToolCall
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.dialects.native import NativeModel
from atelier_desk.llm.dialects.xml import XmlModel
from atelier_desk.llm.http_provider import named_in
from atelier_desk.llm.message_and_call_normalisation import arrange
from atelier_desk.llm.replies.provider_data import needs_provider_data, storable
from atelier_desk.llm.replies.reasoning_parts import ReasoningParts
from atelier_desk.llm.secrets import remember
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply
from tests.helpers.servers.signature_checking_servers import SIGNING, SigningServer
from tests.llm.provider_requests import ADD, JSON, answer, called, provider, reply_of, result, send


@pytest.fixture(params=sorted(SIGNING))
async def server(request: pytest.FixtureRequest) -> AsyncIterator[SigningServer]:
    async with SIGNING[request.param]() as made:
        yield made


def first_reply(**fields: Any) -> Reply:
    return Reply(
        reasoning="Je réfléchis : 12 × 7 🙂",
        calls=[Call("CalculatorTool", {"expression": "12*7"}, id="call_a")],
        **fields,
    )


def said(reply: ChatReply) -> ChatMessage:
    """A reply as the engine puts it back into the conversation."""
    return ChatMessage(
        role=Role.ASSISTANT, content=reply.content, tool_calls=reply.tool_calls, provider_data=reply.provider_data
    )


def stored(reply: ChatReply) -> ChatReply:
    """A reply after storing and reading it."""
    return ChatReply.model_validate_json(reply.model_dump_json())


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("chunk_size", [None, 3])
async def test_it_is_sent_back_unchanged(
    server: SigningServer, clock: ManualClock, streams: bool, chunk_size: int | None
) -> None:
    server.streams = streams
    chat = NativeModel(provider("openai", server.url, clock))
    server.script(
        first_reply(chunk_size=chunk_size), Reply(text="84", reasoning="fini"), Reply(text="Yes.", reasoning="hm")
    )
    one = stored(await answer(chat, "12*7?", tools=(ADD,)))
    two = stored(await answer(chat, "12*7?", said(one), result("call_a"), tools=(ADD,)))
    conversation = ("12*7?", said(one), result("call_a"), said(two), "Sure?")
    assert (await answer(chat, *conversation, tools=(ADD,))).content == "Yes."
    assert server.refusals == []


async def test_without_it_the_server_refuses_and_the_call_is_sent_as_text(
    server: SigningServer, clock: ManualClock
) -> None:
    """Another model made the call: the conversation continues all the same."""
    chat = provider("openai", server.url, clock)
    foreign = called("call_b", expression="1+1")
    stranger = foreign.model_copy(
        update={"provider_data": ProviderData.pack("Elsewhere", "test-model", {"reasoning_content": "no"})}
    )
    other_model = foreign.model_copy(
        update={"provider_data": ProviderData.pack("Server", "other", {"reasoning_details": [{"a": 1}]})}
    )
    for message in (foreign, stranger, other_model):
        server.script(Reply(text="2", reasoning="r"))
        deltas = await send(chat, "1+1?", message, result("call_b"), tools=(ADD,))
        assert reply_of(deltas).content == "2"
        sent = json.dumps(server.requests[-1].json)
        assert "CalculatorTool" in sent, "what was called is told"
        assert '\\"expression\\": \\"1+1\\"' in sent
        assert '"no"' not in sent
        assert '"a": 1' not in sent
    assert server.refusals


async def test_own_calls_stay_calls_when_those_of_another_model_are_sent_as_text(
    server: SigningServer, clock: ManualClock
) -> None:
    chat = provider("openai", server.url, clock)
    server.script(first_reply(), Reply(text="84"))
    one = stored(await answer(chat, "12*7?", tools=(ADD,)))
    await send(chat, "1+1?", called("call_b", expression="1+1"), result("call_b"), "12*7?", said(one), result("call_a"))
    calls = [
        message["tool_calls"][0]["id"] for message in server.requests[-1].json["messages"] if message.get("tool_calls")
    ]
    assert "call_a" in calls


async def test_a_server_that_rejects_its_own_data(server: SigningServer, clock: ManualClock) -> None:
    """A new key or route: earlier signatures are refused, and the conversation continues without them."""
    chat = provider("openai", server.url, clock)
    server.script(first_reply(), Reply(text="84", reasoning="x"))
    one = await answer(chat, "12*7?", tools=(ADD,))
    server.forgets = True
    assert (await answer(chat, "12*7?", said(one), result("call_a"), tools=(ADD,))).content == "84"
    assert 1 <= len(server.refusals) <= 2


async def test_a_refusal_that_nothing_repairs_is_reported(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    chat = provider("openai", openai_server.url, clock)
    body = {"error": {"message": "Function call is missing a thought_signature in functionCall parts.", "code": 400}}
    openai_server.script(*[Failure(400, body)] * 3)
    with raises_code(ProviderError, "bad_request"):
        await send(chat, "a", called("c"), result("c"))
    assert openai_server.steps == [], "three requests, no more"


async def test_a_server_that_refuses_the_field_does_not_get_it_again(
    openai_server: FakeOpenAI, clock: ManualClock
) -> None:
    chat = provider("openai", openai_server.url, clock)
    thought = called("c").model_copy(
        update={"provider_data": ProviderData.pack("Server", "test-model", {"reasoning_content": "r"})}
    )
    body = {"error": {"message": "property 'reasoning_content' is unsupported", "code": 400}}
    openai_server.script(Failure(400, body), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, "a", thought, result("c"), effort="low")
    sent = [request.json for request in openai_server.requests]
    assert ["reasoning_content" in each["messages"][1] for each in sent] == [True, False, False]
    assert all(each["reasoning_effort"] == "low" for each in sent), "only the field that was named is dropped"


@pytest.mark.parametrize("kind", ["openrouter", "deepseek"])
async def test_the_xml_dialect(kind: str, clock: ManualClock) -> None:
    async with SIGNING[kind]() as server:
        chat = XmlModel(provider("openai", server.url, clock))
        call = '<tool_call name="CalculatorTool">{"expression": "12*7"}</tool_call>'
        server.script(Reply(text=f"Let me see. {call}", reasoning="ah"), Reply(text="84", reasoning="oh"))
        one = stored(reply_of_xml(await send(chat, "12*7?", tools=(ADD,))))
        await send(chat, "12*7?", said(one), result(one.tool_calls[0].id), tools=(ADD,))
        assert server.refusals == []
        field = "reasoning_details" if kind == "openrouter" else "reasoning_content"
        assert server.requests[-1].json["messages"][2][field] == server.issued[0]


def reply_of_xml(deltas: Any) -> ChatReply:
    reply: ChatReply = deltas[-1].reply
    return reply


async def test_mistral_gets_its_thinking_with_its_signature(mistral_server: FakeMistral, clock: ManualClock) -> None:
    chat = provider("mistral", mistral_server.url, clock)
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": False, "signature": None}
    last = {"type": "thinking", "thinking": [{"type": "text", "text": " oui"}], "closed": True, "signature": "s=="}
    chunk = {"model": "m", "choices": [{"index": 0, "delta": {"content": [part]}, "finish_reason": None}]}
    end = {
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": [last, {"type": "text", "text": "a"}]}, "finish_reason": "stop"}],
    }
    raw = "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, end)) + "data: [DONE]\n\n"
    mistral_server.script(Reply(raw=raw.encode()), Reply(text="b"), Reply(text="b"))
    one = stored(await answer(chat, "u", model="mistral-medium-latest"))
    for model in ("mistral-medium-latest", "mistral-small-latest"):
        await send(chat, "u", said(one), "v", model=model)
    same, other = (request.json["messages"][1]["content"] for request in mistral_server.requests[1:])
    thinking = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "hm oui"}],
        "closed": True,
        "signature": "s==",
    }
    assert same == [thinking, {"type": "text", "text": "a"}]
    assert other == "a"


async def test_ollama_gets_the_thinking_between_calls(ollama_server: FakeOllama, clock: ManualClock) -> None:
    ollama_server.installed["other:latest"] = ["completion", "tools"]
    chat = provider("ollama", ollama_server.root, clock)
    ollama_server.script(first_reply(), Reply(text="84"), Reply(text="84"))
    one = stored(await answer(chat, "12*7?", tools=(ADD,)))
    call_id = one.tool_calls[0].id
    for model in ("test-model", "other"):
        await send(chat, "12*7?", said(one), result(call_id), tools=(ADD,), model=model)
    same, other = (request.json["messages"][1] for request in ollama_server.requests[1:])
    assert same["thinking"] == "Je réfléchis : 12 × 7 🙂"
    assert "thinking" not in other


def test_replies_with_data_are_not_joined() -> None:
    one, two = (
        ChatMessage(
            role=Role.ASSISTANT, content=text, provider_data=ProviderData.pack("p", "m", {"reasoning_content": text})
        )
        for text in ("a", "b")
    )
    arranged = arrange([ChatMessage(role=Role.USER, content="u"), one, two, ChatMessage(role=Role.USER, content="v")])
    assert [message.role.value for message in arranged] == ["user", "assistant", "user", "assistant", "user"]
    assert (arranged[1], arranged[3]) == (one, two)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_any_json_survives(value: dict[str, Any]) -> None:
    packed = ProviderData.pack("p", "m", value)
    again = ProviderData.model_validate_json(packed.model_dump_json())
    assert repr(again.value()) == repr(value), "also the order of fields and what is no number"
    assert again.data.isascii()


def test_too_much_data_is_not_stored_and_its_size_reported() -> None:
    fits = ProviderData.pack("p", "m", {"a": "x" * (limits.PROVIDER_DATA - len('{"a":""}'))})
    over = ProviderData.pack("p", "m", {"a": "x" * limits.PROVIDER_DATA})
    assert fits.belongs_to("p", "m")
    assert (fits.size, len(fits.value()["a"])) == (limits.PROVIDER_DATA, limits.PROVIDER_DATA - 8)
    assert (over.data, over.value(), over.belongs_to("p", "m")) == ("", {}, False)
    assert over.size > limits.PROVIDER_DATA


@pytest.mark.parametrize("data", ["", "no base64", "AAAA", "eNoDAAAAAAE="])
def test_unreadable_data_is_ignored(data: str) -> None:
    assert ProviderData(provider="p", model="m", data=data).value() == {}


def test_a_key_in_the_data_is_never_stored() -> None:
    remember("sk-very-secret-key")
    held = storable("p", "m", {"reasoning_details": [{"text": "the key is sk-very-secret-key"}]})
    assert held is not None
    assert (held.data, held.size > 0) == ("", True)
    assert storable("p", "m", {}) is None
    harmless = storable("p", "m", {"a": "b"})
    assert harmless is not None
    assert harmless.belongs_to("p", "m")


@pytest.mark.parametrize(
    ("detail", "wanted"),
    [
        ("Function call is missing a thought_signature in functionCall parts.", True),
        ("function call default_api:shell in the 4. content block is missing a thought_signature", True),
        ("Invalid thought signature.", True),
        ("Corrupted thought signature.", True),
        (
            (
                "The encrypted content gAAAA.b/c= could not be verified. Reason: Encrypted content could not be "
                "decrypted or parsed."
            ),
            True,
        ),
        ("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", True),
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", True),
        ("Encrypted content is not supported with this model.", False),
        ("The thinking budget 1024 is invalid. Please choose a value between 2000 and 9000.", False),
        ("Thinking level is not supported for this model.", False),
        ("Missing `reasoning_content` field in the assistant message at message index 2.", True),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", True),
        ("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", True),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", True),
        ("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", True),
        ("property 'reasoning_content' is unsupported", False),
        ('"qwen" does not support thinking', False),
        ("Invalid model: x", False),
    ],
)
def test_messages_of_servers_that_require_data_are_recognised(detail: str, wanted: bool) -> None:
    assert needs_provider_data(ProviderError("{detail}", code="bad_request", detail=detail)) is wanted


def test_a_field_is_matched_by_its_full_name() -> None:
    assert named_in("reasoning", "'reasoning' is unknown")
    assert named_in("think", "does not support thinking")
    assert not named_in("reasoning", "reasoning_effort is unknown")


@given(st.lists(JSON, max_size=6))
def test_strange_details_do_no_harm(details: list[Any]) -> None:
    parts = ReasoningParts()
    parts.details(details)
    for detail in details:
        if isinstance(detail, dict):
            parts.thinking(detail)
        parts.text("reasoning", detail)
    json.dumps(parts.value())


def test_calls_of_one_reply_each_keep_their_own_data(clock: ManualClock) -> None:
    call = ToolCall(
        id="c",
        name="n",
        provider_data=ProviderData.pack("p", "m", {"extra_content": {"google": {"thought_signature": "s"}}}),
    )
    assert ToolCall.model_validate_json(call.model_dump_json()) == call
