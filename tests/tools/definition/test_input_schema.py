"""Definitions: flat objects that models and grammars can process, consistent with validation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from atelier_desk.tools.base import Input, Tool, ToolContext, ToolResult
from atelier_desk.tools.calls.argument_validation import validate
from atelier_desk.tools.definition.input_schema import (
    MAX_GRAMMAR_LENGTH,
    listed,
    operations_of,
    parameters_of,
    property_names,
    variants_of,
)
from atelier_desk.tools.definition.tool_description import DescribedTool
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry

ALL = create_default_tool_registry()


class Part(BaseModel):
    id: str


class Make(Input):
    operation: Literal["make"]
    name: str = Field(description="Its name.")
    parts: list[Part] = []
    scope: Literal["a", "b"] | None = None
    text: str = Field(default="", max_length=5_000)


class Find(Input):
    operation: Literal["find", "seek"]
    name: str
    scope: Literal["b", "c"] = "b"
    size: int = Field(default=1, ge=1, le=9)


class Thing(Tool):
    name: ClassVar[str] = "thing"
    section: ClassVar[str] = "core_ops"
    input: ClassVar[Any] = Annotated[Make | Find, Field(discriminator="operation")]

    @property
    def description(self) -> str:
        return "A thing."

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        return ToolResult.ok()


def properties_of(schema: Mapping[str, object]) -> dict[str, dict[str, object]]:
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return properties


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes(item)


def test_a_union_becomes_one_flat_object() -> None:
    schema = parameters_of(Thing.input)
    assert schema["type"] == "object"
    assert properties_of(schema)["operation"]["enum"] == ["make", "find", "seek"]
    assert schema["required"] == ["operation", "name"]
    assert schema["additionalProperties"] is False
    assert set(properties_of(schema)) == {"operation", "name", "parts", "scope", "text", "size"}


def test_descriptions_list_the_operations_that_take_or_require_a_parameter() -> None:
    properties = properties_of(parameters_of(Thing.input))
    assert properties["name"]["description"] == "For make (required), find, seek (required). Its name."
    assert properties["parts"]["description"] == "For make."


def test_choices_of_several_operations_are_merged() -> None:
    assert properties_of(parameters_of(Thing.input))["scope"]["enum"] == ["a", "b", "c"]


class Few(Input):
    operation: Literal["few"]
    size: int = Field(default=1, ge=1, le=9, description="How many.")
    where: str = Field(default="", description="Where to begin.")
    order: Literal["up", "down"] = "up"
    what: int


class Many(Input):
    operation: Literal["many"]
    size: int = Field(default=50, ge=10, le=99, description="How many.")
    where: str = Field(default="", description="Where to end.")
    order: Literal["up"] = "up"
    what: str


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "size",
            (
                "For few. How many. At least 1; At most 9; Default 1. For many. How many. At least 10; At most 99; "
                "Default 50."
            ),
        ),
        ("where", "For few. Where to begin. For many. Where to end."),
        ("order", "For few. For many. One of up."),
        ("what", "For few (required), many (required)."),
    ],
)
def test_a_parameter_with_different_meanings_explains_both(name: str, told: str) -> None:
    schema = parameters_of(Annotated[Few | Many, Field(discriminator="operation")])
    assert properties_of(schema)[name]["description"] == told


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in ALL.get_all_tool_names()
        if (tool := ALL.get_tool(name)) is not None and len(operations_of(tool.input)) > 1
    ],
)
def test_no_operations_parameter_description_is_lost(name: str) -> None:
    tool = ALL.get_tool(name)
    assert tool is not None
    flat = properties_of(parameters_of(tool.input))
    for operation, schema in zip(operations_of(tool.input), variants_of(tool.input), strict=True):
        for field in operation.fields():
            own, told = properties_of(schema)[field], str(flat[field]["description"])
            assert operation.label in told
            assert str(own.get("description", "")) in told, f"{operation.label}: {field}"
            for key in ("default", "minimum", "maximum"):
                value = own.get(key)
                assert value in (None, "", [], flat[field].get(key)) or str(value) in told, (
                    f"{operation.label}: {field}: {key}"
                )


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ({}, []),
        ({"properties": None}, []),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, ["a* string"]),
        (
            {"properties": {"a": {"type": "integer", "default": 3, "description": "How\n many."}}},
            ["a integer = 3: How many."],
        ),
        ({"properties": {"a": {"enum": ["x", None, 1]}}, "required": True}, ["a x|null|1"]),
        ({"properties": {"a": {"type": ["string", "null"]}, "b": True}}, ["a string|null", "b any"]),
        (
            {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}}},
            ["a string|integer[]"],
        ),
        (
            {
                "properties": {
                    "a": {"type": "array", "items": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}
                }
            },
            ["a {x*}[]"],
        ),
        (
            {
                "properties": {
                    "a": {"type": "object", "properties": {"x": {"type": "number", "description": "Metres."}, "y": {}}}
                }
            },
            ["a {x, y}", "  - x number: Metres."],
        ),
    ],
)
def test_parameters_are_listed_on_one_line_each(schema: dict[str, Any], lines: list[str]) -> None:
    assert listed(schema) == lines


def test_a_schema_with_thousands_of_nested_lists_is_listed_too() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    assert listed({"properties": {"a": deep}}) == ["a any[][][][]"]


def test_operations_list_only_parameters_with_choices_or_parts_again() -> None:
    assert listed(parameters_of(Thing.input), choices=True) == [
        "parts {id*}[]: For make.",
        "scope a|b|c: For make. One of a, b. For find, seek. Default b; One of b, c.",
    ]


def test_long_limits_are_stated_and_not_expanded() -> None:
    text = properties_of(parameters_of(Thing.input))["text"]
    assert "maxLength" not in text
    assert "5000 characters" in str(text["description"])


def test_null_is_omitted_where_a_missing_parameter_means_the_same() -> None:
    assert all(node.get("type") != "null" for node in nodes(parameters_of(Thing.input)))


def test_operations_list_their_fields() -> None:
    make, find = operations_of(Thing.input)
    assert make.required == ["name"]
    assert find.names == ("find", "seek")
    assert property_names(Thing.input) == {"operation", "name", "parts", "scope", "text", "size"}


@pytest.mark.parametrize("name", ALL.get_all_tool_names())
def test_every_definition_is_plain_json_that_a_grammar_supports(name: str) -> None:
    definition = ALL.get_definition(name)
    assert definition is not None
    schema = definition.parameters
    assert json.loads(json.dumps(schema)) == schema
    assert schema["type"] == "object"
    for node in nodes(schema):
        assert (
            not {"$ref", "$defs", "oneOf", "allOf", "discriminator", "title", "const"} & set(node)
            or "properties" in node
        )
        assert node.get("maxLength", 0) <= MAX_GRAMMAR_LENGTH if isinstance(node.get("maxLength", 0), int) else True
    assert set(schema.get("required", ())) <= set(properties_of(schema))


@pytest.mark.parametrize("name", [name for name in ALL.get_all_tool_names() if not ALL.is_control_tool(name)])
def test_every_description_follows_the_template_and_its_example_is_valid(name: str) -> None:
    tool = ALL.get_tool(name)
    assert isinstance(tool, DescribedTool)
    assert "Use it when: " in tool.description
    assert "Do not use it when: " in tool.description
    assert "Example: {" in tool.description
    validate(tool, dict(tool.about.example))
    for operation in operations_of(tool.input):
        if operation.names:
            assert operation.label in tool.about.operations, operation.label
            for field in operation.required:
                assert f"{field}*" in tool.description


def test_a_tool_without_parameters_has_an_empty_object() -> None:
    class Nothing(Thing):
        name: ClassVar[str] = "nothing"
        input: ClassVar[Any] = type("NothingInput", (Input,), {"__module__": __name__})

    assert parameters_of(Nothing.input) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_parameter_called_operation_is_not_a_discriminator() -> None:
    class Plain(Input):
        operation: str

    class Surgery(Thing):
        name: ClassVar[str] = "surgery"
        input: ClassVar[Any] = Plain

    assert properties_of(parameters_of(Surgery.input))["operation"] == {"type": "string"}
    assert validate(Surgery(), {"operation": "appendix"}).operation == "appendix"


def test_definitions_are_built_once(registry: ToolRegistry) -> None:
    assert registry.get_definition("TodoTool") is registry.get_definition("TodoTool")
