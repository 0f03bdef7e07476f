"""Tool definitions: those that would take too long to process are not used, or not examined."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.mcp import tool_definitions
from atelier_desk.mcp.tool_definitions import Unusable
from atelier_desk.presentation.mcp_server_text import why_text
from atelier_desk.support.i18n import spoken


def of(**schema: Any) -> dict[str, Any]:
    return tool_definitions.parameters({"name": "x", "inputSchema": {"type": "object", **schema}})


def test_references_that_expand_endlessly_are_not_used() -> None:
    defs: dict[str, Any] = {"a0": {"type": "integer"}}
    defs |= {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, 60)}
    with pytest.raises(Unusable, match="expand to more"):
        of(properties={"v": {"$ref": "#/$defs/a59"}}, **{"$defs": defs})


def test_arguments_of_a_recursive_schema_are_left_to_the_server() -> None:
    below = {"properties": {"next": {"$ref": "#/$defs/node"}}}
    schema = of(
        properties={"v": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": {"type": "object", "allOf": [below, below]}}}
    )
    deep: Any = {}
    for _step in range(60):
        deep = {"next": deep}
    assert tool_definitions.argument_mismatch(schema, {"v": deep}) == ""
    assert "is not of type 'object'" in tool_definitions.argument_mismatch(schema, {"v": {"next": 1}}), (
        "what can be checked is"
    )


def test_lists_are_not_compared_pairwise() -> None:
    schema = of(properties={"v": {"type": "array", "uniqueItems": True, "items": {"type": "object"}}})
    assert tool_definitions.argument_mismatch(schema, {"v": [{"a": n} for n in range(2_000)] * 2}) == ""
    assert tool_definitions.argument_mismatch(schema, {"v": [1]}).startswith("v[0]")


def test_a_later_tool_does_not_take_over_an_existing_name() -> None:
    before = [{"name": "read.file"}]
    now = [{"name": "read/file"}, {"name": "read_file"}, {"name": "read.file"}]
    ours = tool_definitions.names("s", [str(each["name"]) for each in tool_definitions.in_order_of(before, now)])
    assert ours["read.file"] == "mcp__s__read_file" == tool_definitions.names("s", ["read.file"])["read.file"]
    assert len(set(ours.values())) == 3


def test_a_name_of_the_maximum_length_is_unchanged() -> None:
    fits, longer = "a" * (64 - len("mcp__s__")), "a" * (65 - len("mcp__s__"))
    names = tool_definitions.names("s", [fits, longer, f"{longer}b"])
    assert names[fits] == f"mcp__s__{fits}"
    assert names[longer] != f"mcp__s__{longer}"
    assert {len(name) for name in names.values()} == {64}
    assert len(set(names.values())) == 3


def test_a_definition_of_the_maximum_length_is_used() -> None:
    definition = {"name": "x", "description": "", "inputSchema": {"type": "object"}}
    definition["description"] = "é" * (64 * 1024 - len(json.dumps(definition)))
    assert tool_definitions.parameters(definition)["type"] == "object"
    definition["description"] = f"{definition['description']}é"
    with pytest.raises(Unusable, match="65537 characters; the maximum is 65536"):
        tool_definitions.parameters(definition)


def test_a_description_is_cut_after_8000_characters() -> None:
    assert tool_definitions.description({"name": "x", "description": "a" * 8_000}) == "a" * 8_000
    assert tool_definitions.description({"name": "x", "description": "a" * 8_001}) == f"{'a' * 8_000} […]"


@pytest.mark.parametrize(("count", "fine"), [(500, True), (501, False)])
def test_at_most_five_hundred_references_are_followed(count: int, fine: bool) -> None:
    many = {"anyOf": [{"allOf": [{"$ref": "#/$defs/a"}] * count}]}
    if fine:
        assert of(properties={"v": many}, **{"$defs": {"a": {}}})["properties"]
        return
    with pytest.raises(Unusable, match="more than 500"):
        of(properties={"v": many}, **{"$defs": {"a": {}}})


@pytest.mark.parametrize(("count", "checked"), [(2_000, True), (2_001, False)])
def test_call_arguments_are_checked_through_two_thousand_references(count: int, checked: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"v": {"allOf": [{"$ref": "#/$defs/a"}] * count}},
        "$defs": {"a": {"type": "string"}},
    }
    assert bool(tool_definitions.argument_mismatch(schema, {"v": 1})) is checked


DEEP: dict[str, Any] = {"type": "string"}
for _level in range(150):
    DEEP = {"type": "object", "properties": {"a": DEEP}}


@pytest.mark.parametrize(
    "definition",
    [
        {"inputSchema": []},
        {"inputSchema": {"properties": 5}},
        {"inputSchema": {"type": "array"}},
        {"inputSchema": {"properties": {"a": {"type": "strange"}}}},
        {"inputSchema": {"properties": {"a": {"$ref": "#/properties/a"}}}},
        {"inputSchema": {"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}},
        {"inputSchema": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 501}}, "$defs": {"a": {}}}},
        {"inputSchema": DEEP},
        {"inputSchema": {}, "description": "x" * 70_000},
    ],
    ids=["none", "no properties", "array", "strange", "itself", "outside", "many", "deep", "long"],
)
def test_each_reason_is_in_the_readers_language(definition: dict[str, Any]) -> None:
    with pytest.raises(Unusable) as caught:
        tool_definitions.parameters({"name": "x", **definition})
    why = str(caught.value)
    assert why_text(why) == why
    with spoken("fr"):
        assert why_text(why) != why


def test_an_unknown_reason_is_shown_unchanged() -> None:
    with spoken("fr"):
        assert why_text("something else") == "something else"
