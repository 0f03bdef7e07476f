"""OpenAI's Responses API over real HTTP: valid requests, streams, reasoning sent back, model capabilities, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, ImagePart, Role, Usage
from atelier_desk.domain.opaque_provider_data import ProviderData
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai_responses import FakeResponses, error_body
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply
from tests.llm.irregular_conversations import SHAPES, conversation
from tests.llm.provider_requests import (
    ADD,
    answer,
    arguments,
    ask,
    called,
    provider,
    reply_of,
    result,
    retries,
    run,
    said,
    send,
)

KEY = "sk-test-key-1"
MODEL = "gpt-5.5"


@pytest.fixture
def chat(responses_server: FakeResponses, clock: ManualClock) -> Any:
    responses_server.api_key = KEY
    return provider("responses", responses_server.url, clock, key=KEY)


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("whole", [False, True])
async def test_a_reply_with_everything(
    responses_server: FakeResponses, chat: Any, chunk_size: int | None, at_once: bool, whole: bool
) -> None:
    responses_server.at_once = at_once
    calls = [Call("CalculatorTool", {"expression": "1+1 é"}, id="call_1"), Call("CalculatorTool", {}, id="call_2")]
    reply = Reply(text="Voilà 🙂", reasoning="réfléchir", calls=calls, chunk_size=chunk_size)
    if whole:
        reply = Reply(raw=json.dumps(responses_server.whole(reply, MODEL)).encode(), chunk_size=chunk_size)
    responses_server.script(reply)
    deltas = await send(chat, tools=(ADD,), model=MODEL)
    got = reply_of(deltas)
    assert (got.content, got.reasoning, got.finish_reason, got.model) == (
        "Voilà 🙂",
        "réfléchir",
        FinishReason.TOOL_CALLS,
        MODEL,
    )
    assert [(call.id, call.arguments) for call in got.tool_calls] == [
        ("call_1", {"expression": "1+1 é"}),
        ("call_2", {}),
    ]
    assert json.loads(arguments(deltas)[0]) == {"expression": "1+1 é"}
    assert got.usage == Usage(tokens_input=11, tokens_output=7)


async def test_the_request_body(responses_server: FakeResponses, chat: Any) -> None:
    responses_server.script(Reply(text="ok"), Reply(text="ok"), Reply(text="ok"))
    image = ImagePart(media_type="image/png", data="aGk=")
    messages = (
        ChatMessage(role=Role.SYSTEM, content="Be brief."),
        ChatMessage(role=Role.USER, content="Look", images=(image,)),
    )
    await send(chat, *messages, model=MODEL, tools=(ADD,), temperature=0.3, max_tokens=300, stop=("END",), seed=4)
    (body,) = responses_server.chats
    key = body.pop("prompt_cache_key")
    parts = [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
    ]
    assert body == {
        "model": MODEL,
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": parts}],
        "tools": [
            {"type": "function", "name": "CalculatorTool", "description": "Adds.", "parameters": ADD.parameters,
            "strict": False}
        ],
        "reasoning": {"summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 300,
        "store": False,
        "stream": True,
    }  # fmt: skip
    assert responses_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    await send(chat, *messages, called("c"), result("c"), model=MODEL)
    await send(chat, "Something else", model=MODEL)
    same, other = (body["prompt_cache_key"] for body in responses_server.chats[1:])
    assert (same == key, other == key) == (True, False), "a conversation has one key for the cache, another has another"


ON, OFF = {"summary": "auto"}, {"enable_thinking": False}


@pytest.mark.parametrize(
    ("model", "fields", "reasoning", "temperature", "max_tokens"),
    [
        ("gpt-5.5", {"effort": "medium"}, {"effort": "medium", **ON}, None, 4096),
        ("gpt-5.5", {**OFF, "effort": "high"}, {"effort": "none"}, None, 4096),
        ("gpt-5-mini", OFF, {"effort": "minimal"}, None, 4096),
        ("gpt-5-mini", {"max_tokens": 200_000}, ON, None, 128_000),
        ("gpt-5-codex", OFF, {"effort": "low"}, None, 4096),
        ("gpt-5-pro", {"effort": "low"}, {"effort": "high", **ON}, None, 4096),
        ("o4-mini", {"effort": "high", "max_tokens": 5}, {"effort": "high", **ON}, None, 16),
        ("gpt-4.1", {"effort": "high"}, None, 0.7, 4096),
        ("gpt-5-chat-latest", {}, None, 0.7, 4096),
        ("my-deployment", {"effort": "low"}, {"effort": "low", **ON}, 0.7, 4096),
        ("my-deployment", OFF, None, 0.7, 4096),
    ],
)
async def test_parameters_supported_by_each_model(
    responses_server: FakeResponses,
    chat: Any,
    model: str,
    fields: Any,
    reasoning: Any,
    temperature: Any,
    max_tokens: int,
) -> None:
    responses_server.script(Reply(text="ok"))
    await send(chat, model=model, **fields)
    (body,) = responses_server.chats
    assert (body.get("reasoning"), body.get("temperature"), body["max_output_tokens"]) == (
        reasoning,
        temperature,
        max_tokens,
    )
    assert responses_server.refusals == []


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-4.1"])
async def test_seventy_conversations_are_accepted(
    responses_server: FakeResponses, chat: Any, model: str, tools: bool
) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    responses_server.issued.reasoning.append((model, thought))
    responses_server.script(*[Reply(text="ok")] * len(SHAPES))
    for kinds in SHAPES:
        messages = conversation(kinds, model, {"items": [thought, {"type": "text", "length": 1}]})
        assert (await answer(chat, *messages, model=model, tools=(ADD,) if tools else ())).content == "ok", kinds
    assert responses_server.refusals == []


@pytest.mark.parametrize(("interleaves", "phases"), [(False, False), (True, False), (True, True)])
async def test_reasoning_is_sent_back_unchanged_and_in_its_position(
    responses_server: FakeResponses, chat: Any, interleaves: bool, phases: bool
) -> None:
    responses_server.interleaves, responses_server.phases = interleaves, phases
    calls = [Call("CalculatorTool", {"expression": str(number)}, id=f"call_{number}") for number in range(2)]
    responses_server.script(
        Reply(text="Je regarde", reasoning="12 × 7 🙂", calls=calls, chunk_size=3), Reply(text="84", reasoning="fini")
    )
    messages: list[Any] = ["12*7?"]
    one = await answer(chat, *messages, tools=(ADD,), model=MODEL)
    messages += [said(one), result("call_0"), result("call_1")]
    two = await answer(chat, *messages, tools=(ADD,), model=MODEL)
    responses_server.script(Reply(text="Yes."))
    await send(chat, *messages, said(two), "Sure?", tools=(ADD,), model=MODEL)
    assert responses_server.refusals == []
    sent = responses_server.chats[-1]["input"]
    again = ["reasoning"] if interleaves else []
    assert [item["type"] for item in sent[1:-1]] == [
        "reasoning", "message", "function_call", *again, "function_call", *["function_call_output"] * 2, "reasoning",
        "message"
    ]  # fmt: skip
    assert [item.get("phase") for item in sent if item.get("role") == "assistant"] == (
        ["commentary", "final_answer"] if phases else [None, None]
    )
    assert one.reasoning.startswith("12 × 7 🙂")


async def test_reasoning_is_sent_to_no_other_server(responses_server: FakeResponses, chat: Any) -> None:
    responses_server.script(Reply(reasoning="hm", calls=[Call("CalculatorTool", {}, id="c")]), *[Reply(text="ok")] * 3)
    one = await answer(chat, "u", tools=(ADD,), model=MODEL)
    other = called("d").model_copy(
        update={"provider_data": ProviderData.pack("Elsewhere", MODEL, {"items": [{"type": "reasoning"}]})}
    )
    for message, fields in ((said(one), {"model": "gpt-5-mini"}), (other, {}), (called("e"), {})):
        await send(chat, "u", message, result(message.tool_calls[0].id), tools=(ADD,), **{"model": MODEL, **fields})
    assert ["encrypted_content" in json.dumps(body["input"]) for body in responses_server.chats] == [False] * 4
    assert responses_server.refusals == []


async def test_a_server_that_rejects_its_own_reasoning(responses_server: FakeResponses, chat: Any) -> None:
    responses_server.script(
        Reply(reasoning="hm", calls=[Call("CalculatorTool", {"expression": "1"}, id="c")]), Reply(text="ok")
    )
    one = await answer(chat, "u", tools=(ADD,), model=MODEL)
    responses_server.forgets = True
    assert (await answer(chat, "u", said(one), result("c"), tools=(ADD,), model=MODEL)).content == "ok"
    assert len(responses_server.refusals) == 2
    assert "CalculatorTool with" in json.dumps(responses_server.chats[-1]["input"])


@pytest.mark.parametrize("status", [400, 404])
async def test_a_server_that_looks_up_items_gets_requests_without_them(
    responses_server: FakeResponses, chat: Any, status: int
) -> None:
    lost = error_body("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", "input")
    responses_server.script(
        Reply(reasoning="hm", text="a"), Failure(status, lost), Failure(status, lost), Reply(text="ok")
    )
    one = await answer(chat, "u", model=MODEL)
    assert (await answer(chat, "u", said(one), "v", model=MODEL)).content == "ok"
    assert ["reasoning" in json.dumps(body["input"]) for body in responses_server.chats] == [False, True, True, False]


async def test_reasoning_that_the_server_could_not_look_up_is_not_stored(
    responses_server: FakeResponses, chat: Any
) -> None:
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
    ]
    responses_server.script(Reply(raw=json.dumps({"status": "completed", "output": output}).encode()))
    assert (await answer(chat, "u", model=MODEL)).provider_data is None


def refusing(message: str, field: str | None = None) -> Failure:
    return Failure(400, error_body(message, field))


NONE = (
    "Unsupported value: 'none' is not supported with the 'gpt-5.5' model. Supported values are: 'low', 'medium', and "
    "'high'."
)


@pytest.mark.parametrize(
    ("model", "fields", "said_no", "expected"),
    [
        (MODEL, OFF, [(NONE, "reasoning.effort")], [{"effort": "low"}]),
        (MODEL, {"effort": "low"},
        [("Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort")],
         [None]),
        (MODEL, {"effort": "low"},
        [("Unsupported parameter: 'reasoning.summary' is not supported with this model.", "reasoning.summary")],
         [{"effort": "low"}]),
        (MODEL, {}, [("Unknown parameter: 'reasoning'.", "reasoning")], [None]),
        ("other", {"effort": "low"}, [("reasoning: Extra inputs are not permitted", None)], [None]),
    ],
)  # fmt: skip
async def test_another_effort_is_tried(
    responses_server: FakeResponses, chat: Any, model: str, fields: Any, said_no: list[Any], expected: list[Any]
) -> None:
    responses_server.script(*(refusing(*each) for each in said_no), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model=model, **fields)
    found = [body.get("reasoning") for body in responses_server.chats]
    assert found[1:] == [*expected, expected[-1]], "and it is remembered"


async def test_an_unverified_organization_gets_neither_streams_nor_summaries(
    responses_server: FakeResponses, chat: Any
) -> None:
    responses_server.verified = False
    responses_server.script(Reply(text="one", reasoning="hm"), Reply(text="two"))
    assert (await answer(chat, model=MODEL)).content == "one"
    assert (await answer(chat, model=MODEL)).content == "two"
    assert len(responses_server.refusals) == 2
    assert [("reasoning" in body, "stream" in body) for body in responses_server.chats[-2:]] == [(False, False)] * 2


@pytest.mark.parametrize(
    ("message", "named", "field"),
    [
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature", "temperature"),
        ("Encrypted content is not supported with this model.", "include", "include"),
        ("Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key", "prompt_cache_key"),
        ("Unsupported parameter: 'text.format' is not supported.", "text.format", "text"),
        ("store: Extra inputs are not permitted", None, "store"),
    ],
)
async def test_a_refused_field_is_omitted_and_remembered(
    responses_server: FakeResponses, chat: Any, message: str, named: Any, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.helpers.servers.openai_responses.check", lambda body, issued: None)
    responses_server.script(refusing(message, named), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model="other", effort="low", response_schema={"type": "object", "properties": {}})
    assert [field in body for body in responses_server.chats] == [True, False, False]


async def test_an_answer_schema_is_sent(responses_server: FakeResponses, chat: Any) -> None:
    responses_server.script(Reply(text="{}"), Reply(text="{}"))
    closed = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    for schema in (closed, {"type": "object", "properties": {"a": {"type": "integer"}}}):
        await send(chat, model=MODEL, response_schema=schema)
    forms = [body["text"]["format"] for body in responses_server.chats]
    assert forms[0] == {"type": "json_schema", "name": "reply", "schema": closed, "strict": True}
    assert forms[1]["strict"] is False, "what strict mode would refuse is asked for without it"


async def test_usage_includes_cache_reads_and_writes(responses_server: FakeResponses, chat: Any) -> None:
    usage = {"input_tokens": 1025, "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 20},
    "output_tokens": 30,
             "output_tokens_details": {"reasoning_tokens": 12}}  # fmt: skip
    responses_server.script(Reply(text="ok", usage=usage), Reply(text="ok", usage=None))
    counted = (await answer(chat, model=MODEL)).usage
    assert counted == Usage(
        tokens_input=1025, tokens_output=30, tokens_cached=1000, tokens_stored=20, tokens_reasoning=12
    )
    assert (await answer(chat, model=MODEL)).usage is None


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("stop", FinishReason.STOP), ("length", FinishReason.LENGTH), ("content_filter", FinishReason.CONTENT_FILTER),
     ("something_new", FinishReason.LENGTH)],
)  # fmt: skip
async def test_finish_reasons(responses_server: FakeResponses, chat: Any, stop: str, reason: FinishReason) -> None:
    responses_server.script(Reply(text="a", finish=stop))
    assert (await answer(chat, model=MODEL)).finish_reason is reason


async def test_models_and_vectors(responses_server: FakeResponses, chat: Any) -> None:
    responses_server.models.append({"id": "text-embedding-3-small"})
    models = {info.name: info for info in await chat.list_models()}
    assert list(models) == ["gpt-5.5", "gpt-4.1", "text-embedding-3-small"]
    first = models["gpt-5.5"]
    assert (first.supports_tools, first.supports_thinking, first.context_window, first.price_input) == (
        True,
        True,
        400_000,
        None,
    )
    assert models["text-embedding-3-small"].embedding
    vectors, tokens = await chat.embeddings(
        {"model": "text-embedding-3-small", "input": ["a", "b"]}, "text-embedding-3-small"
    )
    assert (len(vectors), tokens) == (2, 3)
    health = await chat.test()
    assert (health.ok, health.models) == (True, 3)


@pytest.mark.parametrize("key", ["sk-wrong-key-9999", "AIza-wrong-key-9999", ""])
async def test_a_wrong_key(responses_server: FakeResponses, clock: ManualClock, key: str) -> None:
    responses_server.api_key, responses_server.echo_key = KEY, True
    chat = provider("responses", responses_server.root, clock, key=key)
    health = await chat.test()
    assert (health.ok, health.code) == (False, "auth")
    assert "wrong-key" not in health.message
    with pytest.raises(ProviderError, match="refused the API key"):
        await send(chat, model=MODEL)
    assert responses_server.of("/v1/responses") != [], "the version was added to the address"


ERRORS = [
    (401, "Incorrect API key provided.", "invalid_api_key", "auth"),
    (403, "Project `p` does not have access to this model", None, "auth"),
    (404, "The model `gpt-9` does not exist or you do not have access to it.", "model_not_found", "not_found"),
    (
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "quota",
    ),
    (429, "Rate limit reached for gpt-5.5", "rate_limit_exceeded", "rate_limited"),
    (400, "Invalid prompt: your prompt was flagged", "invalid_prompt", "bad_request"),
    (500, "The server had an error while processing your request.", "server_error", "server_error"),
    (503, "The engine is currently overloaded, please try again later", None, "overloaded"),
]


@pytest.mark.parametrize(("status", "message", "name", "code"), ERRORS)
async def test_refusals(
    responses_server: FakeResponses, chat: Any, status: int, message: str, name: Any, code: str
) -> None:
    responses_server.script(Failure(status, error_body(message, code=name)))
    with pytest.raises(ProviderError) as caught:
        await send(chat, model=MODEL, retry=False)
    assert (caught.value.code, caught.value.status) == (code, status)
    assert message.split(".")[0] in str(caught.value)


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize(("name", "code"), [(name, code) for _status, _message, name, code in ERRORS if name])
async def test_errors_in_the_middle_of_a_stream(
    responses_server: FakeResponses, chat: Any, name: str, code: str, failed: bool
) -> None:
    """As a separate event, and as a failed response."""
    error = {"code": name, "message": "it broke off"}
    if failed:
        event = {"type": "response.failed", "response": {"status": "failed", "error": error, "output": []}}
        responses_server.script(Reply(raw=f"data: {json.dumps(event)}\n\n".encode()))
    else:
        responses_server.script(Reply(text="a long reply", midway_error={**error, "param": None}, error_after=5))
    with raises_code(ProviderError, code, match="it broke off"):
        await send(chat, model=MODEL, retry=False)


async def test_temporary_errors_are_retried(responses_server: FakeResponses, chat: Any, clock: ManualClock) -> None:
    limited = Failure(429, error_body("Rate limit reached. Please try again in 7s.", code="rate_limit_exceeded"))
    broken = Reply(text="a", midway_error={"code": "server_error", "message": "sorry"}, error_after=0)
    responses_server.script(
        limited, Failure(503, error_body("overloaded")), broken, Reply(text="a", cut_after=1), Reply(text="ok")
    )
    chat.retry = chat.retry.__class__(attempts=6)
    deltas = await run(clock, chat.stream(ask(model=MODEL)))
    assert [(delay >= 7.0, reason) for _attempt, delay, reason in retries(deltas)][:3] == [
        (True, "rate_limited"), (False, "overloaded"), (False, "server_error")
    ]  # fmt: skip
    assert [reason for _attempt, _delay, reason in retries(deltas)][3:] == ["truncated"]
    assert deltas[-1].reply.content == "ok"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "https://api.openai.com/v1"),
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/responses/", "https://api.openai.com/v1"),
        ("https://lab.openai.azure.com", "https://lab.openai.azure.com/openai/v1"),
        ("http://localhost:1234/v1", "http://localhost:1234/v1"),
    ],
)
def test_addresses(given: str, url: str, clock: ManualClock) -> None:
    assert provider("responses", given, clock).http.base_url == url
