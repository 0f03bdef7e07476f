"""Conversations in any order are brought into one that servers accept."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role, ToolCall
from atelier_desk.llm.message_and_call_normalisation import (
    CONTINUE,
    arguments_object,
    arguments_text,
    arrange,
    function_name,
    mistral_id,
)
from tests.helpers.tool_calls import tool_call
from tests.llm.provider_requests import called, result

IMAGE = ImagePart(media_type="image/png", data="aGk=")


def system(text: str) -> ChatMessage:
    return ChatMessage(role=Role.SYSTEM, content=text)


def user(text: str, **fields: Any) -> ChatMessage:
    return ChatMessage(role=Role.USER, content=text, **fields)


def assistant(text: str, **fields: Any) -> ChatMessage:
    return ChatMessage(role=Role.ASSISTANT, content=text, **fields)


def shape(messages: list[ChatMessage]) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in messages]


def test_a_valid_conversation_is_unchanged() -> None:
    messages = [system("s"), user("u"), called("1"), result("1", "r"), assistant("a"), user("v")]
    assert arrange(messages) == messages


def test_system_messages_are_merged_at_the_start() -> None:
    assert shape(arrange([system("a"), system("b"), user("u"), assistant("x"), system("note")])) == [
        ("system", "a\n\nb"),
        ("user", "u"),
        ("assistant", "x"),
        ("user", "note"),
    ]


def test_consecutive_messages_of_one_role_are_joined() -> None:
    messages = [
        user("a"),
        user("b", images=(IMAGE,)),
        assistant("c"),
        assistant("", reasoning="thought"),
        called("1", content="d"),
        user("e"),
    ]
    out = arrange(messages)
    assert [m.role.value for m in out] == ["user", "assistant", "tool", "user"]
    assert (out[0].content, out[0].images) == ("a\n\nb", (IMAGE,))
    assert (out[1].content, out[1].tool_calls[0].id) == ("c\n\nd", "1")


def test_each_call_has_one_result_in_its_order() -> None:
    calls = ChatMessage(
        role=Role.ASSISTANT,
        tool_calls=(tool_call("a", "1"), tool_call("b", "2"), tool_call("c", "3")),
    )
    out = arrange([user("u"), calls, result("3", "three"), user("meanwhile"), result("1", "one"), result("1", "again")])
    assert [(m.role.value, m.tool_call_id) for m in out] == [
        ("user", None),
        ("assistant", None),
        ("tool", "1"),
        ("tool", "2"),
        ("tool", "3"),
        ("user", None),
    ]
    assert [m.content for m in out[2:5]][::2] == ["one", "three"]
    assert "cut off" in out[3].content
    assert out[5].content == "meanwhile\n\nResult of CalculatorTool:\nagain"


def test_the_same_id_in_two_turns() -> None:
    out = arrange([user("u"), called("1"), result("1", "first"), called("1"), result("1", "second")])
    assert [m.content for m in out if m.role is Role.TOOL] == ["first", "second"]


def test_a_result_without_its_call_becomes_text() -> None:
    assert shape(arrange([result("9", "r"), user("u")])) == [("user", "Result of CalculatorTool:\nr\n\nu")]


def test_images_of_results_move_to_a_user_message() -> None:
    out = arrange([user("u"), called("1"), result("1").model_copy(update={"images": (IMAGE,)})])
    assert [m.role.value for m in out] == ["user", "assistant", "tool", "user"]
    assert (out[2].images, out[3].images) == ((), (IMAGE,))


def test_the_last_message_is_never_the_assistants() -> None:
    assert arrange([user("u"), assistant("a")])[-1].content == CONTINUE
    assert shape(arrange([system("s")])) == [("system", "s"), ("user", CONTINUE)]
    assert shape(arrange([])) == [("user", CONTINUE)]


def test_empty_messages_are_dropped() -> None:
    assert shape(arrange([user("u"), assistant(" "), user("v")])) == [("user", "u\n\nv")]


def test_an_answer_can_be_inserted_between_result_and_user() -> None:
    messages = [user("u"), called("1"), result("1"), user("v")]
    assert [m.role.value for m in arrange(messages, answer_before_user=True)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


KINDS = st.sampled_from(["system", "user", "assistant", "call", "calls", "result", "other result", "empty"])


@given(st.lists(KINDS, max_size=12), st.booleans())
def test_any_order_becomes_a_valid_one(kinds: list[str], between: bool) -> None:
    made = {
        "system": system("s"),
        "user": user("u"),
        "assistant": assistant("a"),
        "call": called("1"),
        "calls": ChatMessage(role=Role.ASSISTANT, content="x", tool_calls=(tool_call("a", "1"), tool_call("b", "2"))),
        "result": result("1"),
        "other result": result("2"),
        "empty": assistant(""),
    }
    messages = [made[kind].model_copy() for kind in kinds]
    out = arrange(messages, answer_before_user=between)
    with patch("atelier_desk.llm.message_and_call_normalisation._in_turn", lambda messages: False):
        assert arrange(messages, answer_before_user=between) == out
    previous: ChatMessage | None = None
    waiting: list[str] = []
    for position, message in enumerate(out):
        assert message.role is not Role.SYSTEM or position == 0
        if message.role is Role.TOOL:
            assert message.tool_call_id == waiting.pop(0)
        else:
            assert not waiting
            assert previous is None or previous.role is not message.role or message.tool_calls or previous.tool_calls
        if between and previous is not None and previous.role is Role.TOOL:
            assert message.role is not Role.USER
        waiting.extend(call.id for call in message.tool_calls)
        previous = message
    assert not waiting
    assert out[-1].role in (Role.USER, Role.TOOL)
    assert next(message.role for message in out if message.role is not Role.SYSTEM) is Role.USER


def test_mistral_ids() -> None:
    assert mistral_id("abcDEF123") == "abcDEF123"
    assert mistral_id("call_1") == mistral_id("call_1")
    # base62 of sha256("call_1") with the digits 0-9A-Za-z, first nine
    assert mistral_id("call_1") == "RWu906W5H"


@given(st.sets(st.text(max_size=40), max_size=50))
def test_mistral_ids_are_legal_and_distinct(ids: set[str]) -> None:
    mapped = {mistral_id(id) for id in ids}
    assert len(mapped) == len(ids)
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id) for id in mapped)


def test_names_and_arguments_are_made_valid() -> None:
    assert function_name("functions.Calc Tool") == "functions_Calc_Tool"
    assert function_name("é" * 80) == "_" * 64
    assert function_name("") == "unknown"
    assert arguments_text(tool_call("a", "1", é=1)) == '{"é": 1}'
    broken = ToolCall(id="1", name="a", raw='{"x', error="bad")
    assert arguments_object(broken) == {"invalid_json": '{"x'}
