"""Tool descriptions lead models to the right call: every argument is explained, and the decisive details are
stated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from atelier_desk.engine.run.request.toolset import tools_tokens
from atelier_desk.tools.calls.argument_validation import validate
from atelier_desk.tools.definition.input_schema import operations_of
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.tools.tool_description_tasks import TASKS

ALL = create_default_tool_registry()
SETS = [(tool, about) for tool, sets in TASKS.items() for about in sets]
ROWS = [
    pytest.param(tool, row, id=f"{tool}-{about}-{n}")
    for tool, about in SETS
    for n, row in enumerate(TASKS[tool][about])
]
TOKENS = 22_414
"""Limit in tokens for all definitions together: 21 762 before these descriptions were rewritten, plus 3 %."""


def words(node: Any) -> Iterator[str]:
    """All texts of a schema."""
    if isinstance(node, dict):
        yield from (part for key, value in node.items() for part in ([key, *words(value)] if key != "required" else ()))
    elif isinstance(node, list):
        yield from (part for each in node for part in words(each))
    else:
        yield str(node)


def explained(schema: dict[str, Any], value: Any, place: str) -> None:
    """Check that every argument is named and explained in the schema, and a choice's value is one of those listed."""
    if "enum" in schema:
        assert value in schema["enum"], place
    for each in value if isinstance(value, list) and "items" in schema else ():
        explained(schema["items"], each, f"{place}[]")
    for name, inner in value.items() if isinstance(value, dict) and "properties" in schema else ():
        assert name in schema["properties"], f"{place}.{name}"
        explained(schema["properties"][name], inner, f"{place}.{name}")


def test_the_fifteen_hardest_tools_have_ten_tasks_each() -> None:
    assert len(SETS) == 15
    assert all(len(TASKS[tool][about]) == 10 for tool, about in SETS)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_the_right_call_of_a_task_is_explained(name: str, row: tuple[Any, ...]) -> None:
    _task, arguments, *told = row
    tool, definition = ALL.get_tool(name), ALL.get_definition(name)
    assert tool is not None
    assert definition is not None
    validate(tool, arguments)
    explained(definition.parameters, arguments, name)
    control = ALL.is_control_tool(name)
    for argument in arguments:
        assert control or definition.parameters["properties"][argument].get("description"), argument
    read = "\n".join([definition.description, *words(definition.parameters)])
    assert told
    for each in told:
        assert each in read, each
    if len(operations_of(tool.input)) == 1 and not control:
        listed = ALL.format_tool_list_for_context([name])
        for each in told:
            assert each in listed, f"not in the list: {each}"
        for argument in arguments:
            assert f"\n  - {argument}" in listed


def test_all_definitions_together_are_within_the_limit() -> None:
    definitions = [ALL.get_definition(name) for name in ALL.get_all_tool_names()]
    assert sum(tools_tokens((each,)) for each in definitions if each is not None) <= TOKENS
