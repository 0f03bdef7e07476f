"""Argument texts: which are parsed, which repaired and marked, which refused, and why."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.llm.dialects import argument_parsing
from atelier_desk.llm.dialects.argument_parsing import CUT, MORE, UNCLOSED, parse_arguments
from atelier_desk.llm.dialects.tool_call_limits import CALL_CHARACTERS, CALL_DEPTH, REPAIR_BYTES


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1, "b": [true, null]}', {"a": 1, "b": [True, None]}),
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('  ~~~\n{"a": 1}\n~~~ ', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        (json.dumps('{"a": 1}'), {"a": 1}),
        ('{"a": "\\ud83d\\ude00 \\ud800"}', {"a": "😀 \ufffd"}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
    ],
)
async def test_unambiguous_text_is_parsed(text: str, arguments: dict[str, object]) -> None:
    parsed = await parse_arguments(text)
    assert (parsed.arguments, parsed.repaired, parsed.error) == (arguments, False, None)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("{'a': 'b'}", {"a": "b"}),
        ('{"a": 1,}', {"a": 1}),
        ('{a: "b"}', {"a": "b"}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": "he said "hi""}', {"a": 'he said "hi"'}),
    ],
)
async def test_repaired_arguments_are_marked(text: str, arguments: dict[str, object]) -> None:
    parsed = await parse_arguments(text)
    assert (parsed.arguments, parsed.repaired, parsed.error) == (arguments, True, None)


async def test_text_truncated_by_the_token_limit_is_never_repaired() -> None:
    parsed = await parse_arguments('{"path": "a.txt", "content": "first li', truncated=True)
    assert parsed.error == CUT
    assert parsed.arguments == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a.txt", "content": "first li',
        '{"path": "a.txt", "content": "first line"',
        '{"a": {"b": 1}',
        '{"a": "it ends with a quote \\\\"',
        "{'a': 1",
        '```json\n{"a": "b',
        'Here you are: {"a": ["b", ',
    ],
)
async def test_text_that_ends_in_the_middle_counts_as_truncated_whatever_the_server_reports(text: str) -> None:
    parsed = await parse_arguments(text)
    assert (parsed.arguments, parsed.error) == ({}, UNCLOSED)


@pytest.mark.parametrize("text", ['{"a": 1}{"a": 2}', '{"a": 1} and more', '{"a": 1}, {"a": 2}', '{"a": 1}\n{"b": 1}'])
async def test_text_after_a_complete_object_is_not_dropped(text: str) -> None:
    parsed = await parse_arguments(text)
    assert (parsed.arguments, parsed.error) == ({}, MORE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "not an array"),
        ("7", "not a number"),
        ("true", "not a boolean"),
        ('"prose"', "not valid JSON"),
        ("rm -rf /", "not valid JSON"),
        ('{"a": 1e999}', "out of range"),
        ('{"a":' * (CALL_DEPTH + 1) + "1" + "}" * (CALL_DEPTH + 1), "nested more than 64"),
        ("[" * 100_000, "nested more than 64"),
        ('{"a": "' + "x" * CALL_CHARACTERS + '"}', "at most 1000000"),
        ("{'a': '" + "x" * REPAIR_BYTES + "'}", "not valid JSON"),
    ],
)
async def test_text_that_cannot_be_arguments_is_refused_with_a_reason(text: str, reason: str) -> None:
    parsed = await parse_arguments(text)
    assert parsed.arguments == {}
    assert not parsed.repaired
    assert reason in (parsed.error or "")


async def test_a_failure_of_the_repair_library_is_an_error_for_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise RecursionError

    monkeypatch.setattr("atelier_desk.llm.dialects.argument_parsing.repair_json", fail)
    parsed = await parse_arguments("{'a': 1}")
    assert "not valid JSON" in (parsed.error or "")


async def test_repairing_does_not_block_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    threads: list[threading.Thread] = []

    def spy(text: str) -> None:
        threads.append(threading.current_thread())

    monkeypatch.setattr(argument_parsing, "_repair", spy)
    await parse_arguments("{'a': 1}")
    assert threads
    assert threads[0] is not threading.main_thread()


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), _JSON, max_size=4), st.booleans())
async def test_every_object_survives_the_round_trip(value: dict[str, object], ascii_only: bool) -> None:
    parsed = await parse_arguments(json.dumps(value, ensure_ascii=ascii_only))
    assert (parsed.arguments, parsed.repaired, parsed.error) == (value, False, None)


@given(st.text(max_size=60) | st.text(alphabet='{}[]",:\\ae1 ', max_size=40), st.booleans())
async def test_no_text_makes_it_raise(text: str, truncated: bool) -> None:
    parsed = await parse_arguments(text, truncated=truncated)
    assert (parsed.error is None) or not parsed.arguments
    json.dumps(parsed.arguments).encode("utf-8")


@pytest.mark.parametrize("text", ["~" * 900_000, "```\n" + " " * 900_000 + "x", "~~~\n" + "~~~ " * 200_000 + "x"])
def test_an_unclosed_fence_is_scanned_once(text: str) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        argument_parsing.parse_strict(text)
