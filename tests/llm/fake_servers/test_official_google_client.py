"""Google's official client with its fake server, streamed and not; both know the same fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from tests.helpers.servers.google import FakeGoogle, error_body, model_entry
from tests.helpers.servers.google_rules import DECLARATION, FIELDS, GENERATION, PART, THINKING
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply

MODEL = "gemini-3.5-flash"
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="add",
            description="Adds.",
            parameters_json_schema={"type": "object", "properties": {"a": {"type": "integer"}}},
        )
    ]
)


@pytest.fixture
async def client(google_server: FakeGoogle) -> AsyncIterator[Any]:
    google_server.api_key = "AIza-key"
    made = genai.Client(api_key="AIza-key", http_options=types.HttpOptions(base_url=google_server.root))
    yield made.aio
    await made.aio.aclose()
    made.close()


def aliases(kind: Any) -> set[str]:
    return {field.alias or name for name, field in kind.model_fields.items()}


def test_the_fields_are_those_of_the_client() -> None:
    """Top-level request fields are excluded: the client has fields inside its configuration that the API has
    outside.
    """
    assert aliases(types.ThinkingConfig) == THINKING
    assert aliases(types.FunctionDeclaration) == DECLARATION
    assert aliases(types.Part) >= PART
    config = aliases(types.GenerateContentConfig)
    assert config >= GENERATION
    assert config >= FIELDS - {"contents", "generationConfig"}


async def test_a_complete_reply_with_calls(google_server: FakeGoogle, client: Any) -> None:
    google_server.script(
        Reply(text="Héllo", reasoning="hm", calls=[Call("add", {"a": 1}, id="c1"), Call("add", {}, id="c2")])
    )
    answer = await client.models.generate_content(
        model=MODEL, contents="Hi", config=types.GenerateContentConfig(tools=[TOOL])
    )
    parts = answer.candidates[0].content.parts
    assert [(part.text, bool(part.thought), bool(part.thought_signature)) for part in parts] == [
        ("hm", True, False), ("Héllo", False, False), (None, False, True), (None, False, False)
    ]  # fmt: skip
    assert [(call.name, call.args, call.id) for call in answer.function_calls] == [
        ("add", {"a": 1}, "c1"),
        ("add", {}, "c2"),
    ]
    assert (answer.usage_metadata.prompt_token_count, answer.candidates[0].finish_reason) == (
        11,
        types.FinishReason.STOP,
    )


@pytest.mark.parametrize("chunk_size", [None, 1, 7])
async def test_streams_and_sends_back(google_server: FakeGoogle, client: Any, chunk_size: int | None) -> None:
    """The client's chat puts the pieces into its history unchanged, and the fake server accepts them; changed ones
    it refuses.
    """
    thinking = types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW)
    config = types.GenerateContentConfig(tools=[TOOL], thinking_config=thinking)
    config.automatic_function_calling = types.AutomaticFunctionCallingConfig(disable=True)
    chat = client.chats.create(model=MODEL, config=config)
    calls = [Call("add", {"a": 12}, id="c1"), Call("add", {}, id="c2")]
    google_server.script(
        Reply(text="Où ?", reasoning="réfléchir", calls=calls, chunk_size=chunk_size), Reply(text="Là.", reasoning="r")
    )
    text = "".join([chunk.text or "" async for chunk in await chat.send_message_stream("Hello")])
    assert text == "Où ?"
    results = [
        types.Part(function_response=types.FunctionResponse(id=f"c{n}", name="add", response={"output": "2"}))
        for n in (1, 2)
    ]
    said = [chunk async for chunk in await chat.send_message_stream(results)]
    assert ["".join(each.text or "" for each in said), google_server.refusals] == ["Là.", []]
    google_server.script(Reply(text="Yes."))
    assert (await chat.send_message("Sure?")).text == "Yes.", "also the signature that came with the text"
    history = chat.get_history()
    call = next(part for content in history for part in content.parts if part.function_call)
    end = (
        next(number for number, content in enumerate(history) if any(part.function_response for part in content.parts))
        + 1
    )
    for signature, words in ((None, "missing a thought_signature"), (b"other", "Corrupted thought signature")):
        call.thought_signature = signature
        with pytest.raises(errors.ClientError, match=words):
            await client.models.generate_content(model=MODEL, contents=history[:end], config=config)


async def test_lists_all_pages_of_models(google_server: FakeGoogle, client: Any) -> None:
    google_server.models.append(model_entry("gemini-3.1-pro-preview", "Gemini 3.1 Pro"))
    google_server.page_size = 2
    models = {model.name: model async for model in await client.models.list()}
    assert list(models) == ["models/gemini-3.5-flash", "models/gemini-2.5-flash-lite", "models/gemini-3.1-pro-preview"]
    last = models["models/gemini-3.1-pro-preview"]
    assert (last.input_token_limit, last.output_token_limit, last.thinking) == (1_048_576, 65_536, True)
    assert "generateContent" in last.supported_actions


async def test_a_wrong_key(google_server: FakeGoogle) -> None:
    google_server.api_key = "AIza-key"
    wrong = genai.Client(api_key="other", http_options=types.HttpOptions(base_url=google_server.root))
    with pytest.raises(errors.ClientError, match="API key not valid"):
        await wrong.aio.models.generate_content(model=MODEL, contents="Hi")
    await wrong.aio.aclose()
    wrong.close()


@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 503])
async def test_raises(google_server: FakeGoogle, client: Any, status: int) -> None:
    google_server.script(Failure(status, error_body(status, "no")))
    with pytest.raises(errors.APIError) as caught:
        await client.models.generate_content(model=MODEL, contents="Hi")
    assert (caught.value.code, caught.value.message) == (status, "no")
    google_server.script(Reply(text="abcdefghij", midway_error=error_body(status, "broke off"), error_after=1))
    with pytest.raises(errors.APIError, match="broke off"):
        async for _ in await client.models.generate_content_stream(model=MODEL, contents="Hi"):
            pass


def text(role: str, said: str = "x", **more: Any) -> Any:
    return {"role": role, "parts": [{"text": said, **more}]}


CALLED: Any = {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "add", "args": {}}}]}
ANSWERED: Any = {
    "role": "user",
    "parts": [{"functionResponse": {"id": "c", "name": "add", "response": {"output": "1"}}}],
}
OLD, PRO = "gemini-2.5-flash", "gemini-3-pro-preview"


@pytest.mark.parametrize(
    ("model", "contents", "config", "words"),
    [
        (MODEL, [text("model")], {}, "begin and end"),
        (MODEL, [text("user"), text("model")], {}, "begin and end"),
        (MODEL, [text("user", "")], {}, "required oneof"),
        (MODEL, [text("system")], {}, "valid role"),
        (OLD, [text("user"), CALLED, text("user")], {}, "number of function response parts"),
        (OLD, [text("user"), ANSWERED], {}, "immediately after a function call turn"),
        (OLD, [CALLED, ANSWERED], {}, "function call turn comes immediately after a user turn"),
        (OLD, [text("user"), CALLED, {**ANSWERED, "parts": [*ANSWERED["parts"], {"text": "x"}]}], {}, "alone"),
        (MODEL, [text("user"), CALLED, ANSWERED], {}, "missing a thought_signature"),
        (OLD, [text("user"), text("model", thoughtSignature="Zm9v"), text("user")], {}, "Corrupted"),
        (OLD, [text("user")], {"thinking_config": {"thinking_level": "LOW"}}, "Thinking level is not supported"),
        (PRO, [text("user")], {"thinking_config": {"thinking_level": "MEDIUM"}}, "level MEDIUM is not supported"),
        (
            OLD,
            [text("user")],
            {"thinking_config": {"thinking_level": "LOW", "thinking_budget": 9}},
            "only set only one",
        ),
        ("gemini-2.5-pro", [text("user")], {"thinking_config": {"thinking_budget": 0}}, "Budget 0 is invalid"),
        ("gemini-2.5-pro", [text("user")], {"thinking_config": {"thinking_budget": 9}}, "between 128 and 32768"),
        (
            "gemini-2.0-flash",
            [text("user")],
            {"thinking_config": {"include_thoughts": True}},
            "not supported by this model",
        ),
        ("gemini-2.0-flash", [text("user")], {"max_output_tokens": 9000}, "value of 9000"),
        ("gemma-3-27b-it", [text("user")], {"system_instruction": "s"}, "Developer instruction"),
        ("gemma-3-27b-it", [text("user")], {"tools": [TOOL]}, "Function calling is not enabled"),
        (OLD, [text("user")], {"tools": [TOOL], "response_mime_type": "application/json"}, "is unsupported"),
        (OLD, [text("user")], {"temperature": 3}, "range"),
        (OLD, [text("user")], {"stop_sequences": list("abcdef")}, "at most 5"),
        (
            OLD,
            [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/gif", "data": "aGk="}}]}],
            {},
            "MIME type",
        ),
        (OLD, [text("user")], {"tools": [{"function_declarations": [{"name": "3d"}]}]}, "Invalid function name"),
    ],
)
async def test_the_rules_hold_for_the_official_client_too(
    client: Any, model: str, contents: Any, config: Any, words: str
) -> None:
    with pytest.raises(errors.ClientError, match=words):
        await client.models.generate_content(model=model, contents=contents, config=config)
