"""Google's API over real HTTP: valid requests, streams, signatures sent back, model capabilities, lists, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatMessage, FinishReason, ImagePart, Role, ToolSpec, Usage
from atelier_desk.domain.opaque_provider_data import ProviderData
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.google import FakeGoogle, error_body, model_entry
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

KEY = "AIza-test-key-1"
MODEL = "gemini-3.5-flash"


@pytest.fixture
def chat(google_server: FakeGoogle, clock: ManualClock) -> Any:
    google_server.api_key = KEY
    return provider("google", google_server.url, clock, key=KEY)


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("whole", [False, True])
async def test_a_reply_with_everything(
    google_server: FakeGoogle, chat: Any, chunk_size: int | None, whole: bool
) -> None:
    calls = [Call("CalculatorTool", {"expression": "1+1 é"}, id="c1"), Call("CalculatorTool", {}, id=None)]
    reply = Reply(text="Voilà 🙂", reasoning="réfléchir", calls=calls, chunk_size=chunk_size)
    if whole:
        reply = Reply(raw=json.dumps(google_server.whole(reply, MODEL)).encode(), chunk_size=chunk_size)
    google_server.script(reply)
    deltas = await send(chat, tools=(ADD,), model=MODEL)
    got = reply_of(deltas)
    assert (got.content, got.reasoning, got.finish_reason, got.model) == (
        "Voilà 🙂",
        "réfléchir",
        FinishReason.TOOL_CALLS,
        MODEL,
    )
    assert [call.arguments for call in got.tool_calls] == [{"expression": "1+1 é"}, {}]
    assert got.tool_calls[0].id == "c1"
    assert got.tool_calls[1].id.startswith("call_"), "a call without an id gets one"
    assert json.loads(arguments(deltas)[0]) == {"expression": "1+1 é"}
    assert got.usage == Usage(tokens_input=11, tokens_output=7)


async def test_the_request_body(google_server: FakeGoogle, chat: Any) -> None:
    google_server.script(Reply(text="ok"))
    image = ImagePart(media_type="image/png", data="aGk=")
    messages = (
        ChatMessage(role=Role.SYSTEM, content="Be brief."),
        ChatMessage(role=Role.USER, content="Look", images=(image,)),
    )
    await send(chat, *messages, model=MODEL, tools=(ADD,), temperature=0.3, max_tokens=300, stop=("END", ""), seed=4)
    assert google_server.chats == [
        {
            "contents": [{"role": "user",
            "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [
                {"name": "CalculatorTool", "description": "Adds.", "parametersJsonSchema": ADD.parameters}
            ]}],
            "generationConfig": {"maxOutputTokens": 300, "stopSequences": ["END"], "seed": 4,
            "thinkingConfig": {"includeThoughts": True}},
        }
    ]  # fmt: skip
    request = google_server.requests[0]
    assert (request.path, request.query) == (f"/v1beta/models/{MODEL}:streamGenerateContent", "alt=sse")
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers


ON, OFF = {"includeThoughts": True}, {"enable_thinking": False}


@pytest.mark.parametrize(
    ("model", "fields", "thinking", "temperature", "max_tokens"),
    [
        ("gemini-3.5-flash", {"effort": "medium"}, {"thinkingLevel": "MEDIUM", **ON}, None, 4096),
        ("gemini-3.5-flash", {}, ON, None, 4096),
        ("gemini-3.5-flash", {**OFF, "effort": "high"}, {"thinkingLevel": "MINIMAL"}, None, 4096),
        ("models/gemini-3.1-pro-preview", {"effort": "low"}, {"thinkingLevel": "LOW", **ON}, None, 4096),
        ("gemini-3.1-pro-preview", OFF, {"thinkingLevel": "LOW"}, None, 4096),
        ("gemini-3-pro-preview", {"effort": "medium"}, {"thinkingLevel": "HIGH", **ON}, None, 4096),
        ("gemini-2.5-flash", {}, ON, 0.7, 4096),
        ("gemini-2.5-flash", {"effort": "low"}, {"thinkingBudget": 1024, **ON}, 0.7, 4096),
        ("gemini-2.5-flash", {"effort": "high", "max_tokens": 90_000}, {"thinkingBudget": 24_576, **ON}, 0.7, 65_536),
        ("gemini-2.5-flash", OFF, {"thinkingBudget": 0}, 0.7, 4096),
        ("gemini-2.5-flash-lite", {"effort": "low", "max_tokens": 900}, {"thinkingBudget": 512, **ON}, 0.7, 900),
        ("gemini-2.5-pro", OFF, {"thinkingBudget": 128}, 0.7, 4096),
        ("gemini-2.0-flash", {"effort": "high"}, None, 0.7, 4096),
        ("gemma-3-27b-it", {"effort": "high", "temperature": 2.5}, None, 2.0, 4096),
        ("tunedModels/mine", {"effort": "low"}, {"thinkingLevel": "LOW", **ON}, 0.7, 4096),
    ],
)
async def test_parameters_supported_by_each_model(
    google_server: FakeGoogle, chat: Any, model: str, fields: Any, thinking: Any, temperature: Any, max_tokens: int
) -> None:
    google_server.script(Reply(text="ok"))
    await send(chat, model=model, **fields)
    (config,) = [body["generationConfig"] for body in google_server.chats]
    assert (config.get("thinkingConfig"), config.get("temperature"), config["maxOutputTokens"]) == (
        thinking,
        temperature,
        max_tokens,
    )
    assert google_server.refusals == []


@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("model", ["gemini-3.5-flash", "gemini-2.5-flash"])
async def test_seventy_conversations_are_accepted(
    google_server: FakeGoogle, chat: Any, model: str, tools: bool
) -> None:
    thought = {"parts": [{"type": "text", "length": 1, "thoughtSignature": "c2ln"}]}
    google_server.issued.signatures.append((model, "c2ln", "text"))
    google_server.script(*[Reply(text="ok")] * len(SHAPES))
    for kinds in SHAPES:
        messages = conversation(kinds, model, thought)
        assert (await answer(chat, *messages, model=model, tools=(ADD,) if tools else ())).content == "ok", kinds
    assert google_server.refusals == []


@pytest.mark.parametrize("model", ["gemini-3.5-flash", "gemini-2.5-flash"])
@pytest.mark.parametrize("text", ["Je regarde", ""])
async def test_signatures_are_sent_back_unchanged_and_in_their_position(
    google_server: FakeGoogle, chat: Any, model: str, text: str
) -> None:
    calls = [Call("CalculatorTool", {"expression": str(number)}, id=f"c{number}") for number in range(2)]
    google_server.script(
        Reply(text=text, reasoning="12 × 7 🙂", calls=calls, chunk_size=3), Reply(text="84 it is", reasoning="fini")
    )
    messages: list[Any] = ["12*7?"]
    one = await answer(chat, *messages, tools=(ADD,), model=model)
    messages += [said(one), result("c0"), result("c1")]
    two = await answer(chat, *messages, tools=(ADD,), model=model)
    google_server.script(Reply(text="Yes."))
    await send(chat, *messages, said(two), "Sure?", tools=(ADD,), model=model)
    assert google_server.refusals == []
    (_, on_call, _), (_, on_text, _) = google_server.issued.signatures[:2]
    sent = google_server.chats[-1]["contents"]
    assert [part.get("thoughtSignature") for part in sent[1]["parts"]] == [*([None] if text else []), on_call, None]
    assert sent[3]["parts"] == [{"text": "84 it is"}, {"text": "", "thoughtSignature": on_text}], (
        "the signature came after the text"
    )
    assert [part["functionResponse"]["id"] for part in sent[2]["parts"]] == ["c0", "c1"]


async def test_signatures_are_sent_to_no_other_server(google_server: FakeGoogle, chat: Any) -> None:
    """Calls of other models and servers stay calls, with the placeholder that Google defines for that."""
    google_server.script(Reply(reasoning="hm", calls=[Call("CalculatorTool", {}, id="c")]), *[Reply(text="ok")] * 4)
    one = await answer(chat, "u", tools=(ADD,), model=MODEL)
    elsewhere = ProviderData.pack("Elsewhere", MODEL, {"thoughtSignature": "c2ln"})
    foreign = called("d")
    other = foreign.model_copy(
        update={"tool_calls": (foreign.tool_calls[0].model_copy(update={"provider_data": elsewhere}),)}
    )
    for message, fields in (
        (said(one), {"model": "gemini-3-flash-preview"}),
        (other, {}),
        (said(one), {"model": "gemini-2.5-flash"}),
    ):
        await send(chat, "u", message, result(message.tool_calls[0].id), tools=(ADD,), **{"model": MODEL, **fields})
    placed = [body["contents"][1]["parts"][0].get("thoughtSignature") for body in google_server.chats[1:]]
    assert placed == ["skip_thought_signature_validator"] * 2 + [None]
    assert google_server.refusals == []


async def test_a_server_that_rejects_its_own_signatures(google_server: FakeGoogle, chat: Any) -> None:
    google_server.script(
        Reply(reasoning="hm", calls=[Call("CalculatorTool", {"expression": "1"}, id="c")]), Reply(text="ok")
    )
    one = await answer(chat, "u", tools=(ADD,), model=MODEL)
    google_server.forgets = True
    assert (await answer(chat, "u", said(one), result("c"), tools=(ADD,), model=MODEL)).content == "ok"
    assert google_server.refusals == ["Corrupted thought signature."] * 2
    assert "CalculatorTool with" in json.dumps(google_server.chats[-1]["contents"])


async def test_a_reply_rejected_for_a_missing_signature_is_requested_again(
    google_server: FakeGoogle, chat: Any
) -> None:
    google_server.script(Reply(text="", finish="MISSING_THOUGHT_SIGNATURE"), Reply(text="ok"))
    messages: list[ChatMessage | str] = ["u", called("c", expression="1"), result("c")]
    assert (await answer(chat, *messages, tools=(ADD,), model=MODEL)).content == "ok"
    assert "CalculatorTool with" in json.dumps(google_server.chats[-1]["contents"])


async def test_tool_names_the_api_does_not_accept_are_mapped_back(google_server: FakeGoogle, chat: Any) -> None:
    tool = ToolSpec(name="3d render", description="", parameters={"type": "object"})
    google_server.script(Reply(calls=[Call("_3d_render", {}, id="c")]), Reply(text="ok"))
    one = await answer(chat, "u", tools=(tool,), model=MODEL)
    assert one.tool_calls[0].name == "3d render"
    await send(chat, "u", said(one), result("c", name="3d render"), tools=(tool,), model=MODEL)
    assert google_server.refusals == []


def refusing(message: str) -> Failure:
    return Failure(400, error_body(400, message))


@pytest.mark.parametrize(
    ("model", "fields", "said_no", "expected"),
    [
        (
            MODEL,
            {"effort": "medium"},
            ["Thinking level MEDIUM is not supported for this model."],
            [{"thinkingLevel": "HIGH", **ON}],
        ),
        (MODEL, OFF, ["Thinking level MINIMAL is not supported for this model."], [{"thinkingLevel": "LOW"}]),
        (MODEL, {"effort": "low"}, ["Thinking level is not supported for this model."], [ON]),
        (MODEL, {}, ["Unable to submit request because Thinking is not supported by this model."], [None]),
        (
            "gemini-2.5-flash",
            OFF,
            ["Budget 0 is invalid. This model only works in thinking mode."],
            [{"thinkingBudget": 1}],
        ),
        (
            "gemini-2.5-flash",
            {"effort": "low"},
            [
                "The thinking budget 1024 is invalid. Please choose a value between 2000 and 9000.",
                "thinking_config is not supported",
            ],
            [ON, None],
        ),
        (
            MODEL,
            {},
            [
                (
                    'Invalid JSON payload received. Unknown name "includeThoughts" at '
                    "'generation_config.thinking_config': Cannot find field."
                )
            ],
            [None],
        ),
    ],
)
async def test_another_measure_of_thinking_is_tried(
    google_server: FakeGoogle, chat: Any, model: str, fields: Any, said_no: list[str], expected: list[Any]
) -> None:
    google_server.script(*map(refusing, said_no), Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model=model, **fields)
    found = [body["generationConfig"].get("thinkingConfig") for body in google_server.chats]
    assert found[1:] == [*expected, expected[-1]], "and it is remembered"


async def test_a_model_without_system_prompts_tools_and_json(google_server: FakeGoogle, chat: Any) -> None:
    """The prompt goes into the first message, the answer schema is omitted; the engine handles that tools are
    refused.
    """
    google_server.script(Reply(text="ok"), Reply(text="ok"))
    messages = (ChatMessage(role=Role.SYSTEM, content="Be brief."), "Hello")
    for _ in range(2):
        await send(chat, *messages, model="gemma-3-27b-it", response_schema={"type": "object", "properties": {}})
    first, *_, last = google_server.chats
    assert "systemInstruction" in first
    assert last["contents"] == [{"role": "user", "parts": [{"text": "Be brief."}, {"text": "Hello"}]}]
    assert "responseMimeType" not in last["generationConfig"]
    assert [words.split(" is")[0] for words in google_server.refusals] == ["Developer instruction", "JSON mode"]
    with pytest.raises(ProviderError, match="Function calling is not enabled"):
        await send(chat, "Hello", model="gemma-3-27b-it", tools=(ADD,))


async def test_the_maximum_reply_length_is_learned_from_the_refusal(google_server: FakeGoogle, chat: Any) -> None:
    google_server.script(Reply(text="ok"), Reply(text="ok"))
    for _ in range(2):
        await send(chat, model="gemini-2.0-flash", max_tokens=100_000)
    assert [body["generationConfig"]["maxOutputTokens"] for body in google_server.chats] == [65_536, 8_192, 8_192]


async def test_an_answer_schema_is_sent(google_server: FakeGoogle, chat: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
    google_server.script(Reply(text='{"a": 1}'), Reply(text="{}"))
    await send(chat, model=MODEL, response_schema=schema)
    config = google_server.chats[0]["generationConfig"]
    assert (config["responseMimeType"], config["responseJsonSchema"]) == ("application/json", schema)
    await send(chat, model="gemini-2.5-flash", response_schema=schema, tools=(ADD,))
    assert google_server.refusals == ["Function calling with a response mime type: 'application/json' is unsupported"]
    assert "tools" in google_server.chats[-1]
    google_server.script(Reply(text="{}"), Reply(text="{}"))
    await send(chat, model="gemini-2.5-flash", response_schema=schema)
    await send(chat, model="gemini-2.5-flash", response_schema=schema, tools=(ADD,))
    sent = ["responseJsonSchema" in body["generationConfig"] for body in google_server.chats[-2:]]
    assert sent == [True, False], "it is remembered of the two together alone"


async def test_usage_includes_cache_reads_and_thinking(google_server: FakeGoogle, chat: Any) -> None:
    usage = {
        "promptTokenCount": 1025,
        "cachedContentTokenCount": 1000,
        "candidatesTokenCount": 18,
        "thoughtsTokenCount": 12,
    }
    google_server.script(Reply(text="ok", usage=usage), Reply(text="ok", usage=None))
    counted = (await answer(chat, model=MODEL)).usage
    assert counted == Usage(tokens_input=1025, tokens_output=30, tokens_cached=1000, tokens_reasoning=12)
    assert (await answer(chat, model=MODEL)).usage is None


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("STOP", FinishReason.STOP), ("MAX_TOKENS", FinishReason.LENGTH), ("SAFETY", FinishReason.CONTENT_FILTER),
        ("RECITATION", FinishReason.CONTENT_FILTER), ("PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
        ("OTHER", FinishReason.STOP),
        ("SOMETHING_NEW", FinishReason.STOP),
    ],
)  # fmt: skip
async def test_finish_reasons(google_server: FakeGoogle, chat: Any, stop: str, reason: FinishReason) -> None:
    google_server.script(Reply(text="a", finish=stop))
    assert (await answer(chat, model=MODEL)).finish_reason is reason


async def test_a_blocked_prompt_is_an_error(google_server: FakeGoogle, chat: Any) -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}}
    google_server.script(Reply(raw=f"data: {json.dumps(blocked)}\n\n".encode()))
    got = await answer(chat, model=MODEL)
    assert (got.finish_reason, got.content) == (FinishReason.CONTENT_FILTER, "")


async def test_a_malformed_call_is_requested_again(google_server: FakeGoogle, chat: Any, clock: ManualClock) -> None:
    google_server.script(Reply(text="", finish="MALFORMED_FUNCTION_CALL"), Reply(text="ok"))
    deltas = await run(clock, chat.stream(ask(model=MODEL)))
    assert [reason for _attempt, _delay, reason in retries(deltas)] == ["server_error"]
    assert reply_of(deltas[1:]).content == "ok"


async def test_models_of_all_pages(google_server: FakeGoogle, chat: Any) -> None:
    methods = {"supportedGenerationMethods": ["embedContent"]}
    google_server.models += [
        model_entry("gemini-embedding-001", "Gemini Embedding", **methods),
        model_entry("gemini-2.5-flash-preview-tts", "Speech"),
        model_entry("veo-3", "Veo", supportedGenerationMethods=["predictLongRunning"]),
        model_entry("gemma-3-27b-it", "Gemma 3"),
        {"name": "models/gemini-pro-latest"},
    ]  # fmt: skip
    google_server.page_size = 1
    models = {info.name: info for info in await chat.list_models()}
    assert list(models) == ["gemini-3.5-flash", "gemini-2.5-flash-lite", "gemini-embedding-001"], (
        "a page with nothing new is the last"
    )
    google_server.page_size = 1000
    models = {info.name: info for info in await chat.list_models()}
    assert list(models)[3:] == ["gemma-3-27b-it", "gemini-pro-latest"], "what speaks, draws or films is left out"
    first, last = models["gemini-3.5-flash"], models["gemma-3-27b-it"]
    assert (first.label, first.context_window, first.max_output_tokens, first.source) == (
        "Gemini 3.5 Flash",
        1_048_576,
        65_536,
        "server",
    )
    assert (first.supports_tools, first.supports_vision, first.supports_thinking) == (True, True, True)
    assert (last.supports_tools, last.supports_thinking, last.context_window) == (False, False, 131_072)
    assert models["gemini-embedding-001"].embedding
    health = await chat.test()
    assert (health.ok, health.models) == (True, 5)


async def test_the_model_list_overrides_assumptions(google_server: FakeGoogle, chat: Any) -> None:
    google_server.models = [{**model_entry("gemini-next", "Next"), "thinking": False, "outputTokenLimit": 2000}]
    await chat.list_models()
    google_server.script(Reply(text="ok"))
    await send(chat, model="gemini-next", effort="high")
    (config,) = [body["generationConfig"] for body in google_server.chats]
    assert config == {"maxOutputTokens": 2000, "temperature": 0.7}


async def test_vectors(google_server: FakeGoogle, chat: Any) -> None:
    found, _tokens = await chat.embeddings(
        {"model": "gemini-embedding-001", "input": ["a", "b"]}, "gemini-embedding-001"
    )
    assert [len(vector) for vector in found] == [8, 8]
    assert found[0] != found[1]
    asked = google_server.of("/v1beta/models/gemini-embedding-001:batchEmbedContents")[0].json
    assert asked["requests"][0] == {"model": "models/gemini-embedding-001", "content": {"parts": [{"text": "a"}]}}


@pytest.mark.parametrize("key", ["AIza-wrong-key-99", "sk-ant-wrong-key-99", ""])
async def test_a_wrong_key(google_server: FakeGoogle, clock: ManualClock, key: str) -> None:
    google_server.api_key = KEY
    chat = provider("google", google_server.root, clock, key=key)
    health = await chat.test()
    assert (health.ok, health.code) == (False, "auth")
    assert "wrong-key" not in health.message
    with pytest.raises(ProviderError, match="refused the API key"):
        await send(chat, model=MODEL)
    assert google_server.requests[-1].path.startswith("/v1beta/"), "the version was added to the address"


ERRORS = [
    (400, "API key not valid. Please pass a valid API key.", "auth"),
    (400, "API key expired. Please renew the API key.", "auth"),
    (403, "Your API key was reported as leaked. Please use another API key.", "auth"),
    (400, "User location is not supported for the API use.", "bad_request"),
    (404, f"models/{MODEL} is not found for API version v1beta, or is not supported for generateContent.", "not_found"),
    (429, "Resource has been exhausted (e.g. check quota).", "rate_limited"),
    (429, "Your prepayment credits are depleted. Please go to AI Studio.", "quota"),
    (
        429,
        (
            "You exceeded your current quota. * Quota exceeded for metric: generate_content_free_tier_requests, limit: "
            "0, model: x"
        ),
        "quota",
    ),
    (500, "An internal error has occurred.", "server_error"),
    (503, "The model is overloaded. Please try again later.", "overloaded"),
    (504, "The request timed out. Please try again.", "server_error"),
]


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("status", "message", "code"), ERRORS)
async def test_refusals(
    google_server: FakeGoogle, chat: Any, status: int, message: str, code: str, listed: bool
) -> None:
    body = error_body(status, message)
    google_server.script(Failure(status, [body] if listed else body))
    with pytest.raises(ProviderError) as caught:
        await send(chat, model=MODEL, retry=False)
    assert (caught.value.code, caught.value.status) == (code, status)
    assert message.split(".")[0] in str(caught.value)


@pytest.mark.parametrize(("status", "message", "code"), ERRORS)
async def test_errors_in_the_middle_of_a_stream(
    google_server: FakeGoogle, chat: Any, status: int, message: str, code: str
) -> None:
    google_server.script(Reply(text="a long reply", midway_error=error_body(status, message), error_after=2))
    with raises_code(ProviderError, code):
        await send(chat, model=MODEL, retry=False)


async def test_temporary_errors_are_retried(google_server: FakeGoogle, chat: Any, clock: ManualClock) -> None:
    limited = Failure(429, error_body(429, "You exceeded your current quota.\nPlease retry in 36.429760048s."))
    google_server.script(
        limited,
        Failure(503, error_body(503, "The model is overloaded.")),
        Reply(text="a", cut_after=0),
        Reply(text="ok"),
    )
    deltas = await run(clock, chat.stream(ask(model=MODEL)))
    assert [(delay >= 36.0, reason) for _attempt, delay, reason in retries(deltas)] == [
        (True, "rate_limited"), (False, "overloaded"), (False, "truncated")
    ]  # fmt: skip
    assert reply_of(deltas[3:]).content == "ok"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "https://generativelanguage.googleapis.com/v1beta"),
        ("https://generativelanguage.googleapis.com/", "https://generativelanguage.googleapis.com/v1beta"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent",
            "https://generativelanguage.googleapis.com/v1beta",
        ),
        ("https://host.example/gemini/v1", "https://host.example/gemini/v1"),
        ("http://localhost:8080/v1alpha", "http://localhost:8080/v1alpha"),
    ],
)
def test_addresses(given: str, url: str, clock: ManualClock) -> None:
    assert provider("google", given, clock).http.base_url == url
