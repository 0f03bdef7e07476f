"""task_complete and task_abandon end the run."""

from __future__ import annotations

from atelier_desk.tools.base import ToolResult
from tests.tools.conftest import Calls


async def test_complete_ends_the_run_as_completed(calls: Calls) -> None:
    result = await calls.outcome("task_complete", summary="Done.", result="42")
    assert isinstance(result, ToolResult)
    assert (result.end, result.end_summary) == ("completed", "Done.")
    assert result.data == {"success": True, "summary": "Done.", "result": "42"}


async def test_a_structured_result_is_stored_as_json(calls: Calls) -> None:
    assert (await calls("task_complete", summary="Done.", result={"answer": 42}))["result"] == '{"answer": 42}'


async def test_abandon_ends_the_run_as_abandoned(calls: Calls) -> None:
    result = await calls.outcome("task_abandon", reason="No such file.")
    assert isinstance(result, ToolResult)
    assert (result.end, result.end_summary) == ("abandoned", "No such file.")


async def test_a_reason_is_required(calls: Calls) -> None:
    result = await calls.outcome("task_abandon")
    assert isinstance(result, ToolResult)
    assert result.end is None
    assert "reason is required" in result.data["error"]
