"""OpenAI's official client with the fake server of its Responses API, streamed and not; both know the same fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsBase, ResponseCreateParamsStreaming
from openai.types.shared_params import Reasoning

from tests.helpers.servers.openai_responses import FakeResponses, error_body
from tests.helpers.servers.openai_responses_rules import FIELDS, REASONING
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply

USER: Any = {"role": "user", "content": "Hello"}
TOOL: Any = {
    "type": "function",
    "name": "add",
    "description": "Adds.",
    "parameters": {"type": "object"},
    "strict": False,
}
ASK: dict[str, Any] = {"model": "gpt-5.5", "input": [USER], "store": False, "include": ["reasoning.encrypted_content"]}


@pytest.fixture
async def client(responses_server: FakeResponses) -> AsyncIterator[openai.AsyncOpenAI]:
    responses_server.api_key = "sk-key"
    async with openai.AsyncOpenAI(api_key="sk-key", base_url=responses_server.url, max_retries=0) as made:
        yield made


def test_the_fields_are_those_of_the_client() -> None:
    assert {*ResponseCreateParamsBase.__annotations__, *ResponseCreateParamsStreaming.__annotations__} == FIELDS
    assert set(Reasoning.__annotations__) == REASONING


async def test_a_complete_reply_with_calls(responses_server: FakeResponses, client: openai.AsyncOpenAI) -> None:
    responses_server.script(Reply(text="Héllo", reasoning="hm", calls=[Call("add", {"a": 1}, id="call_1")]))
    answer = await client.responses.create(**ASK, tools=[TOOL])
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call"]
    assert (answer.output_text, answer.output[2].arguments, answer.status) == ("Héllo", '{"a": 1}', "completed")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)


@pytest.mark.parametrize("chunk_size", [None, 1, 7])
async def test_streams(responses_server: FakeResponses, client: openai.AsyncOpenAI, chunk_size: int | None) -> None:
    """The client assembles the pieces into the original reply and sends it back unchanged; changed or reordered it
    is refused.
    """
    responses_server.interleaves = responses_server.phases = True
    calls = [Call("add", {"a": 12}, id="call_1"), Call("add", {}, id="call_2")]
    usage = {"input_tokens": 1025, "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 20},
    "output_tokens": 30,
             "output_tokens_details": {"reasoning_tokens": 12}, "total_tokens": 1055}  # fmt: skip
    responses_server.script(
        Reply(text="Où est-il ?", reasoning="réfléchir", calls=calls, chunk_size=chunk_size, usage=usage)
    )
    async with client.responses.stream(**ASK, tools=[TOOL]) as stream:
        pieces = [each.delta async for each in stream if each.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    assert "".join(pieces) == final.output_text == "Où est-il ?"
    assert final.usage is not None
    assert final.usage.input_tokens_details.cached_tokens == 1000
    thought, said, one, again, two = (
        item.model_dump(exclude_none=True, exclude={"status", "parsed_arguments"}) for item in final.output
    )
    text = {"role": "assistant", "content": "Où est-il ?", "type": "message", "phase": said["phase"]}
    one, two = ({key: value for key, value in each.items() if key != "id"} for each in (one, two))
    results = [{"type": "function_call_output", "call_id": f"call_{number}", "output": "84"} for number in (1, 2)]
    responses_server.script(Reply(text="84"))
    items: list[Any] = [USER, thought, text, one, again, two, *results]
    assert (await client.responses.create(**{**ASK, "input": items}, tools=[TOOL])).output_text == "84"
    for wrong, words in (
        ([USER, again, text, one, thought, two, *results], "without its required 'reasoning' item"),
        ([USER, text, one, again, two, *results], "without its required 'reasoning' item"),
        ([USER, {**thought, "encrypted_content": "other"}, text, one, again, two, *results], "could not be verified"),
        ([USER, {**thought, "encrypted_content": None}, text, one, again, two, *results], "Items are not persisted"),
        ([USER, thought, {**text, "phase": None}, one, again, two, *results], "'phase'"),
        ([USER, text, thought, USER], "without its required following item"),
    ):
        with pytest.raises(openai.BadRequestError, match=words):
            await client.responses.create(**{**ASK, "input": wrong}, tools=[TOOL])


async def test_lists_models(responses_server: FakeResponses, client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["gpt-5.5", "gpt-4.1"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError), (401, openai.AuthenticationError), (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError), (429, openai.RateLimitError), (500, openai.InternalServerError),
    ],
)  # fmt: skip
async def test_raises(
    responses_server: FakeResponses, client: openai.AsyncOpenAI, status: int, error: type[Exception]
) -> None:
    responses_server.script(Failure(status, error_body("no")))
    with pytest.raises(error):
        await client.responses.create(**ASK)
    broken = {"code": "server_error", "message": "broke off", "param": None}
    responses_server.script(Reply(text="abcdefghij", midway_error=broken, error_after=4))
    events = [each async for each in await client.responses.create(**ASK, stream=True)]
    assert (events[-1].type, getattr(events[-1], "message", "")) == ("error", "broke off"), "which the client hands on"


CALLED: Any = {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"}
ANSWERED: Any = {"type": "function_call_output", "call_id": "c", "output": "1"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"input": []}, "Missing required parameter: 'input'"),
        ({"input": [USER, CALLED, USER]}, "No tool output found"),
        ({"input": [USER, ANSWERED]}, "No tool call found"),
        ({"input": [USER, {**CALLED, "id": "fc_1"}, ANSWERED]}, "Items are not persisted"),
        ({"input": [USER, {**CALLED, "call_id": "c" * 65}, ANSWERED]}, "string too long"),
        ({"input": [USER, {**CALLED, "name": "a b"}, ANSWERED]}, "does not match pattern"),
        ({"input": [USER, CALLED, ANSWERED, CALLED, ANSWERED]}, "Duplicate call_id"),
        ({"input": [{"role": "user", "content": []}]}, "empty array"),
        (
            {"input": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]},
            "Invalid value: 'output_text'",
        ),
        ({"input": [{"role": "assistant", "content": "x"}]}, "first item"),
        ({"store": True}, "zero data retention"),
        ({"temperature": 0.5}, "'temperature' is not supported"),
        ({"max_output_tokens": 5}, ">= 16"),
        ({"model": "gpt-4.1"}, "Encrypted content is not supported"),
        ({"model": "gpt-4.1", "reasoning": {"effort": "low"}}, "'reasoning.effort' is not supported"),
        (
            {"model": "gpt-5-mini", "reasoning": {"effort": "none"}},
            "'none' is not supported with the 'gpt-5-mini' model",
        ),
        ({"tools": [TOOL, TOOL]}, "unique"),
        ({"extra_body": {"seed": 1}}, "Unknown parameter: 'seed'"),
    ],
)
async def test_the_rules_hold_for_the_official_client_too(client: openai.AsyncOpenAI, changes: Any, said: str) -> None:
    with pytest.raises(openai.BadRequestError, match=said):
        await client.responses.create(**{**ASK, **changes})
