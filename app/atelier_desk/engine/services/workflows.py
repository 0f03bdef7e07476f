"""Workflows for screens and scripts: creating, finding, naming, deleting, reading and moving."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Budget, Choices
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, StorageError, UsageError
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Run, RunStatus, Workflow
from atelier_desk.domain.workflow_branches import RunLink, below, newest_under, shown_without
from atelier_desk.engine.costs.usage_totals import usage_of
from atelier_desk.engine.runs.effective_agent import chosen, responder
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.engine.services.common.service import Service
from atelier_desk.engine.services.common.workflow_names import free_name
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.regular_files import replace_file
from atelier_desk.support.threads import in_storage_thread
from atelier_desk.workspace.checkpoints.leftover_undo_data import delete_undo_data

if TYPE_CHECKING:
    from atelier_desk.domain.imported_chat import ChatPreview
    from atelier_desk.engine.services.workflow.exporting import WorkflowExport
    from atelier_desk.engine.services.workflow.transcript import Branch, TranscriptEntry, TranscriptReader
    from atelier_desk.engine.services.workflow.workflow_file import WorkflowFile
    from atelier_desk.storage.repositories import SearchHit

log = logging.getLogger(__name__)

DRAFT = limits.MESSAGE


ImportStep = Literal["checking", "storing"]
"""Steps of an import: it can be cancelled without effect until ``storing``, and then completes."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: ``action`` created, overwritten, renamed or skipped.

    ``workspace``: folders granted in the source; a person has to grant them again.
    """

    workflow: Workflow
    action: Literal["created", "overwritten", "renamed", "skipped"]
    workspace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedWorkflow:
    """Initial data of a workflow's screen: newest messages, and the newest run if unfinished or failed."""

    workflow: Workflow
    entries: tuple[TranscriptEntry, ...]
    run: Run | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The list of workflows, in the order of ``list``.

    Attributes:
        recent: those in no folder.
        filed: those in folders, by ``Workflow.collection``.
        archived: archived ones, if requested; ``archived_count`` is their number.
    """

    recent: tuple[Workflow, ...] = ()
    filed: tuple[Workflow, ...] = ()
    archived: tuple[Workflow, ...] = ()
    archived_count: int = 0


class WorkflowService(Service):
    """Workflows. Every change is announced on the bus as ``workflow`` with the workflow's id."""

    @cached_property
    def _transcripts(self) -> TranscriptReader:
        from atelier_desk.engine.services.workflow.transcript import TranscriptReader

        return TranscriptReader(self._context)

    @cached_property
    def exporting(self) -> WorkflowExport:
        """Exports and copies of workflows."""
        from atelier_desk.engine.services.workflow.exporting import WorkflowExport

        return WorkflowExport(self._context)

    async def create(
        self,
        name: str = "",
        agent_id: str = "",
        workspace: tuple[str, ...] = (),
        *,
        choices: Choices | None = None,
        id: str = "",
    ) -> Workflow:
        """Create a workflow; without a name it gets one from its first message. ``id`` replaces the generated one."""
        by_person = bool(name.strip())
        given = input_checks.text(name, _("name"), limits.WORKFLOW_NAME) if by_person else _("New workflow")
        if agent_id:
            await self._context.repos.agents.get(agent_id)
        now = self._context.clock.now()
        fields: dict[str, object] = {"id": id} if id else {}
        if choices is not None:
            fields["choices"] = choices
        workflow = input_checks.build(
            Workflow,
            _("workflow"),
            name=given,
            named_by="person" if by_person else "",
            agent_id=agent_id,
            workspace=workspace,
            created_at=now,
            updated_at=now,
            **fields,
        )
        await self._context.repos.workflows.create(workflow)
        self._changed(workflow.id)
        return workflow

    async def get(self, workflow_id: str) -> Workflow:
        """Return a workflow; ``NotFoundError`` if there is none."""
        return await self._context.repos.workflows.get(workflow_id)

    async def list(
        self,
        search: str = "",
        limit: int | None = limits.LIST_DEFAULT,
        offset: int = 0,
        *,
        deleted: bool = False,
        archived: bool | None = None,
        filed: bool | None = None,
        collection: str | None = None,
    ) -> list[Workflow]:
        """Return workflows, pinned ones first, then latest changed.

        All with None for ``limit``. See ``WorkflowRepository.list``.
        """
        input_checks.page(limit, offset, most=None)
        return await self._context.repos.workflows.list(
            limit=limit,
            offset=offset,
            search=search.strip(),
            deleted=deleted,
            archived=archived,
            filed=filed,
            collection=collection,
        )

    async def listing(self, limit: int = limits.LIST_DEFAULT, *, archive: bool = False) -> Listing:
        """Return the workflow list: the first ``limit`` workflows in no folder, and all in folders.

        ``archive``: also archived ones, otherwise only their number.
        """
        input_checks.page(limit, most=None)
        workflows = self._context.repos.workflows
        count = await workflows.archived()
        return Listing(
            recent=tuple(await workflows.list(limit=limit, archived=False, filed=False)),
            filed=tuple(await workflows.list(archived=False, filed=True)),
            archived=tuple(await workflows.list(archived=True)) if archive and count else (),
            archived_count=count,
        )

    async def latest(self) -> Workflow:
        """Return the workflow with the latest activity.

        Raises:
            NotFoundError: there is none.
        """
        found = await self._context.repos.workflows.latest()
        if found is None:
            raise NotFoundError(N_("There is no workflow yet."))
        return found

    async def rename(self, workflow_id: str, name: str) -> Workflow:
        """Set a name chosen by a person, which no model replaces."""
        return await self._update(
            workflow_id, name=input_checks.text(name, _("name"), limits.WORKFLOW_NAME), named_by="person"
        )

    async def set_archived(self, workflow_id: str, archived: bool) -> Workflow:
        """Archive or unarchive a workflow."""
        return await self._update(workflow_id, archived=archived)

    async def move(self, workflow_id: str, collection: str) -> Workflow:
        """Move to a folder of the list, created if necessary; an empty name removes it from its folder."""
        name = input_checks.text(collection, _("folder"), limits.COLLECTION) if collection.strip() else ""
        return await self._update(workflow_id, collection=name)

    async def set_unread(self, workflow_id: str, unread: bool) -> None:
        """Mark as ended unseen, or as seen."""
        if (await self.get(workflow_id)).unread is not unread:
            await self._update(workflow_id, unread=unread)

    async def set_pinned(self, workflow_id: str, pinned: bool) -> Workflow:
        return await self._update(workflow_id, pinned=pinned)

    async def choose(self, workflow_id: str, choices: Choices, *, agent_id: str = "") -> Workflow:
        """Set who answers from the next message on: agent, model, limits. A stricter profile applies at once.

        Args:
            agent_id: empty leaves the agent unchanged.

        Raises:
            NotFoundError: no such workflow, agent or provider.
            LimitError: the instructions are too long together with the agent's own.
        """
        workflow = await self.get(workflow_id)
        agent = await self._context.repos.agents.get(agent_id) if agent_id else None
        if choices.provider:
            await self._context.providers.get(choices.provider)
        if choices.instructions and (agent is not None or workflow.agent_id):
            chosen(choices, (agent or await self._context.repos.agents.get(workflow.agent_id)).config)
        fields = {"choices": choices, **({"agent_id": agent_id} if agent_id else {})}
        runs = self._context.runs
        # Looked up before storing, so that nothing is awaited between the change and the runs it narrows; without
        # instructions, which may have become too long meanwhile and can be corrected here.
        asked = [
            each.model_copy(update={"choices": Choices(approval=each.choices.approval)})
            for each in (workflow, workflow.model_copy(update=fields))
        ]
        modes = [(await responder(runs.env, each)).agent.approval for each in asked]
        changed = await self._update(workflow_id, **fields)
        if modes[0] is not modes[1]:
            await runs.rights_withdrawal.apply(workflow_id, mode=modes[1])
        return changed

    async def set_workspace(self, workflow_id: str, workspace: tuple[str, ...]) -> Workflow:
        """Set the granted folders (absolute paths).

        Removed ones are inaccessible at once, new ones accessible from the next message.
        """
        relative = [folder for folder in workspace if not Path(folder).is_absolute()]
        if relative:
            raise UsageError(N_("A workspace folder must be an absolute path, not {path}."), path=relative[0])
        changed = await self._update(workflow_id, workspace=workspace)
        await self._context.runs.rights_withdrawal.apply(workflow_id)
        return changed

    async def set_draft(self, workflow_id: str, draft: str, attachments: Sequence[Attachment] | None = None) -> None:
        """Store the draft and its attachments (None: unchanged). Not announced: only its composer shows it."""
        if len(draft) > DRAFT:
            raise LimitError(
                N_("A draft can have at most {most} characters; this one has {length}."), most=DRAFT, length=len(draft)
            )
        fields: dict[str, object] = {"draft": draft}
        if attachments is not None:
            # Their texts are stored with their bytes; the part for the model is decided when they are sent.
            fields["draft_attachments"] = tuple(each.model_copy(update={"text": ""}) for each in attachments)
        await self._context.repos.workflows.update(workflow_id, **fields)

    async def duplicate(self, workflow_id: str) -> Workflow:
        """Return a complete copy under a numbered name, with new ids."""
        from atelier_desk.engine.services.workflow import exporting, importing

        file = await self.exporting.collect(workflow_id)
        copy = await in_storage_thread(importing.with_new_ids, file)
        artefacts, parts = self._context.repos.artefacts, exporting.artefacts_of(file.events)
        try:
            for part in parts:
                await artefacts.copy(workflow_id, copy.workflow.id, part)
        except StorageError:
            # otherwise they would belong to no workflow
            await artefacts.remove(copy.workflow.id, [part.sha256 for part in parts])
            raise
        return await self._write(copy, name=await self._free_name(copy.workflow.name))

    async def delete(self, workflow_id: str) -> Workflow:
        """Stop its run and move it to the bin; ``undo_delete`` restores it until it is purged."""
        await self._stop(workflow_id)
        await self._context.repos.workflows.soft_delete(workflow_id)
        self._changed(workflow_id)
        return await self.get(workflow_id)

    async def undo_delete(self, workflow_id: str) -> Workflow:
        await self._context.repos.workflows.restore(workflow_id)
        self._changed(workflow_id)
        return await self.get(workflow_id)

    async def purge(self, workflow_id: str) -> dict[str, int]:
        """Permanently delete all its rows in one transaction, then its report files and undo data; return the rows by
        table.

        Its usage stays in the totals, without a name.
        """
        removed = await self._purge(workflow_id)
        try:
            await in_storage_thread(delete_undo_data, self._context.workspace_files, workflow_id)
        except (OSError, UsageError):
            log.warning("the undo data of a workflow was not deleted: cleaning does it", exc_info=True)
        return removed

    async def _purge(self, workflow_id: str) -> dict[str, int]:
        await self._stop(workflow_id)
        repos = self._context.repos
        removed = await repos.workflows.purge(
            workflow_id,
            await usage_of(repos, [run.id for run in await repos.runs.list(workflow_id)], self._context.clock.now()),
        )
        self._drop_caches(workflow_id)
        self._context.gate.forget(workflow_id)
        self._changed(workflow_id)
        return removed

    async def purge_expired(self, most: int = limits.LIST_MAX) -> int:
        """Purge workflows (at most ``most``), and branches, deleted more than ``DELETED_DAYS`` ago.

        Return the number of workflows.
        """
        oldest = self._context.clock.now() - timedelta(days=limits.DELETED_DAYS)
        expired = (await self._context.repos.workflows.deleted_before(oldest))[:most]
        for expired_id in expired:
            # its undo data stays for a while: after a restore another database may know it
            await self._purge(expired_id)
        for workflow_id in {run.workflow_id for run in await self._context.repos.runs.deleted_before(oldest)}:
            await self._context.journal.purge_branches(workflow_id, oldest)
            self._transcripts.invalidate(workflow_id)
            self._changed(workflow_id)
        return len(expired)

    async def transcript(
        self, workflow_id: str, before: int | None = None, limit: int = 100
    ) -> builtins.list[TranscriptEntry]:
        """Return the messages before stream number ``before`` (None: newest) of the displayed branch, oldest first."""
        return await self._transcripts.read(await self.get(workflow_id), before=before, limit=limit)

    async def opened(self, workflow_id: str, limit: int = 100) -> OpenedWorkflow:
        """Return the workflow with the newest ``limit`` messages of the displayed branch."""
        workflow = await self.get(workflow_id)
        entries = await self._transcripts.read(workflow, limit=limit)
        run = await self._context.repos.runs.get(workflow.head_run_id) if workflow.head_run_id else None
        if run is not None and run.status.final and run.status is not RunStatus.ERROR:
            run = None
        return OpenedWorkflow(workflow, tuple(entries), run)

    async def active(self, workflow_id: str) -> str | None:
        """Return the id of its unfinished root run."""
        return self._context.runs.live.alive.get(workflow_id)

    async def stop(self, workflow_id: str) -> None:
        """End its running turn, if any."""
        if (run_id := self._context.runs.live.alive.get(workflow_id)) is not None:
            await self._context.runs.cancel(run_id)

    async def branches(self, workflow_id: str) -> dict[str, Branch]:
        """Return, by run id, the versions of each displayed turn that has several."""
        return (await self._transcripts.lineage(await self.get(workflow_id))).branches

    async def select_branch(self, workflow_id: str, run_id: str) -> Workflow:
        """Display version ``run_id`` of its turn, and what followed it. Refused while a run is working."""
        if self._context.runs.live.alive.get(workflow_id) is not None:
            raise UsageError(N_("Stop the run before you switch to another branch."), code="busy")
        runs = await self._context.repos.runs.links(workflow_id)
        if all(run.id != run_id for run in runs):
            raise NotFoundError(N_("The workflow has no turn {run_id}."), run_id=run_id)
        await self._context.journal.show_branch(workflow_id, newest_under(runs, run_id))
        self._transcripts.invalidate(workflow_id)
        return await self.get(workflow_id)

    async def delete_branch(self, workflow_id: str, run_id: str) -> Workflow:
        """Delete version ``run_id`` of a turn and everything after it; ``undo_delete_branch`` restores it until it is
        purged.

        A run working on it is stopped. Another version of the turn, or the preceding turn, is displayed.

        Raises:
            NotFoundError: the workflow has no such turn.
        """
        async with self._context.runs.live.beginning(workflow_id):  # a turn beginning now would follow a deleted one
            await self._stop(workflow_id)
            workflow = await self.get(workflow_id)
            runs = await self._context.repos.runs.links(workflow_id)
            if all(run.id != run_id or run.parent_run_id is not None for run in runs):
                raise NotFoundError(N_("The workflow has no turn {run_id}."), run_id=run_id)
            now = self._context.journal.clock.now()
            head = shown_without(runs, workflow.head_run_id, run_id)
            return await self._show(workflow_id, head, dict.fromkeys(below(runs, run_id), now))

    async def undo_delete_branch(self, workflow_id: str, run_id: str) -> Workflow:
        """Restore a deleted branch and display it; an existing one is displayed.

        Raises:
            NotFoundError: it was purged, or the workflow never had it.
            UsageError: the preceding turn was deleted since; restore that first.
        """
        if self._context.runs.live.alive.get(workflow_id) is not None:
            raise UsageError(N_("Stop the run before you switch to another branch."), code="busy")
        runs = {run.id: run for run in await self._context.repos.runs.list(workflow_id)}
        wanted = runs.get(run_id)
        if wanted is None:
            raise NotFoundError(N_("The workflow has no turn {run_id}."), run_id=run_id)
        before = runs.get(wanted.previous_run_id or "")
        if before is not None and before.deleted_at is not None and before.deleted_at != wanted.deleted_at:
            raise UsageError(N_("The turn before this one was deleted too. Restore that one first."))
        together = [
            each.id for each in runs.values() if wanted.deleted_at is not None and each.deleted_at == wanted.deleted_at
        ]
        back = {*(link.id for link in await self._context.repos.runs.links(workflow_id)), *together}
        links = [
            RunLink(each.id, each.previous_run_id, each.parent_run_id) for each in runs.values() if each.id in back
        ]
        return await self._show(workflow_id, newest_under(links, run_id), dict.fromkeys(together))

    async def _show(self, workflow_id: str, head: str | None, deleted_runs: dict[str, datetime | None]) -> Workflow:
        await self._context.journal.show_branch(workflow_id, head, deleted_runs)
        self._transcripts.invalidate(workflow_id)
        self._changed(workflow_id)
        return await self.get(workflow_id)

    async def search(self, text: str, limit: int = 50) -> builtins.list[SearchHit]:
        """Search messages, tool input and output, reports and memories."""
        input_checks.page(limit)
        wanted = text.strip()
        return await self._context.repos.history.search(wanted, limit) if wanted else []

    async def export(self, workflow_id: str, format: str = "json", *, details: bool = True) -> str:
        """Return the workflow as importable JSON with tool files, or as Markdown (the displayed branch).

        Without ``details`` the Markdown has one line of words for each tool call, for documents and on paper.
        """
        from atelier_desk.engine.services.workflow.workflow_file import to_markdown

        if format == "json":
            return (await self.exporting.text(workflow_id))[0]
        if format != "md":
            raise UsageError(N_("Unknown format {format}; allowed: json, md."), format=format)
        workflow = await self.get(workflow_id)
        entries = await self._full_transcript(workflow)
        return to_markdown(workflow, entries, await self._tasks(workflow_id), details=details)

    async def left_out_files(self, workflow_id: str) -> builtins.list[str]:
        """Return the names of tool files that a JSON export omits: missing, damaged, or over the import limit."""
        return (await self.exporting.text(workflow_id))[1]

    async def save_artefact(self, workflow_id: str, artefact: ArtefactPart, path: Path) -> None:
        """Write a stored tool file to a person's path.

        Raises:
            StorageError: ``damaged_file``: it is damaged.
            UsageError: it cannot be written there.
        """
        data = await self._context.repos.artefacts.read(workflow_id, artefact)
        try:
            await in_storage_thread(replace_file, path, data)
        except OSError as error:
            raise UsageError(
                N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or error
            ) from None

    async def import_(
        self,
        text: str | bytes,
        on_conflict: OnConflict | str = OnConflict.RENAME,
        progress: Callable[[ImportStep], None] = lambda step: None,
    ) -> Imported:
        """Import an exported workflow, at most 10 MB; ``on_conflict`` applies if its id exists.

        All or nothing. A new workflow whose rows have ids of another one is imported as a copy.

        Raises:
            ConflictError: ``existing_names``: it would be overwritten, and another workflow has rows with ids of the
                file.
        """
        from atelier_desk.engine.services.workflow.importing import checked, with_new_ids

        rule = OnConflict.parse(on_conflict)
        input_checks.importable(text, _("workflow file"))
        progress("checking")
        file, workspace = await in_storage_thread(checked, text, await self._context.settings.get())
        file = await self._within_caps(file)
        existing = await self._existing(file.workflow.id)
        if existing is None:
            progress("storing")
            try:
                return Imported(await self._write(file), "created", workspace)
            except ConflictError as error:
                if error.code != "taken":
                    raise
        elif rule is OnConflict.SKIP:
            return Imported(existing, "skipped")
        elif rule is OnConflict.OVERWRITE:
            progress("storing")
            await self._stop(existing.id)
            replaced = await self._write(file, replace=True)
            self._context.gate.forget(existing.id)
            return Imported(replaced, "overwritten", workspace)
        copy = await in_storage_thread(with_new_ids, file)
        progress("storing")
        return Imported(await self._write(copy, name=await self._free_name(file.workflow.name)), "renamed", workspace)

    async def preview(self, text: str | bytes) -> ChatPreview:
        """Describe an exported workflow without importing it.

        Raises:
            UsageError, LimitError: as ``import_``.
        """
        from atelier_desk.engine.services.workflow.importing import described

        input_checks.importable(text, _("workflow file"))
        found = await in_storage_thread(described, text)
        existing = await self._existing(found.key)
        if existing is None:
            return found
        return replace(found, there=existing.id, deleted=existing.deleted_at is not None, new_turns=0)

    async def _within_caps(self, file: WorkflowFile) -> WorkflowFile:
        """The file without caps above those of its agent: a person raises a cap, no file does."""
        try:
            agent = await self._context.repos.agents.get(file.workflow.agent_id)
        except NotFoundError:
            return file
        own, told = agent.config.budget.model_dump(exclude_none=True), file.workflow.choices.budget.model_dump()
        kept = {name: cap for name, cap in told.items() if cap is not None and cap <= own.get(name, cap)}
        choices = file.workflow.choices.model_copy(update={"budget": Budget(**kept)})
        return file.model_copy(update={"workflow": file.workflow.model_copy(update={"choices": choices})})

    async def _existing(self, workflow_id: str) -> Workflow | None:
        try:
            return await self.get(workflow_id)
        except NotFoundError:
            return None

    async def _write(self, file: WorkflowFile, *, name: str | None = None, replace: bool = False) -> Workflow:
        from atelier_desk.engine.services.workflow.importing import WorkflowWriter

        if name is not None:
            file = file.model_copy(update={"workflow": file.workflow.model_copy(update={"name": name})})
        await WorkflowWriter(self._context).write(file, replace=replace)
        self._drop_caches(file.workflow.id)
        self._context.runs.live.add_unfinished(await self._context.repos.runs.list(file.workflow.id))
        self._changed(file.workflow.id)
        return await self.get(file.workflow.id)

    async def _free_name(self, name: str) -> str:
        return await free_name(name, self._context.repos.workflows.existing_names)

    async def _tasks(self, workflow_id: str) -> builtins.list[Task]:
        return await self._context.repos.tasks.list(workflow_id, limit=limits.LIST_MAX)

    async def _full_transcript(self, workflow: Workflow) -> builtins.list[TranscriptEntry]:
        entries: builtins.list[TranscriptEntry] = []
        before: int | None = None
        while batch := await self._transcripts.read(workflow, before=before, limit=limits.LIST_MAX):
            entries = [*batch, *entries]
            before = batch[0].message.seq
        return entries

    async def _stop(self, workflow_id: str) -> None:
        run_id = self._context.runs.live.alive.get(workflow_id)
        if run_id is not None:
            await self._context.runs.cancel(run_id)
            await self._context.runs.wait(run_id)

    async def _update(self, workflow_id: str, **fields: object) -> Workflow:
        workflow = await self._context.repos.workflows.update(workflow_id, **fields)
        self._changed(workflow_id)
        return workflow

    def _drop_caches(self, workflow_id: str) -> None:
        self._transcripts.invalidate(workflow_id)
        self._context.runs.live.forget(workflow_id)

    def _changed(self, workflow_id: str) -> None:
        self._context.bus.changed("workflow", workflow_id)
