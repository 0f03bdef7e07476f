"""Anthropic's official client with its fake server, streamed and not; both know the same fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.servers.anthropic import FakeAnthropic, error_body, model_entry
from tests.helpers.servers.anthropic_rules import FIELDS, SAMPLING
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply

if TYPE_CHECKING:
    import anthropic

USER: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
TOOL: Any = {
    "name": "add",
    "description": "Adds.",
    "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
ASK: dict[str, Any] = {"model": "claude-sonnet-5", "max_tokens": 500, "messages": USER}


@pytest.fixture
def sdk() -> Any:
    """The package: importing it takes seconds, in each process that collects the tests."""
    import anthropic

    return anthropic


@pytest.fixture
async def client(anthropic_server: FakeAnthropic, sdk: Any) -> AsyncIterator[anthropic.AsyncAnthropic]:
    anthropic_server.api_key = "sk-ant-key"
    async with sdk.AsyncAnthropic(api_key="sk-ant-key", base_url=anthropic_server.root, max_retries=0) as made:
        yield made


def test_the_fields_are_those_of_the_client() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsBase, MessageCreateParamsStreaming

    own = {*MessageCreateParamsBase.__annotations__, *MessageCreateParamsStreaming.__annotations__}
    assert own | SAMPLING == FIELDS


async def test_a_complete_reply_with_calls(anthropic_server: FakeAnthropic, client: anthropic.AsyncAnthropic) -> None:
    anthropic_server.redacts = True
    anthropic_server.script(Reply(text="Héllo", reasoning="hm", calls=[Call("add", {"a": 1}, id="toolu_1")]))
    answer = await client.messages.create(**ASK, tools=[TOOL])
    assert [block.type for block in answer.content] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert (answer.content[0].thinking, answer.content[2].text, answer.content[3].input) == ("hm", "Héllo", {"a": 1})
    assert (answer.stop_reason, answer.usage.input_tokens, answer.usage.output_tokens) == ("tool_use", 11, 7)


@pytest.mark.parametrize("chunk_size", [None, 1, 7])
async def test_streams(
    anthropic_server: FakeAnthropic, client: anthropic.AsyncAnthropic, sdk: Any, chunk_size: int | None
) -> None:
    """The client assembles the pieces into the original reply, with signature and usage, and sends it back
    unchanged.
    """
    anthropic_server.interleaves = True
    calls = [Call("add", {"a": 12}, id="toolu_1"), Call("add", {}, id="toolu_2")]
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 1000, "output_tokens": 30}
    anthropic_server.script(
        Reply(text="Où est-il ?", reasoning="réfléchir", calls=calls, chunk_size=chunk_size, usage=usage)
    )
    async with client.messages.stream(**ASK, tools=[TOOL], thinking={"type": "adaptive"}) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        final = await stream.get_final_message()
    assert text == "Où est-il ?"
    assert [
        block.model_dump(exclude_none=True, exclude={"caller"}) for block in final.content if block.type != "text"
    ] == [
        block
        for block in anthropic_server.issued.replies["claude-sonnet-5", ("toolu_1", "toolu_2")]
        if block["type"] != "text"
    ]
    assert (final.stop_reason, final.usage.cache_read_input_tokens, final.usage.output_tokens) == ("tool_use", 1000, 30)
    anthropic_server.script(Reply(text="84"))
    back = [
        block.model_dump(exclude_none=True, include={"type", "thinking", "signature", "text", "id", "name", "input"})
        for block in final.content
    ]
    results = [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "84"} for number in (1, 2)]
    turns: list[Any] = [*USER, {"role": "assistant", "content": back}, {"role": "user", "content": results}]
    assert (
        await client.messages.create(**{**ASK, "messages": turns}, tools=[TOOL], thinking={"type": "adaptive"})
    ).content[0].text == "84"
    moved: list[Any] = [
        *USER,
        {"role": "assistant", "content": [*back[1:], *back[:1]][::-1]},
        {"role": "user", "content": results},
    ]
    with pytest.raises(sdk.BadRequestError, match="cannot be modified"):
        await client.messages.create(**{**ASK, "messages": moved}, tools=[TOOL], thinking={"type": "adaptive"})


async def test_lists_all_pages_of_models(anthropic_server: FakeAnthropic, client: anthropic.AsyncAnthropic) -> None:
    anthropic_server.models.append(model_entry("claude-opus-4-5", "Claude Opus 4.5"))
    anthropic_server.page_size = 2
    models = {model.id: model async for model in client.models.list()}
    assert list(models) == ["claude-sonnet-5", "claude-haiku-4-5", "claude-opus-4-5"]
    last = models["claude-opus-4-5"]
    assert last.capabilities is not None
    assert (
        last.capabilities.thinking.types.enabled.supported,
        last.capabilities.effort.supported,
        last.max_tokens,
    ) == (True, True, 64_000)


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "invalid_request_error", "BadRequestError"),
        (401, "authentication_error", "AuthenticationError"),
        (403, "permission_error", "PermissionDeniedError"), (404, "not_found_error", "NotFoundError"),
        (413, "request_too_large", "APIStatusError"), (429, "rate_limit_error", "RateLimitError"),
        (500, "api_error", "InternalServerError"), (529, "overloaded_error", "APIStatusError"),
    ],
)  # fmt: skip
async def test_raises(
    anthropic_server: FakeAnthropic, client: anthropic.AsyncAnthropic, sdk: Any, status: int, kind: str, error: str
) -> None:
    anthropic_server.script(Failure(status, error_body(kind, "no")))
    with pytest.raises(getattr(sdk, error)):
        await client.messages.create(**ASK)
    anthropic_server.script(
        Reply(text="abcdefghij", midway_error={"error": {"type": kind, "message": "broke off"}}, error_after=2)
    )
    with pytest.raises(sdk.APIStatusError, match="broke off"):
        async for _ in await client.messages.create(**ASK, stream=True):
            pass


CALLED: list[Any] = [{"type": "tool_use", "id": "t", "name": "add", "input": {}}]
ANSWERED: list[Any] = [{"type": "tool_result", "tool_use_id": "t", "content": "1"}]
LOOP: list[Any] = [*USER, {"role": "assistant", "content": CALLED}, {"role": "user", "content": ANSWERED}]
UNSIGNED: Any = {"type": "thinking", "thinking": "x", "signature": "y"}
MARKED: Any = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [*USER, *USER]}, "alternate"),
        ({"messages": [{"role": "assistant", "content": [MARKED]}]}, "alternate"),
        ({"messages": [*USER, {"role": "assistant", "content": [MARKED]}]}, "prefill"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}, "non-whitespace"),
        ({"messages": [{"role": "user", "content": [MARKED] * 5}]}, "maximum of 4"),
        ({"messages": [*USER, {"role": "assistant", "content": CALLED}, *USER], "tools": [TOOL]},
        "without `tool_result`"),
        ({"messages": [{"role": "user", "content": ANSWERED}], "tools": [TOOL]}, "unexpected `tool_use_id`"),
        ({"messages": LOOP}, "must define tools"),
        (
            {"messages": [*LOOP[:2], {"role": "user", "content": [MARKED, *ANSWERED]}], "tools": [TOOL]},
            "must come first",
        ),
        (
            {"messages": [*USER, {"role": "assistant", "content": [UNSIGNED, MARKED]}, *USER]},
            "Invalid `signature`",
        ),
        (
            {
                "messages": LOOP, "tools": [TOOL],
                "model": "claude-haiku-4-5", "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024},
            },
            "Expected `thinking`",
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "not supported for this model"),
        ({"model": "claude-haiku-4-5", "thinking": {"type": "enabled", "budget_tokens": 1024}}, "must be greater"),
        ({"model": "claude-haiku-4-5", "thinking": {"type": "enabled", "budget_tokens": 10}},
        "greater than or equal to 1024"),
        ({"model": "claude-haiku-4-5", "output_config": {"effort": "low"}}, "effort"),
        ({"tool_choice": {"type": "none"}}, "while providing tools"),
        ({"tools": [TOOL, TOOL]}, "unique"),
        ({"model": "claude-3-haiku", "max_tokens": 5000}, "max_tokens: 5000 > 4096"),
        ({"extra_body": {"temperature": 0.5}}, "temperature"),
        ({"extra_body": {"seed": 1}}, "Extra inputs"),
    ],
)  # fmt: skip
async def test_the_rules_hold_for_the_official_client_too(
    client: anthropic.AsyncAnthropic, sdk: Any, changes: Any, said: str
) -> None:
    with pytest.raises(sdk.BadRequestError, match=said):
        await client.messages.create(**{**ASK, **changes})
