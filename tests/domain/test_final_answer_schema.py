"""Answer schemas: which schemas are accepted, and which answers match."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain import final_answer_schema, limits
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.support.i18n import _, set_language

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}


def test_a_schema_keeps_the_order_of_its_fields() -> None:
    schema = final_answer_schema.schema_of(json.dumps(PERSON))
    assert schema is not None
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["name", "age"]
    assert final_answer_schema.schema_of(final_answer_schema.text_of(schema)) == PERSON
    assert (final_answer_schema.schema_of(" \n"), final_answer_schema.text_of(None)) == (None, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"type": "object",', "The schema is not JSON. Line 1, column 19"),
        ('{"type": "object", "minimum": NaN}', "NaN is not JSON"),
        ("[1]", "must be a JSON object"),
        ('"object"', "must be a JSON object"),
        ("{}", '"type": "object"'),
        ('{"type": "array"}', '"type": "object"'),
        ('{"type": "object", "properties": 3}', "not a valid JSON Schema. At $.properties: 3 is not of type 'object'"),
        ('{"type": "object", "properties": {"a": {"type": "text"}}}', "At $.properties.a.type"),
        ('{"type": "object", "properties": {"a": {"pattern": "("}}}', "At $.properties.a.pattern"),
        (
            '{"type": "object", "properties": {"a": {"$ref": "https://example.org/s.json"}}}',
            "not to https://example.org/s.json",
        ),
        ('{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}', "cannot be used"),
        ('{"type": "object", "$ref": "#"}', "infinite reference loop"),
        ('{"type": "object", "x": ' + "[" * 6000 + "]" * 6000 + "}", "nested too deeply"),
    ],
)
def test_a_schema_that_is_no_object_schema_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        final_answer_schema.schema_of(text)
    assert said in str(refused.value)


def test_a_schema_has_a_length_limit() -> None:
    with pytest.raises(LimitError, match="20003"):
        final_answer_schema.schema_of("{" + " " * (limits.ANSWER_SCHEMA + 1) + "}")
    with pytest.raises(LimitError):
        final_answer_schema.check({"type": "object", "title": "x" * limits.ANSWER_SCHEMA})


def test_the_refusal_is_in_the_readers_language() -> None:
    with pytest.raises(UsageError) as refused:
        final_answer_schema.schema_of("[1]")
    set_language("fr")
    try:
        assert refused.value.localized(_).startswith("Le schéma doit être un objet JSON")
    finally:
        set_language("en")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ann"}',
        '\n {"name": "Ann", "age": 5}\n',
        '```json\n{"name": "Ann"}\n```',
        '```\n{"name": "Ann"}\n```',
    ],
)
def test_an_answer_matches_with_or_without_a_code_fence(text: str) -> None:
    assert final_answer_schema.schema_mismatch(PERSON, text) == ""
    found = final_answer_schema.read(text)
    assert found is not None
    assert json.loads(final_answer_schema.bare(text)) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "It is empty."),
        ("She is called Ann.", "It is not JSON"),
        ('Here it is:\n```json\n{"name": "Ann"}\n```', "It is not JSON"),
        ('{"name": NaN}', "NaN is not JSON"),
        ('["Ann"]', "not an object"),
        ("{}", "At $: 'name' is a required property"),
        ('{"name": "Ann", "age": "five"}', "At $.age: 'five' is not of type 'integer'"),
    ],
)
def test_a_mismatch_is_explained(text: str, said: str) -> None:
    assert said in final_answer_schema.schema_mismatch(PERSON, text)


def test_an_invalid_stored_schema_is_reported_too() -> None:
    assert "The schema itself" in final_answer_schema.schema_mismatch(
        {"type": "object", "properties": {"a": {"$ref": "#/nothing"}}}, '{"a": 1}'
    )


@given(st.text(max_size=200))
def test_any_text_gets_a_result(text: str) -> None:
    assert final_answer_schema.schema_mismatch(PERSON, text) or final_answer_schema.read(text) is not None


@pytest.mark.parametrize(
    "where", [{"properties": {"a": {"pattern": "^(a+)+$"}}}, {"patternProperties": {"^(a+)+$": {"type": "string"}}}]
)
def test_patterns_are_refused_and_never_executed(where: dict[str, Any]) -> None:
    schema = {"type": "object", **where}
    with pytest.raises(UsageError, match="pattern"):
        final_answer_schema.check(schema)
    long = "a" * 60 + "!"
    assert "cannot be used" in final_answer_schema.schema_mismatch(schema, json.dumps({"a": long, long: ""})), (
        "of an agent that was imported"
    )
