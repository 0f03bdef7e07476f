"""output shows text, and stores reports."""

from __future__ import annotations

import pytest

from atelier_desk.domain import limits
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.base import ToolResult
from tests.tools.conftest import Calls


@pytest.mark.parametrize("kind", ["message", "result", "progress"])
async def test_content_is_shown_with_its_type(calls: Calls, kind: str) -> None:
    result = await calls.outcome("output", content="Half way.", type=kind)
    assert isinstance(result, ToolResult)
    assert result.output == ("Half way.", kind)
    assert result.end is None


async def test_message_is_the_default(calls: Calls) -> None:
    result = await calls.outcome("output", content="Hello.")
    assert isinstance(result, ToolResult)
    assert result.output == ("Hello.", "message")


async def test_a_report_is_also_stored_under_its_heading(calls: Calls, repos: Repositories) -> None:
    text = "# Market: a survey\n\nThree findings."
    data = await calls("output", content=text, type="report")
    assert data["report"] == "Market a survey"
    assert await repos.reports.read(calls.context.workflow_id, "Market a survey") == text


async def test_two_reports_with_one_heading_are_both_stored_and_a_repeated_call_stores_one(
    calls: Calls, repos: Repositories
) -> None:
    first = await calls("output", call_id="a", content="# Survey\n1", type="report")
    again = await calls("output", call_id="a", content="# Survey\n1", type="report")
    second = await calls("output", call_id="b", content="# Survey\n2", type="report")
    assert (first["report"], again["report"], second["report"]) == ("Survey", "Survey", "Survey-2")
    assert len(await repos.reports.list(calls.context.workflow_id)) == 2


async def test_long_text_is_allowed_only_for_reports(calls: Calls) -> None:
    text = "x" * (limits.MESSAGE + 1)
    data = await calls("output", content=text)
    assert data["code"] == "over_limit"
    assert str(len(text)) in data["error"]
    assert (await calls("output", content=text, type="report"))["success"]
