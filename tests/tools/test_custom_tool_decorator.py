"""A decorator turns a typed function into a tool."""

# judges: app/atelier_desk/tools/custom.py

from __future__ import annotations

import threading
from collections.abc import Awaitable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from atelier_desk.domain.errors import UsageError
from atelier_desk.tools.base import Effect, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.custom import tool
from atelier_desk.tools.registry.registry import ToolRegistry


@tool
async def word_count(
    text: Annotated[str, Field(min_length=1, max_length=20)], unit: Literal["words", "letters"] = "words"
) -> dict[str, Any]:
    """Counts words or letters."""
    return {"count": len(text.split()) if unit == "words" else len(text)}


@tool(name="where", category=ToolCategory.AGENT, effect=Effect.READ, timeout_s=5)
def where(context: ToolContext) -> str:
    """Says which workflow this is, and on which thread it ran."""
    return f"{context.workflow_id} {threading.current_thread() is threading.main_thread()}"


async def run(made: Any, context: ToolContext, **arguments: Any) -> dict[str, Any]:
    registry = ToolRegistry()
    registry.register(made)
    result = await registry.execute(made.name, arguments, context)
    assert isinstance(result, ToolResult)
    return result.data


async def test_the_signature_gives_the_input_and_the_docstring_the_description(context: ToolContext) -> None:
    definition = word_count.definition()
    assert definition.name == "word_count"
    assert definition.description == "Counts words or letters."
    assert definition.parameters["required"] == ["text"]
    assert definition.parameters["properties"]["unit"]["enum"] == ["words", "letters"]
    assert await run(word_count, context, text="one two") == {"success": True, "count": 2}


async def test_arguments_are_validated(context: ToolContext) -> None:
    data = await run(word_count, context, text="x" * 21)
    assert "text has 21 characters; the limit is 20" in data["error"]


async def test_a_plain_function_runs_in_a_thread_and_gets_its_context(context: ToolContext) -> None:
    assert where.category is ToolCategory.AGENT
    assert where.definition().parameters["properties"] == {}
    assert await run(where, context) == {"success": True, "result": f"{context.workflow_id} False"}


async def test_a_failure_can_be_reported(context: ToolContext) -> None:
    @tool
    def refuse() -> dict[str, Any]:
        """Refuses."""
        return {"success": False, "error": "not today"}

    assert await run(refuse, context) == {"success": False, "error": "not today"}


async def test_the_function_can_still_be_called() -> None:
    counting = word_count("a b c")
    assert isinstance(counting, Awaitable)
    assert await counting == {"count": 3}


def test_a_parameter_needs_a_type() -> None:
    with pytest.raises(UsageError, match="text"):

        @tool
        def untyped(text):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            """Untyped."""


def test_the_model_needs_a_docstring() -> None:
    with pytest.raises(UsageError, match="docstring"):

        @tool
        def silent(text: str) -> None: ...


def test_collected_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="args"):

        @tool
        def greedy(*args: str) -> None:
            """Greedy."""


def test_control_tools_cannot_be_created() -> None:
    with pytest.raises(UsageError, match="control"):

        @tool(category=ToolCategory.CONTROL)
        def boss() -> None:
            """Boss."""


def test_a_summary_and_subjects_name_parameters() -> None:
    with pytest.raises(UsageError, match="wrong"):

        @tool(summary="Counts {wrong}")
        def count(text: str) -> int:
            """Counts."""
            return len(text)

    with pytest.raises(UsageError, match="folders"):

        @tool(subjects={"text": "folders"})  # type: ignore[dict-item]
        def other(text: str) -> int:
            """Counts."""
            return len(text)

    with pytest.raises(UsageError, match="summary"):

        @tool(summary="Counts {")
        def third(text: str) -> int:
            """Counts."""
            return len(text)
