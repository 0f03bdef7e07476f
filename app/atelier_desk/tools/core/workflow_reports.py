"""ReportTool: Markdown reports of a workflow."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, NotFoundError, ToolError
from atelier_desk.domain.result_parts import ReportPart
from atelier_desk.domain.workflow import Report
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Effect, Input, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.calls.stable_record_ids import stable_id
from atelier_desk.tools.core.report_names import name_from_text, report_name
from atelier_desk.tools.definition.tool_description import About, DescribedTool
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.sections import CORE

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import ReportRepository

CARD_EXCERPT = 1_000
"""Characters of a written report kept for its card, which shows the first lines."""
READ_DEFAULT = 20_000
"""Characters per ``read``, so that a page with its JSON stays below the limit of results."""

Name = Annotated[
    str,
    Field(
        min_length=1, max_length=limits.REPORT_NAME + 3, description="Plain file name, no folders; .md may be left out."
    ),
]


class Write(Input):
    operation: Literal["write"]
    name: Name
    content: str = Field(max_length=limits.REPORT, description="The whole report, Markdown.")
    overwrite: bool = Field(default=False, description="Replace a report of this name.")


class WriteDiff(Input):
    operation: Literal["write_diff"]
    name: Name
    old_string: str = Field(
        min_length=1, max_length=limits.REPORT, description="Text that occurs exactly once in the report."
    )
    new_string: str = Field(max_length=limits.REPORT, description="Text to put in its place.")


class Read(Input):
    operation: Literal["read"]
    name: Name
    offset: int = Field(default=0, ge=0, description="Character to begin at.")
    limit: int = Field(default=READ_DEFAULT, ge=1, le=READ_DEFAULT, description="Most characters to read.")


class Glob(Input):
    operation: Literal["glob"]
    pattern: str = Field(
        min_length=1, max_length=limits.REPORT_NAME, description="For example *.md or audit-*; * and ? are wildcards."
    )


class Delete(Input):
    operation: Literal["delete"]
    name: Name


ReportInput = Annotated[Write | WriteDiff | Read | Glob | Delete, Field(discriminator="operation")]


@builtin(order=150)
class ReportTool(DescribedTool):
    """Write, change, read, find and delete the workflow's reports."""

    name = "ReportTool"
    title = N_("Reports")
    purpose = N_("Writes longer results as Markdown reports")
    icon = "file-text"
    summaries = {
        "write": N_("Write the report “{name}”"),
        "write_diff": N_("Change the report “{name}”"),
        "read": N_("Read the report “{name}”"),
        "glob": N_("Find {pattern}"),
        "delete": N_("Delete the report “{name}”"),
    }
    done = {
        "write": N_("Wrote the report “{name}”"),
        "write_diff": N_("Changed the report “{name}”"),
        "read": N_("Opened the report “{name}”"),
        "glob": N_("Looked for {pattern}"),
        "delete": N_("Deleted the report “{name}”"),
    }
    category = ToolCategory.COMMON
    section = CORE
    effect = Effect.WRITE
    reading = frozenset({"read", "glob"})
    idempotent = True
    changes = "report"
    input = ReportInput
    rest_hint = "Use read with offset to read on, or a narrower glob pattern."
    about = About(
        what=(
            "Keeps Markdown reports of this workflow; the user reads them in the reports pane, other agents "
            "through this tool."
        ),
        when="a result is worth keeping or handing on: an analysis, a plan, a summary of more than a few paragraphs.",
        when_not="a short answer is enough, or for single facts (MemoryTool).",
        operations={
            "write": "make a report; fails when the name exists, unless overwrite is true",
            "write_diff": "replace one passage of a report",
            "read": "read a report; next_offset says where to go on",
            "glob": "find reports by name",
            "delete": "delete a report",
        },
        example={"operation": "write", "name": "audit", "content": "# Audit\n\nFindings …"},
        limits=(
            f"content {limits.REPORT} characters",
            f"name {limits.REPORT_NAME} characters",
            f"read {READ_DEFAULT} characters at once",
        ),
    )

    def describe(self, input: ReportInput) -> Call:
        return replace(super().describe(input), idempotent=not isinstance(input, WriteDiff))

    def _reports(self, context: ToolContext) -> ReportRepository:
        reports = self.services.reports
        if reports is None or not context.workflow_id:
            raise ToolError("Reports belong to a workflow, and this call runs in none.", code="no_workflow")
        return reports

    async def run(self, input: ReportInput, context: ToolContext) -> ToolResult:
        match input:
            case Write():
                return await self._write(input, context)
            case WriteDiff():
                return await self._write_diff(input, context)
            case Read():
                return await self._read(input, context)
            case Glob():
                return await self._glob(input, context)
            case _:
                return await self._delete(input, context)

    async def _write(self, input: Write, context: ToolContext) -> ToolResult:
        name = report_name(input.name)
        reports = self._reports(context)
        existing = await find_report(reports, context, name)
        mine = stable_id(context.idempotency_key, "report")
        if existing is not None and not input.overwrite and existing.id != mine:
            raise ConflictError(
                "A report named {name} exists. Use overwrite: true, write_diff, or another name.", name=name
            )
        report = await store_report(reports, context, name, input.content, existing)
        done = "overwritten" if existing is not None and existing.id != mine else "written"
        return _written(report.name, input.content, f"Report {name!r} {done}")

    async def _write_diff(self, input: WriteDiff, context: ToolContext) -> ToolResult:
        reports = self._reports(context)
        existing = await _existing(reports, context, input.name)
        text = await reports.read(context.workflow_id, existing.name)
        count = text.count(input.old_string)
        if count != 1:
            reason = "does not occur" if count == 0 else f"occurs {count} times; add text around it until it is unique"
            raise ToolError(
                "old_string {reason} in report {name}. Read the report and copy the passage exactly.",
                reason=reason,
                name=existing.name,
            )
        changed = text.replace(input.old_string, input.new_string)
        if len(changed) > limits.REPORT:
            raise ToolError(
                "The report would have {length} characters; the limit is {limit}.",
                length=len(changed),
                limit=limits.REPORT,
            )
        await store_report(reports, context, existing.name, changed, existing)
        return _written(existing.name, changed, f"Report {existing.name!r} changed")

    async def _read(self, input: Read, context: ToolContext) -> ToolResult:
        reports = self._reports(context)
        existing = await _existing(reports, context, input.name)
        text = await reports.read(context.workflow_id, existing.name)
        if input.offset > len(text):
            raise ToolError(
                "offset {offset} is past the end: the report has {total} characters.",
                offset=input.offset,
                total=len(text),
            )
        page = text[input.offset : input.offset + input.limit]
        following = input.offset + len(page)
        more = {"next_offset": following} if following < len(text) else {}
        return ToolResult.ok(name=existing.name, content=page, total_chars=len(text), **more)

    async def _glob(self, input: Glob, context: ToolContext) -> ToolResult:
        pattern = input.pattern.removesuffix(".md") if input.pattern != ".md" else "*"
        found = [
            {
                "name": report.name,
                "size": report.size,
                "author": report.author,
                "updated_at": report.updated_at.isoformat(),
            }
            for report in await self._reports(context).list(context.workflow_id)
            if fnmatch.fnmatchcase(report.name.casefold(), pattern.casefold())
        ]
        return ToolResult.ok(count=len(found), reports=found)

    async def _delete(self, input: Delete, context: ToolContext) -> ToolResult:
        reports = self._reports(context)
        existing = await _existing(reports, context, input.name)
        await reports.delete(context.workflow_id, existing.name)
        return ToolResult.ok(name=existing.name, message=f"Report {existing.name!r} deleted")


def _written(name: str, text: str, message: str) -> ToolResult:
    result = ToolResult.ok(name=name, size=len(text), message=message)
    return replace(result, parts=(ReportPart(name=name, text=text[:CARD_EXCERPT]),))


async def find_report(reports: ReportRepository, context: ToolContext, name: str) -> Report | None:
    """Return the workflow's report with this name, or None."""
    try:
        return await reports.get(context.workflow_id, name)
    except NotFoundError:
        return None


async def store_report(
    reports: ReportRepository, context: ToolContext, name: str, text: str, existing: Report | None
) -> Report:
    """Save a report; an existing one keeps its id and creation time. Its author is the last agent that wrote it."""
    now = context.now()
    report = Report(
        id=existing.id if existing is not None else stable_id(context.idempotency_key, "report"),
        workflow_id=context.workflow_id,
        run_id=context.run_id,
        name=name,
        size=len(text.encode()),
        author=context.agent_name or context.agent_id,
        created_at=existing.created_at if existing is not None else now,
        updated_at=now,
    )
    await reports.save(report, text)
    return report


async def store_output(reports: ReportRepository, context: ToolContext, text: str) -> Report:
    """Save a text under a free name made from its heading; repeating the same call finds its own report."""
    mine = stable_id(context.idempotency_key, "report")
    base = name_from_text(text, f"report-{mine[:8]}")
    name, number = base, 1
    while (existing := await find_report(reports, context, name)) is not None and existing.id != mine:
        number += 1
        name = f"{base}-{number}"
    return await store_report(reports, context, name, text, existing)


async def _existing(reports: ReportRepository, context: ToolContext, name: str) -> Report:
    plain = report_name(name)
    report = await find_report(reports, context, plain)
    if report is None:
        raise NotFoundError("There is no report named {name}. Use glob with pattern * to see the reports.", name=plain)
    return report
