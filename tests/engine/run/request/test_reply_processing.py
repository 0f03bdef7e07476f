"""The end of a reply, its usage, and the ids of calls."""

from __future__ import annotations

import pytest

from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from atelier_desk.engine.run.request.reply_processing import Length, counted, judged, unique_calls
from tests.helpers.tool_calls import tool_call

CALL = tool_call("x")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (ChatReply(content="Hello"), FinishReason.STOP),
        (ChatReply(content="Hel", finish_reason=FinishReason.LENGTH), FinishReason.LENGTH),
        (ChatReply(reasoning="hm", finish_reason=FinishReason.LENGTH), FinishReason.LENGTH),
        (ChatReply(finish_reason=FinishReason.CONTENT_FILTER), FinishReason.CONTENT_FILTER),
        (ChatReply(), FinishReason.EMPTY),
        (ChatReply(content=" \n "), FinishReason.EMPTY),
        (ChatReply(reasoning="I think."), FinishReason.EMPTY),
        (ChatReply(finish_reason=FinishReason.TOOL_CALLS), FinishReason.EMPTY),
        (ChatReply(tool_calls=(CALL,)), FinishReason.TOOL_CALLS),
        (ChatReply(tool_calls=(CALL,), finish_reason=FinishReason.LENGTH), FinishReason.LENGTH),
    ],
)
def test_how_a_reply_ended(reply: ChatReply, expected: FinishReason) -> None:
    assert judged(reply, "m").finish_reason is expected
    assert judged(judged(reply, "m"), "m") == judged(reply, "m")


@pytest.mark.parametrize(
    ("requested", "answered", "shown"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("mistral-large-latest", "mistral-large-2411", "mistral-large-latest"),
        ("gpt-4o", "gpt-4o-mini", "gpt-4o-mini"),
        ("openrouter/auto", "anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("gpt-4o", "", ""),
    ],
)
def test_a_dated_version_has_the_name_that_was_chosen(requested: str, answered: str, shown: str) -> None:
    assert judged(ChatReply(content="Hello", model=answered), requested).model == shown


def use(**told: int | float) -> Usage:
    return counted(
        ChatReply(content="Hello there", usage=Usage.model_validate(told)), tokens_input=100, most_output=4096
    )


def test_counts_of_the_server_are_used() -> None:
    told = Usage(tokens_input=140, tokens_output=300, tokens_cached=20, tokens_reasoning=290, cost=0.5)
    assert use(**told.model_dump(exclude={"estimated"})) == told


@pytest.mark.parametrize("wrong", [-1, 10**9, 10**30])
def test_impossible_counts_are_replaced_by_the_estimate(wrong: int) -> None:
    assert use(tokens_input=wrong, tokens_output=3, tokens_cached=wrong) == Usage(
        tokens_input=100, tokens_output=3, estimated=True
    )
    assert use(tokens_input=120, tokens_output=wrong, tokens_reasoning=wrong) == Usage(
        tokens_input=120, tokens_output=4, estimated=True
    )


def test_a_server_without_counts_does_not_disable_a_limit() -> None:
    usage = use(tokens_input=0, tokens_output=0)
    assert (usage.tokens_input, usage.tokens_output, usage.estimated) == (100, 4, True)
    assert use(tokens_input=120, tokens_output=0) == Usage(tokens_input=120, tokens_output=4, estimated=True)


def test_partial_counts_do_not_exceed_the_total_and_costs_are_plausible() -> None:
    found = use(tokens_input=120, tokens_output=3, tokens_cached=5000, tokens_reasoning=-2, cost=1e300)
    assert found == Usage(tokens_input=120, tokens_output=3, tokens_cached=120)
    assert counted(ChatReply(content="Hello there"), tokens_input=100, most_output=10) == Usage(
        tokens_input=100, tokens_output=4, estimated=True
    )


def test_calls_get_unique_ids() -> None:
    reply = ChatReply(tool_calls=(CALL, CALL, tool_call("y", "")))
    assert [call.id for call in unique_calls(reply, {"c"}).tool_calls] == ["c-2", "c-3", "call-1"]


def test_a_reply_counts_as_too_long_only_if_no_tokenizer_could_need_so_few_tokens() -> None:
    prose = Length(1000)
    assert not any(prose.over(TextDelta(content="abcde" * 10)) for _ in range(100)), "five bytes a token"
    endless = Length(1000)
    pieces: list[ChatDelta] = [
        TextDelta(content="word " * 100),
        ReasoningDelta(content="word " * 100),
        ToolCallDelta(index=0, arguments="word " * 100),
    ]
    taken = next(count for count in range(1, 1000) if endless.over(pieces[count % 3]))
    assert 20 <= taken <= 23
