"""Read a whole workflow for a file or copy, including tool files and attachments within the import limits."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.memory import MemoryScope
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.domain.workflow import Message, Report, Workflow
from atelier_desk.engine.journal.id_remap import files_of
from atelier_desk.engine.journal.replay_and_fork import readable_events
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.engine.services.common.service import Service
from atelier_desk.engine.services.workflow.workflow_file import ArtefactFile, ReportFile, WorkflowFile, to_json
from atelier_desk.storage.damage_report import Damage, readable_until
from atelier_desk.storage.damaged_row_search import damaged_in
from atelier_desk.storage.data_folder.artefacts import Artefacts
from atelier_desk.support.i18n import N_

READ_ATTEMPTS = 10
"""Maximum attempts of an export that is disturbed by writes."""
_AROUND = 160
"""Maximum bytes of the JSON around one file's base64."""


def artefacts_of(events: Iterable[RunEvent]) -> list[ArtefactPart]:
    """Return the files that a journal names, distinct, smallest first."""
    parts = [part for event in events for part in files_of(event.body)]
    found = {part.sha256: part for part in parts}
    return sorted(found.values(), key=lambda part: part.size)


class WorkflowExport(Service):
    """Reads whole workflows."""

    async def text(self, workflow_id: str) -> tuple[str, list[str]]:
        """Return its JSON with the files its journal names, and the names of omitted files.

        Omitted are missing, damaged and too large ones. Raises as ``collect``.
        """
        file = await self.collect(workflow_id)
        text = to_json(file)
        room = limits.IMPORT_FILE - len(text.encode("utf-8", "surrogatepass"))
        files: list[ArtefactFile] = []
        left_out: list[str] = []
        for part in artefacts_of(file.events):
            needed = (part.size + 2) // 3 * 4 + _AROUND
            data = await _read(self._context.repos.artefacts, workflow_id, part) if needed <= room else None
            if data is None:
                left_out.append(part.name)
            else:
                room -= needed
                files.append(ArtefactFile.model_construct(sha256=part.sha256, data=data))
        return (to_json(file.model_copy(update={"artefacts": tuple(files)})) if files else text), left_out

    async def collect(self, workflow_id: str) -> WorkflowFile:
        """Return everything of a workflow at one moment: writes during the read would make it inconsistent.

        Raises:
            NotFoundError: no such workflow.
            ConflictError: its agents wrote during every attempt.
        """
        for _attempt in range(READ_ATTEMPTS):
            before = await self._context.repos.workflows.get(workflow_id)
            file = await self._read(before)
            after = await self._context.repos.workflows.get(workflow_id)
            if (after.stream_seq, after.updated_at) == (before.stream_seq, before.updated_at):
                return file
        raise ConflictError(
            N_("This workflow keeps changing, because its agents are still writing to it. Pause them and try again.")
        )

    async def _read(self, workflow: Workflow) -> WorkflowFile:
        repos, workflow_id = self._context.repos, workflow.id
        damage = await damaged_in(repos.store, workflow_id)
        left_out = {(each.table, each.row) for each in damage}
        runs = await repos.runs.list(workflow_id)
        gone = {run.id for run in runs if run.deleted_at is not None}
        events = [event async for event in readable_events(repos, workflow_id, damage) if event.run_id not in gone]
        # Of a damaged run, only the part before its first damaged event.
        cut = {run_id: seq - 1 for run_id, seq in readable_until(damage).items()}
        runs = [
            run.model_copy(update={"last_seq": cut.get(run.id, run.last_seq)}) for run in runs if run.id not in gone
        ]
        messages: list[Message] = []
        before: int | None = None
        while batch := await repos.messages.page(workflow_id, before=before, limit=limits.LIST_MAX, queued=True):
            messages = [*batch, *messages]
            before = batch[0].seq
        memories = await all_rows(
            lambda offset, limit: repos.memories.list(
                workflow_id=workflow_id, scope=MemoryScope.WORKFLOW, limit=limit, offset=offset
            )
        )
        executions = await repos.executions.for_runs([run.id for run in runs])
        reports: list[ReportFile] = []
        for report in await repos.reports.list(workflow_id):
            text, _whole = await self._report_text(report)
            if text is not None:
                reports.append(ReportFile(report=report, text=text))
        return WorkflowFile(
            format="atelier-workflow",
            version=1,
            exported_at=self._context.clock.now(),
            # A file is passed on: what was typed and attached, but not sent, stays here.
            workflow=workflow.model_copy(update={"draft": "", "draft_attachments": ()}),
            runs=tuple(runs),
            events=tuple(events),
            messages=tuple(
                each for each in messages if each.run_id not in gone and ("message", each.id) not in left_out
            ),
            executions=tuple(call for call in executions if ("tool_execution", call.id) not in left_out),
            tasks=tuple(await repos.tasks.list(workflow_id, limit=limits.LIST_MAX)),
            questions=tuple(asked for asked in await repos.questions.list(workflow_id) if asked.run_id not in gone),
            approvals=tuple(asked for asked in await repos.approvals.list(workflow_id) if asked.run_id not in gone),
            frames=tuple(await repos.frames.list(workflow_id)),
            memories=tuple(memories),
            reports=tuple(reports),
        )

    async def damaged_rows(self, workflow_id: str) -> list[Damage]:
        """Return its missing or damaged rows: an export omits them, and everything after them in their run."""
        return await damaged_in(self._context.repos.store, workflow_id)

    async def changed_reports(self, workflow_id: str) -> list[str]:
        """Return the names of its reports that are damaged, missing or changed by another program."""
        reports = await self._context.repos.reports.list(workflow_id)
        return [report.name for report in reports if not (await self._report_text(report))[1]]

    async def _report_text(self, report: Report) -> tuple[str | None, bool]:
        """Return the text of its present file, None if unreadable; and whether it is as Atelier wrote it."""
        read = self._context.repos.reports.read
        try:
            return await read(report.workflow_id, report.name), True
        except StorageError:
            try:
                return await read(report.workflow_id, report.name, check=False), False
            except StorageError:
                return None, False


async def _read(artefacts: Artefacts, workflow_id: str, part: ArtefactPart) -> bytes | None:
    try:
        return await artefacts.read(workflow_id, part)
    except StorageError:
        return None
