"""Anthropic's API over real HTTP: valid requests, streams, thinking sent back, model capabilities, lists, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, ImagePart, Role, Usage
from atelier_desk.domain.opaque_provider_data import ProviderData
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.anthropic import FakeAnthropic, error_body, model_entry
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

KEY = "sk-ant-test-key-1"
MODEL = "claude-sonnet-5"


@pytest.fixture
def chat(anthropic_server: FakeAnthropic, clock: ManualClock) -> Any:
    anthropic_server.api_key = KEY
    return provider("anthropic", anthropic_server.url, clock, key=KEY)


def sent(server: FakeAnthropic) -> list[dict[str, Any]]:
    return [request.json for request in server.of("/v1/messages")]


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("whole", [False, True])
async def test_a_reply_with_everything(
    anthropic_server: FakeAnthropic, chat: Any, chunk_size: int | None, at_once: bool, whole: bool
) -> None:
    anthropic_server.at_once = at_once
    calls = [Call("CalculatorTool", {"expression": "1+1 é"}, id="toolu_1"), Call("CalculatorTool", {}, id="toolu_2")]
    reply = Reply(text="Voilà 🙂", reasoning="réfléchir", calls=calls, chunk_size=chunk_size)
    if whole:
        reply = Reply(raw=json.dumps(anthropic_server.whole(reply, MODEL)).encode(), chunk_size=chunk_size)
    anthropic_server.script(reply)
    deltas = await send(chat, tools=(ADD,), model=MODEL)
    got = reply_of(deltas)
    assert (got.content, got.reasoning, got.finish_reason, got.model) == (
        "Voilà 🙂",
        "réfléchir",
        FinishReason.TOOL_CALLS,
        MODEL,
    )
    assert [(call.id, call.arguments) for call in got.tool_calls] == [
        ("toolu_1", {"expression": "1+1 é"}),
        ("toolu_2", {}),
    ]
    assert json.loads(arguments(deltas)[0]) == {"expression": "1+1 é"}
    assert got.usage == Usage(tokens_input=11, tokens_output=7)


async def test_the_request_body(anthropic_server: FakeAnthropic, chat: Any) -> None:
    anthropic_server.script(Reply(text="ok"))
    image = ImagePart(media_type="image/png", data="aGk=")
    messages = (
        ChatMessage(role=Role.SYSTEM, content="Be brief."),
        ChatMessage(role=Role.USER, content="Look", images=(image,)),
    )
    await send(chat, *messages, model=MODEL, tools=(ADD,), temperature=0.3, max_tokens=300, stop=("END", " "), seed=4)
    mark = {"cache_control": {"type": "ephemeral"}}
    assert sent(anthropic_server) == [
        {
            "model": MODEL,
            "max_tokens": 300,
            "system": [{"type": "text", "text": "Be brief.", **mark}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                            **mark,
                        },
                    ],
                }
            ],
            "tools": [{"name": "CalculatorTool", "description": "Adds.", "input_schema": ADD.parameters, **mark}],
            "thinking": {"type": "adaptive", "display": "summarized"},
            "stop_sequences": ["END"],
            "stream": True,
        }
    ]
    headers = anthropic_server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("model", "fields", "thinking", "effort", "temperature", "max_tokens"),
    [
        ("claude-sonnet-5", {"effort": "low"}, {"type": "adaptive", "display": "summarized"}, "low", None, 4096),
        ("claude-sonnet-5", {"enable_thinking": False, "effort": "low"}, {"type": "disabled"}, None, None, 4096),
        ("claude-fable-5", {"enable_thinking": False}, None, None, None, 4096),
        ("claude-sonnet-4-6", {"effort": "high"}, {"type": "adaptive", "display": "summarized"}, "high", None, 4096),
        ("claude-sonnet-4-6", {"enable_thinking": False}, {"type": "disabled"}, None, 0.7, 4096),
        ("claude-opus-4-5", {"effort": "high"}, {"type": "enabled", "budget_tokens": 3072}, "high", None, 4096),
        ("claude-haiku-4-5", {}, {"type": "enabled", "budget_tokens": 2048}, None, None, 4096),
        (
            "claude-haiku-4-5",
            {"effort": "low", "max_tokens": 1300},
            {"type": "enabled", "budget_tokens": 1024},
            None,
            None,
            1300,
        ),
        ("claude-haiku-4-5", {"max_tokens": 1200}, None, None, 0.7, 1200),
        ("claude-haiku-4-5", {"enable_thinking": False, "temperature": 1.7}, None, None, 1.0, 4096),
        (
            "claude-haiku-4-5",
            {"max_tokens": 128_000, "effort": "high"},
            {"type": "enabled", "budget_tokens": 48_000},
            None,
            None,
            64_000,
        ),
        ("claude-3-haiku-20240307", {"effort": "high", "max_tokens": 8000}, None, None, 0.7, 4096),
    ],
)
async def test_parameters_supported_by_each_model(
    anthropic_server: FakeAnthropic,
    chat: Any,
    model: str,
    fields: Any,
    thinking: Any,
    effort: Any,
    temperature: Any,
    max_tokens: int,
) -> None:
    anthropic_server.script(Reply(text="ok"))
    await send(chat, model=model, **fields)
    (body,) = sent(anthropic_server)
    found = (
        body.get("thinking"),
        body.get("output_config", {}).get("effort"),
        body.get("temperature"),
        body["max_tokens"],
    )
    assert found == (thinking, effort, temperature, max_tokens)


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("model", ["claude-sonnet-5", "claude-haiku-4-5"])
async def test_seventy_conversations_are_accepted(
    anthropic_server: FakeAnthropic, chat: Any, model: str, tools: bool
) -> None:
    thought = {"type": "thinking", "thinking": "because", "signature": "c2ln"}
    anthropic_server.issued.thoughts.append((model, thought))
    anthropic_server.script(*[Reply(text="ok")] * len(SHAPES))
    for kinds in SHAPES:
        messages = conversation(kinds, model, {"blocks": [thought, {"type": "text", "length": 1}]})
        assert (await answer(chat, *messages, model=model, tools=(ADD,) if tools else ())).content == "ok", kinds
    assert anthropic_server.refusals == []


@pytest.mark.parametrize("model", ["claude-sonnet-5", "claude-haiku-4-5"])
@pytest.mark.parametrize(("redacts", "interleaves"), [(False, False), (True, False), (True, True)])
async def test_thinking_is_sent_back_unchanged_and_in_its_position(
    anthropic_server: FakeAnthropic, chat: Any, model: str, redacts: bool, interleaves: bool
) -> None:
    anthropic_server.redacts, anthropic_server.interleaves = redacts, interleaves
    calls = [Call("CalculatorTool", {"expression": str(number)}, id=f"toolu_{number}") for number in range(2)]
    anthropic_server.script(
        Reply(text="Je regarde", reasoning="12 × 7 🙂", calls=calls, chunk_size=3), Reply(text="84", reasoning="fini")
    )
    messages: list[Any] = ["12*7?"]
    one = await answer(chat, *messages, tools=(ADD,), model=model)
    messages += [said(one), result("toolu_0"), result("toolu_1")]
    two = await answer(chat, *messages, tools=(ADD,), model=model)
    anthropic_server.script(Reply(text="Yes."))
    await send(chat, *messages, said(two), "Sure?", tools=(ADD,), model=model)
    assert anthropic_server.refusals == []
    first = anthropic_server.issued.replies[model, ("toolu_0", "toolu_1")]
    assert sent(anthropic_server)[1]["messages"][1]["content"] == first, "all of it as it came, texts and calls too"
    assert sent(anthropic_server)[2]["messages"][3]["content"][0]["thinking"] == "fini"
    assert one.reasoning.startswith("12 × 7 🙂")


async def test_thinking_is_sent_to_no_other_server(anthropic_server: FakeAnthropic, chat: Any) -> None:
    anthropic_server.script(Reply(reasoning="hm", calls=[Call("CalculatorTool", {}, id="c")]), *[Reply(text="ok")] * 3)
    one = await answer(chat, "u", tools=(ADD,), model=MODEL)
    other = called("d").model_copy(
        update={"provider_data": ProviderData.pack("Elsewhere", MODEL, {"blocks": [{"type": "thinking"}]})}
    )
    for message, fields in (
        (said(one), {"model": "claude-fable-5"}),
        (other, {}),
        (said(one), {"enable_thinking": False}),
    ):
        await send(chat, "u", message, result(message.tool_calls[0].id), tools=(ADD,), **{"model": MODEL, **fields})
    assert ["thinking" in json.dumps(body["messages"]) for body in sent(anthropic_server)] == [False] * 4
    assert anthropic_server.refusals == []


async def test_a_turn_that_started_without_thinking_continues_without(
    anthropic_server: FakeAnthropic, chat: Any
) -> None:
    """For a model with a thinking budget; the calls stay calls, and the next turn thinks again."""
    anthropic_server.script(Reply(text="2"), Reply(text="ok", reasoning="hm"))
    messages: list[Any] = ["1+1?", called("c", expression="1+1"), result("c")]
    await send(chat, *messages, tools=(ADD,), model="claude-haiku-4-5")
    await send(chat, *messages, "and?", ChatMessage(role=Role.ASSISTANT, content="2"), "so?", model="claude-haiku-4-5")
    assert ["thinking" in body for body in sent(anthropic_server)] == [False, True]
    assert anthropic_server.refusals == []


@pytest.mark.parametrize("model", ["claude-sonnet-5", "claude-haiku-4-5"])
async def test_a_server_that_rejects_its_own_signatures(anthropic_server: FakeAnthropic, chat: Any, model: str) -> None:
    anthropic_server.script(
        Reply(reasoning="hm", calls=[Call("CalculatorTool", {"expression": "1"}, id="c")]), Reply(text="ok")
    )
    one = await answer(chat, "u", tools=(ADD,), model=model)
    anthropic_server.forgets = True
    assert (await answer(chat, "u", said(one), result("c"), tools=(ADD,), model=model)).content == "ok"
    assert 1 <= len(anthropic_server.refusals) <= 2
    assert "CalculatorTool with" in json.dumps(sent(anthropic_server)[-1]["messages"])


def refusing(message: str) -> Failure:
    return Failure(400, error_body("invalid_request_error", message))


@pytest.mark.parametrize(
    ("model", "said_no", "expected"),
    [
        ("claude-sonnet-5", ["adaptive thinking is not supported on this model"], ["adaptive", "enabled", "disabled"]),
        ("claude-sonnet-4-6", ["adaptive thinking is not supported on this model"], ["adaptive", "enabled"]),
        (
            "other",
            [
                (
                    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
                    '"output_config.effort" to control'
                )
            ],
            ["enabled", "adaptive"],
        ),
        (
            "other",
            ["thinking: Extra inputs are not permitted", "thinking: Extra inputs are not permitted"],
            ["enabled", "adaptive", None],
        ),
    ],
)
async def test_another_kind_of_thinking_is_tried(
    anthropic_server: FakeAnthropic, chat: Any, model: str, said_no: list[str], expected: list[Any]
) -> None:
    anthropic_server.script(*map(refusing, said_no), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model=model, effort="low")
    kinds = [body.get("thinking", {}).get("type") for body in sent(anthropic_server)]
    assert kinds == [*expected, expected[-1]], "and it is remembered"


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("`temperature` is deprecated for this model.", "temperature"),
        ("output_config.effort: This model does not support the effort parameter.", "output_config"),
        ("output_config.format: structured outputs are not supported by this model", "output_config"),
    ],
)
async def test_a_refused_field_is_omitted_and_remembered(
    anthropic_server: FakeAnthropic, chat: Any, message: str, field: str
) -> None:
    fields: Any = (
        {"enable_thinking": False} if field == "temperature" else {"effort": "low"} if "effort" in message else {}
    )
    fields |= {"response_schema": {"type": "object", "properties": {}}} if "format" in message else {}
    anthropic_server.script(refusing(message), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model="claude-opus-4-5", **fields)
    assert [field in body for body in sent(anthropic_server)] == [True, False, False]


async def test_the_maximum_reply_length_is_learned_from_the_refusal(anthropic_server: FakeAnthropic, chat: Any) -> None:
    anthropic_server.script(Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model="other", max_tokens=100_000)
    assert [body["max_tokens"] for body in sent(anthropic_server)] == [100_000, 64_000, 64_000]
    assert [said.startswith("max_tokens: 100000 > 64000") for said in anthropic_server.refusals] == [True]


async def test_an_answer_schema_is_sent(anthropic_server: FakeAnthropic, chat: Any) -> None:
    inner = {"type": "object", "properties": {"minimum": {"type": "integer", "minimum": 1, "enum": [1, 2]}}}
    anthropic_server.script(Reply(text="{}"))
    await send(
        chat, model=MODEL, response_schema={"type": "object", "properties": {"a": {"type": "array", "items": inner}}}
    )
    closed = {
        "type": "object",
        "properties": {"minimum": {"type": "integer", "enum": [1, 2]}},
        "additionalProperties": False,
    }
    assert sent(anthropic_server)[0]["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {
            "type": "object",
            "properties": {"a": {"type": "array", "items": closed}},
            "additionalProperties": False,
        },
    }


async def test_usage_includes_cache_reads_and_writes(anthropic_server: FakeAnthropic, chat: Any) -> None:
    usage: dict[str, Any] = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 1000,
        "output_tokens": 30,
    }
    usage["output_tokens_details"] = {"thinking_tokens": 12}
    anthropic_server.script(Reply(text="ok", usage=usage), Reply(text="ok", usage=None))
    counted = (await answer(chat, model=MODEL)).usage
    assert counted == Usage(
        tokens_input=1025, tokens_output=30, tokens_cached=1000, tokens_stored=20, tokens_reasoning=12
    )
    assert (await answer(chat, model=MODEL)).usage is None


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", FinishReason.STOP), ("stop_sequence", FinishReason.STOP), ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH), ("pause_turn", FinishReason.LENGTH),
        ("refusal", FinishReason.CONTENT_FILTER), ("something_new", FinishReason.STOP),
    ],
)  # fmt: skip
async def test_stop_reasons(anthropic_server: FakeAnthropic, chat: Any, stop: str, reason: FinishReason) -> None:
    anthropic_server.script(Reply(text="a", finish=stop))
    assert (await answer(chat, model=MODEL)).finish_reason is reason


async def test_models_of_all_pages(anthropic_server: FakeAnthropic, chat: Any) -> None:
    old = model_entry("claude-2.1", "Claude 2.1", lifecycle="retired")
    bare = {
        "type": "model",
        "id": "claude-opus-4-1",
        "display_name": "Claude Opus 4.1",
        "created_at": "2025-08-05T00:00:00Z",
    }
    anthropic_server.models += [old, bare]
    anthropic_server.page_size = 1
    models = {info.name: info for info in await chat.list_models()}
    assert list(models) == ["claude-sonnet-5", "claude-haiku-4-5", "claude-opus-4-1"], "retired ones are left out"
    first, last = models["claude-sonnet-5"], models["claude-opus-4-1"]
    assert (first.label, first.context_window, first.max_output_tokens, first.source) == (
        "Claude Sonnet 5",
        1_000_000,
        128_000,
        "server",
    )
    assert (first.supports_tools, first.supports_vision, first.supports_thinking) == (True, True, True)
    assert (last.context_window, last.max_output_tokens, last.source) == (200_000, 32_000, "profile")
    assert [request.query for request in anthropic_server.requests][1] == "limit=1000&after_id=claude-sonnet-5"
    health = await chat.test()
    assert (health.ok, health.models) == (True, 3)


async def test_endless_pages_are_abandoned(
    anthropic_server: FakeAnthropic, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def always_more(request: Any, out: Any) -> None:
        await out.json({"data": anthropic_server.models, "has_more": True, "last_id": "claude-haiku-4-5"})

    monkeypatch.setattr(anthropic_server, "list_models", always_more)
    assert len(await chat.list_models()) == 2
    assert len(anthropic_server.requests) == 2


async def test_the_model_list_overrides_assumptions(anthropic_server: FakeAnthropic, chat: Any) -> None:
    entry = model_entry("claude-next", "Next")
    entry["capabilities"]["thinking"]["types"]["adaptive"] = {"supported": False}
    entry["capabilities"]["effort"] = {"supported": False}
    anthropic_server.models = [{**entry, "max_tokens": 2000}]
    await chat.list_models()
    anthropic_server.script(Reply(text="ok"))
    await send(chat, model="claude-next", effort="high")
    (body,) = sent(anthropic_server)
    assert ("thinking" in body, "output_config" in body, body["max_tokens"]) == (False, False, 2000)


async def test_a_wrong_key(anthropic_server: FakeAnthropic, clock: ManualClock) -> None:
    anthropic_server.api_key = KEY
    health = await provider("anthropic", anthropic_server.root, clock, key="sk-ant-wrong-key-99").test()
    assert (health.ok, health.code) == (False, "auth")
    assert "sk-ant-wrong" not in health.message
    with pytest.raises(ProviderError, match="refused the API key"):
        await send(provider("anthropic", anthropic_server.root, clock, key="sk-ant-wrong-key-99"), model=MODEL)
    assert anthropic_server.of("/v1/messages") != [], "the version was added to the address"


async def test_a_bearer_token_on_request(anthropic_server: FakeAnthropic, clock: ManualClock) -> None:
    chat = provider("anthropic", anthropic_server.url, clock, key=KEY, key_style="bearer")
    anthropic_server.script(Reply(text="ok"))
    await send(chat, model=MODEL)
    headers = anthropic_server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in headers


ERRORS = [
    (401, "authentication_error", "invalid x-api-key", "auth"),
    (402, "billing_error", "Payment required", "quota"),
    (403, "permission_error", "Your API key does not have permission to use the specified resource.", "auth"),
    (404, "not_found_error", "model: claude-nope", "not_found"),
    (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
        "quota",
    ),
    (400, "invalid_request_error", "messages.3: something else", "bad_request"),
    (429, "rate_limit_error", "This request would exceed your organization's rate limit", "rate_limited"),
    (500, "api_error", "Internal server error", "server_error"),
    (529, "overloaded_error", "Overloaded", "overloaded"),
]


@pytest.mark.parametrize(("status", "kind", "message", "code"), ERRORS)
async def test_refusals(
    anthropic_server: FakeAnthropic, chat: Any, status: int, kind: str, message: str, code: str
) -> None:
    anthropic_server.script(Failure(status, error_body(kind, message)))
    with pytest.raises(ProviderError) as caught:
        await send(chat, model=MODEL, retry=False)
    assert (caught.value.code, caught.value.status) == (code, status)
    assert message.split(":")[0] in str(caught.value)


@pytest.mark.parametrize(("status", "kind", "message", "code"), ERRORS)
async def test_errors_in_the_middle_of_a_stream(
    anthropic_server: FakeAnthropic, chat: Any, status: int, kind: str, message: str, code: str
) -> None:
    anthropic_server.script(
        Reply(text="a long reply", midway_error={"error": {"type": kind, "message": message}}, error_after=3)
    )
    with raises_code(ProviderError, code):
        await send(chat, model=MODEL, retry=False)


async def test_temporary_errors_are_retried(anthropic_server: FakeAnthropic, chat: Any, clock: ManualClock) -> None:
    limited = Failure(429, error_body("rate_limit_error", "slow down"), headers={"retry-after": "7"})
    overloaded = Reply(
        text="a", midway_error={"error": {"type": "overloaded_error", "message": "Overloaded"}}, error_after=0
    )
    anthropic_server.script(
        limited, Failure(529, error_body("overloaded_error", "Overloaded")), overloaded, Reply(text="ok")
    )
    deltas = await run(clock, chat.stream(ask(model=MODEL)))
    assert [(delay >= 7.0, reason) for _attempt, delay, reason in retries(deltas)] == [
        (True, "rate_limited"), (False, "overloaded"), (False, "overloaded")
    ]  # fmt: skip
    assert reply_of(deltas[3:]).content == "ok"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        ("https://host.example/anthropic/", "https://host.example/anthropic/v1"),
        ("http://localhost:8080/v1", "http://localhost:8080/v1"),
    ],
)
def test_addresses(given: str, url: str, clock: ManualClock) -> None:
    assert provider("anthropic", given, clock).http.base_url == url
