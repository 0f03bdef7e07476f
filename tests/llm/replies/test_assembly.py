"""Replies are assembled in the same way from every kind of piece."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.model_messages import FinishReason, ToolCall
from atelier_desk.llm.replies.assembly import ReplyAssembler, arguments_of, new_call_id
from tests.llm.provider_requests import ask, called, reply_of, result


@pytest.fixture
def ids() -> Any:
    numbers = iter(range(1, 100))
    return lambda: f"own_{next(numbers)}"


def calls_of(assembler: ReplyAssembler) -> list[tuple[str, str, dict[str, Any]]]:
    reply = reply_of(assembler.done())
    assert reply.finish_reason is FinishReason.TOOL_CALLS
    return [(call.id, call.name, call.arguments) for call in reply.tool_calls]


def test_pieces_are_merged_by_index(ids: Any) -> None:
    assembler = ReplyAssembler(ask(), make_id=ids)
    assembler.call(0, "a", "one", "")
    assembler.call(1, "b", "two", '{"x"')
    assembler.call(0, "", "", '{"y": ')
    assembler.call(1, "", "", ": [1]}")
    assembler.call(0, "", "", "2}")
    assert calls_of(assembler) == [("a", "one", {"y": 2}), ("b", "two", {"x": [1]})]


def test_an_id_repeated_in_every_piece_is_one_call(ids: Any) -> None:
    assembler = ReplyAssembler(ask(), make_id=ids)
    for piece in ("{", '"a"', ": 1}"):
        assembler.call(0, "same", "one", piece)
    assert calls_of(assembler) == [("same", "one", {"a": 1})]


def test_another_id_at_the_same_index_is_another_call(ids: Any) -> None:
    assembler = ReplyAssembler(ask(), make_id=ids)
    assembler.call(0, "a", "one", "{}")
    assembler.call(0, "b", "one", '{"n": 2}')
    assert calls_of(assembler) == [("a", "one", {}), ("b", "one", {"n": 2})]


def test_calls_without_index_or_id(ids: Any) -> None:
    assembler = ReplyAssembler(ask(), make_id=ids)
    assembler.call(None, "", "one", {"n": 1})
    assembler.call(None, "", "one", {"n": 2})
    assembler.call(None, "", "", "")
    assert calls_of(assembler) == [("own_1", "one", {"n": 1}), ("own_2", "one", {"n": 2})]


@pytest.mark.parametrize("id", ["", None])
def test_complete_calls_with_one_index_and_no_id_are_all_made(ids: Any, id: Any) -> None:
    assembler = ReplyAssembler(ask(), make_id=ids)
    assembler.call(0, id or "", "one", '{"n": 1}')
    assembler.call(0, id or "", "one", "{}")
    assembler.call(0, id or "", "one", '{"n"')
    assembler.call(0, "", "one", ": 3}")
    assembler.call(0, "", "one", "")
    assert calls_of(assembler) == [("own_1", "one", {"n": 1}), ("own_2", "one", {}), ("own_3", "one", {"n": 3})]


def test_an_id_already_used_in_the_conversation_is_replaced(ids: Any) -> None:
    assembler = ReplyAssembler(ask("hi", called("call_0"), result("call_0")), make_id=ids)
    assembler.call(0, "call_0", "one", "{")
    assembler.call(0, "", "", "}")
    assembler.call(1, "call_0", "two", "{}")
    assert calls_of(assembler) == [("own_1", "one", {}), ("own_2", "two", {})]


def test_generated_ids_differ() -> None:
    assert new_call_id() != new_call_id()


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        ("", {}, None),
        ("  ", {}, None),
        ("null", {}, None),
        ('{"a": 1}', {"a": 1}, None),
        ('{"a": 1', {}, "not valid JSON"),
        ("[1]", {}, "not list"),
        ('"text"', {}, "not str"),
        ('{"a": NaN}', {}, "NaN"),
        ('{"a": 1e400}', {}, "1e400"),
        ("[" * 100_000, {}, "nested too deeply"),
        ('{"big": 9007199254740993}', {"big": 9007199254740993}, None),
    ],
)
def test_arguments(text: str, arguments: dict[str, Any], problem: str | None) -> None:
    found, error = arguments_of(text)
    assert found == arguments
    assert (error is None) if problem is None else problem in str(error)


def test_arguments_that_do_not_parse_keep_their_text() -> None:
    assembler = ReplyAssembler(ask())
    assembler.call(0, "a", "one", '{"path": "C:')
    assembler.finish_reason = FinishReason.LENGTH
    reply = reply_of(assembler.done())
    call = reply.tool_calls[0]
    assert (call.raw, call.arguments, reply.finish_reason) == ('{"path": "C:', {}, FinishReason.LENGTH)
    assert "not valid JSON" in str(call.error)


def test_a_call_without_a_name_is_an_error_for_the_model() -> None:
    assembler = ReplyAssembler(ask())
    assembler.call(0, "a", "", "{}")
    assert reply_of(assembler.done()).tool_calls == (
        ToolCall(id="a", name="unknown", raw="{}", error="The call has no tool name."),
    )
