"""ReportTool with real files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.result_parts import ReportPart
from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.base import ToolResult
from atelier_desk.tools.core.workflow_reports import CARD_EXCERPT, READ_DEFAULT
from tests.tools.conftest import Calls, MakeCalls

REPORT = "ReportTool"


async def write(
    calls: Calls, name: str = "audit", content: str = "# Audit\n\nOne finding.", **more: Any
) -> dict[str, Any]:
    return await calls(REPORT, operation="write", name=name, content=content, **more)


async def test_writes_a_file_and_its_row(calls: Calls, repos: Repositories) -> None:
    data = await write(calls, "audit.md")
    assert data["name"] == "audit"
    report = await repos.reports.get(calls.context.workflow_id, "audit")
    assert (report.author, report.run_id, report.size) == ("Assistant", "run-1", len(b"# Audit\n\nOne finding."))
    assert repos.reports.path(calls.context.workflow_id, "audit").read_text() == "# Audit\n\nOne finding."


async def test_a_written_report_has_a_card_with_its_beginning(calls: Calls) -> None:
    text = "# Audit\n\n" + "One finding. " * 200
    written = await calls.outcome(REPORT, operation="write", name="audit.md", content=text)
    assert isinstance(written, ToolResult)
    assert written.parts == (ReportPart(name="audit", text=text[:CARD_EXCERPT]),)
    changed = await calls.outcome(REPORT, operation="write_diff", name="audit", old_string="# Audit", new_string="# B")
    assert isinstance(changed, ToolResult)
    (part,) = changed.parts
    assert isinstance(part, ReportPart)
    assert part.text.startswith("# B\n")


async def test_an_existing_report_is_replaced_only_on_request(calls: Calls, repos: Repositories) -> None:
    await write(calls)
    refused = await write(calls, content="new")
    assert refused["code"] == "conflict"
    assert "overwrite: true" in refused["error"]
    before = await repos.reports.get(calls.context.workflow_id, "audit")
    assert (await write(calls, content="new", overwrite=True))["success"]
    after = await repos.reports.get(calls.context.workflow_id, "audit")
    assert (after.id, after.created_at) == (before.id, before.created_at)
    assert await repos.reports.read(calls.context.workflow_id, "audit") == "new"


async def test_the_same_call_may_run_again(calls: Calls, repos: Repositories) -> None:
    assert (await write(calls, call_id="same"))["success"]
    assert (await write(calls, call_id="same"))["success"]
    assert len(await repos.reports.list(calls.context.workflow_id)) == 1


async def test_changes_one_passage(calls: Calls, repos: Repositories) -> None:
    await write(calls, content="alpha beta beta")
    assert (await calls(REPORT, operation="write_diff", name="audit", old_string="alpha", new_string="ALPHA"))[
        "success"
    ]
    assert await repos.reports.read(calls.context.workflow_id, "audit") == "ALPHA beta beta"
    twice = await calls(REPORT, operation="write_diff", name="audit", old_string="beta", new_string="x")
    assert "occurs 2 times" in twice["error"]
    none = await calls(REPORT, operation="write_diff", name="audit", old_string="gamma", new_string="x")
    assert "does not occur" in none["error"]


async def test_a_change_cannot_exceed_the_limit(calls: Calls) -> None:
    await write(calls, content="x" + "y" * (limits.REPORT - 1))
    data = await calls(REPORT, operation="write_diff", name="audit", old_string="x", new_string="zz")
    assert str(limits.REPORT + 1) in data["error"]


async def test_reads_in_pages(calls: Calls) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(READ_DEFAULT * 2 + 10))
    await write(calls, content=text)
    seen, offset = "", 0
    while True:
        page = await calls(REPORT, operation="read", name="audit", offset=offset)
        seen += page["content"]
        if "next_offset" not in page:
            break
        offset = page["next_offset"]
    assert seen == text
    assert page["total_chars"] == len(text)
    assert "past the end" in (await calls(REPORT, operation="read", name="audit", offset=10**6))["error"]


async def test_finds_by_pattern(calls: Calls) -> None:
    for name in ("audit-1", "audit-2", "plan"):
        await write(calls, name)
    found = await calls(REPORT, operation="glob", pattern="AUDIT-*.md")
    assert [report["name"] for report in found["reports"]] == ["audit-1", "audit-2"]
    assert (await calls(REPORT, operation="glob", pattern="*"))["count"] == 3
    assert (await calls(REPORT, operation="glob", pattern="nothing?"))["reports"] == []


async def test_deletes(calls: Calls, repos: Repositories) -> None:
    await write(calls)
    path = repos.reports.path(calls.context.workflow_id, "audit")
    assert (await calls(REPORT, operation="delete", name="audit.md"))["success"]
    assert not path.exists()
    assert (await calls(REPORT, operation="delete", name="audit"))["code"] == "not_found"
    assert (await calls(REPORT, operation="read", name="audit"))["code"] == "not_found"


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", ".hidden", "..", "a\\b"])
@pytest.mark.parametrize("operation", ["write", "read", "delete"])
async def test_paths_are_refused(calls: Calls, name: str, operation: str) -> None:
    extra = {"content": "x"} if operation == "write" else {}
    data = await calls(REPORT, operation=operation, name=name, **extra)
    assert data["success"] is False
    assert "cannot be used as a report name" in data["error"]


async def test_a_report_over_the_limit_is_refused_with_its_length(calls: Calls) -> None:
    data = await write(calls, content="x" * (limits.REPORT + 1))
    assert f"content has {limits.REPORT + 1} characters; the limit is {limits.REPORT}" in data["error"]


async def test_reports_of_another_workflow_are_not_found(
    calls: Calls, calls_with: MakeCalls, repos: Repositories
) -> None:
    other = Workflow(name="Other")
    await repos.workflows.create(other)
    await write(calls_with(workflow_id=other.id))
    assert (await calls(REPORT, operation="read", name="audit"))["code"] == "not_found"
    assert (await calls(REPORT, operation="glob", pattern="*"))["count"] == 0


async def test_without_a_workflow_there_are_no_reports(calls_with: MakeCalls) -> None:
    assert (await write(calls_with(workflow_id="")))["code"] == "no_workflow"


def test_only_a_change_of_a_passage_is_not_repeatable(calls: Calls) -> None:
    tool = calls.registry.get_tool(REPORT)
    assert tool is not None
    change = {"operation": "write_diff", "name": "a", "old_string": "x", "new_string": "y"}
    assert not calls.registry.prepare(tool, change).described.idempotent
    assert calls.registry.prepare(tool, {"operation": "write", "name": "a", "content": "x"}).described.idempotent
    assert calls.registry.prepare(tool, {"operation": "read", "name": "a"}).described.effect == "read"
    assert calls.registry.prepare(tool, {"operation": "delete", "name": "a"}).described.effect == "write"


async def test_a_damaged_report_is_an_error_for_the_model_until_it_is_rewritten(
    calls: Calls, repos: Repositories
) -> None:
    await write(calls)
    repos.reports.path(calls.context.workflow_id, "audit").write_text("# AudiT")
    for arguments in ({"operation": "read"}, {"operation": "write_diff", "old_string": "AudiT", "new_string": "x"}):
        refused = await calls(REPORT, name="audit", **arguments)
        assert refused["success"] is False
        assert "was changed by another program or is damaged" in json.dumps(refused)
    assert (await write(calls, overwrite=True))["success"] is True
    assert (await calls(REPORT, operation="read", name="audit"))["success"] is True
