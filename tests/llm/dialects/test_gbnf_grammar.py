"""Grammars generated from tool schemas: everything they accept is valid, and sensible calls are accepted."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.llm.dialects.gbnf_grammar import tools_grammar
from atelier_desk.llm.dialects.number_grammar import integer_range, integer_rule, number_rule
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.helpers.gbnf_grammar import Grammar

TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "operation": {"const": "create", "default": "create"},
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "priority": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
        "weight": {"type": "number", "minimum": 0, "maximum": 1},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}, "minItems": 1, "maxItems": 3},
        "due": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
        "done": {"type": "boolean"},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"Tag": {"enum": ["red", "blue", 7]}},
}
OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "object"}, "c": {}},
    "additionalProperties": False,
}
UNION: dict[str, Any] = {
    "oneOf": [
        {"type": "object", "properties": {"k": {"const": "x"}, "n": {"type": "number"}}, "required": ["k", "n"]},
        {
            "allOf": [
                {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "boolean"}}}}
            ],
            "not": {"required": ["k"]},
        },
    ]
}


def tool(name: str, schema: dict[str, Any], *variants: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name=name, description="d", parameters=schema, variants=variants)


def call_of(reply: str) -> tuple[str, Any]:
    match = re.fullmatch(r'<tool_call name="(\w+)">(.*)</tool_call>', reply, re.DOTALL)
    assert match is not None
    return match[1], json.loads(match[2])


@pytest.mark.parametrize("schema", [TASK, OPTIONAL, UNION], ids=["todo", "optional", "union"])
def test_everything_the_grammar_accepts_matches_the_schema(schema: dict[str, Any]) -> None:
    grammar = Grammar(tools_grammar([tool("T", schema)], require_call=True, max_string=6))
    source = random.Random(7)
    for _ in range(400):
        name, arguments = call_of(grammar.sample(source))
        assert name == "T"
        Draft202012Validator(schema).validate(arguments)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (TASK, {"operation": "create", "name": 'a \\ " é\n'}),
        (
            TASK,
            {
                "operation": "create",
                "name": "n",
                "priority": 5,
                "weight": 0.25,
                "tags": ["red", 7],
                "due": None,
                "done": False,
            },
        ),
        (TASK, {"operation": "create", "name": "n", "weight": 1}),
        (OPTIONAL, {}),
        (OPTIONAL, {"b": {"x": [1, {"y": None}]}}),
        (OPTIONAL, {"a": -3, "c": "free"}),
        (UNION, {"k": "x", "n": -1.5}),
        (UNION, {"m": {"p": True, "q": False}}),
        ({"type": "object"}, {"anything": 1}),
        ({"type": "object", "additionalProperties": False}, {}),
    ],
)
def test_valid_arguments_are_accepted(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    grammar = Grammar(tools_grammar([tool("Other", TASK), tool("T", schema)], require_call=True))
    assert grammar.matches(f'<tool_call name="T">{json.dumps(arguments, ensure_ascii=False)}</tool_call>')


def test_variants_have_the_required_fields_of_each_operation() -> None:
    flat = {
        "type": "object",
        "properties": {"operation": {"enum": ["get", "list"]}, "id": {"type": "string"}},
        "required": ["operation"],
    }
    get = {
        "type": "object",
        "properties": {"operation": {"enum": ["get"]}, "id": {"type": "string"}},
        "required": ["id"],
    }
    listing = {"type": "object", "properties": {"operation": {"enum": ["list"]}}}
    grammar = Grammar(tools_grammar([tool("T", flat, get, listing)], require_call=True))
    assert grammar.matches('<tool_call name="T">{"operation": "get", "id": "1"}</tool_call>')
    assert grammar.matches('<tool_call name="T">{"operation": "list"}</tool_call>')
    assert not grammar.matches('<tool_call name="T">{"operation": "get"}</tool_call>')


@pytest.mark.parametrize(
    ("reply", "allowed"),
    [
        ("Just text.", True),
        ("1 < 2, <table>, <tool> and <tool_calx", True),
        ('Let me see.\n<tool_call name="T">{"k": "x", "n": 1}</tool_call>', True),
        ('<tool_call name="T">{"k": "x", "n": 1}</tool_call>\n<tool_call name="T">{}</tool_call>', True),
        ('<tool_call name="T">{"k": "x", "n": 1}</tool_call> and then', False),
        ('<tool_call name="Unknown">{}</tool_call>', False),
        ('<tool_call name="T">{"k": "y"}</tool_call>', False),
        ("the <tool_call> tag", False),
        ("", False),
    ],
)
def test_a_reply_is_text_or_text_and_valid_calls(reply: str, allowed: bool) -> None:
    grammar = Grammar(tools_grammar([tool("T", UNION)], max_calls=3))
    assert grammar.matches(reply) is allowed


def test_all_built_in_tools_have_grammars() -> None:
    registry = create_default_tool_registry()
    specs = registry.get_definitions_by_names(registry.get_all_tool_names())
    grammar = Grammar(tools_grammar(specs, require_call=True, max_string=8))
    for reply in (
        '<tool_call name="CalculatorTool">{"operation": "eval", "expression": "12*7"}</tool_call>',
        '<tool_call name="task_complete">{"summary": "done"}</tool_call>',
    ):
        assert grammar.matches(reply)


def test_no_tools_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one tool"):
        tools_grammar([])


@given(low=st.integers(-1500, 1500), span=st.integers(0, 1500))
@settings(max_examples=60)
def test_integer_ranges_are_exact(low: int, span: int) -> None:
    high = low + span
    grammar = Grammar(f"root ::= {integer_range(low, high)}")
    pattern = grammar.pattern()
    inside = {number for number in range(-1700, 3200) if pattern.fullmatch(str(number))}
    assert inside == set(range(low, high + 1))
    assert not grammar.matches("-0")
    assert not grammar.matches("007")


_BOUND = st.none() | st.integers(-20, 20) | st.floats(-20, 20).map(lambda value: round(value, 1))


@given(low=_BOUND, high=_BOUND, low_out=st.booleans(), high_out=st.booleans(), seed=st.integers(0, 10**6))
@settings(max_examples=200)
def test_numbers_stay_within_their_bounds(
    low: float | None, high: float | None, low_out: bool, high_out: bool, seed: int
) -> None:
    schema: dict[str, Any] = {}
    if low is not None:
        schema["exclusiveMinimum" if low_out else "minimum"] = low
    if high is not None:
        schema["exclusiveMaximum" if high_out else "maximum"] = high
    basics = 'integer ::= "-"? ("0" | [1-9] [0-9]{0,14})\nnumber ::= integer ("." [0-9]{1,12})?'
    for kind, rule in (("integer", integer_rule), ("number", number_rule)):
        try:
            expression = rule(schema)
        except ValueError:
            assert low is not None
            assert high is not None
            assert high - low < 1 or high_out
            continue
        written = Grammar(f"root ::= {expression}\n{basics}").sample(random.Random(seed))
        Draft202012Validator({"type": kind, **schema}).validate(json.loads(written))
