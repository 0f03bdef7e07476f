"""File changes of agents in a workflow's folders: listing, showing, undoing."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.engine.services.common.checkpoint_cleaning import CheckpointCleaning
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread, in_tool_thread
from atelier_desk.workspace.checkpoints import held_file_decisions
from atelier_desk.workspace.checkpoints.cleaning import KeptRecord, stored_size
from atelier_desk.workspace.checkpoints.records import UnreadRecord
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMark
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from atelier_desk.workspace.diffs import file_change

CLEANED_EVERY_S = 12 * 3600.0


@dataclass(frozen=True, slots=True)
class UndoneChange:
    """Result of undoing one change; ``problem`` says why it was not, None if it was."""

    change: Change
    problem: AtelierError | None = None


class FileService:
    """File changes. They are announced as ``file`` with the workflow's id."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self.cleaning = CheckpointCleaning(context)
        self._gone: set[str] = set()
        """Granted folders that were missing at the last check."""

    @property
    def _files(self) -> WorkspaceFiles:
        return self._context.workspace_files

    async def list(self, workflow_id: str) -> list[Change]:
        """Return the file changes of a workflow, newest first, without those that only undid others."""
        changes, unread = await in_storage_thread(self._listed, workflow_id)
        if not self.cleaning.knows([each.path.relative_to(self._files.store.folder).as_posix() for each in unread]):
            self.cleaning.invalidate()
        return [change for change in reversed(changes) if not change.undoes]

    async def diff(self, workflow_id: str, change_id: str) -> FileChange:
        """Return a change as a result part. Non-text files and folders have no diff.

        Raises:
            NotFoundError: there is no such change.
        """
        return await in_storage_thread(self._diff, workflow_id, change_id)

    async def undo(self, workflow_id: str, ids: Sequence[str], *, force: bool = False) -> builtins.list[UndoneChange]:
        """Undo changes, newest first. Files that somebody else changed since are left, and reported.

        Args:
            force: overwrite such files too; their content is recorded as a change.

        Raises:
            NotFoundError: there is no such change.
        """
        done = await in_storage_thread(self._undo, workflow_id, tuple(ids), force)
        self._context.bus.changed("file", workflow_id)
        return done

    async def held(self, workflow_id: str) -> builtins.list[HeldFile]:
        """Return held files of a workflow, oldest first: protected names created by programs."""
        return await in_storage_thread(self._files.held.of, workflow_id)

    async def held_diff(self, workflow_id: str, id: str) -> FileChange:
        """Return what keeping a held file would change; without a diff for a link, folder or large file.

        Raises:
            NotFoundError: there is no such held file.
        """
        return await in_storage_thread(self._held_diff, workflow_id, id)

    async def accept_held(self, workflow_id: str, id: str) -> Change | None:
        """Put a held file in its place; return the undoable change, None for a link, folder or large file.

        Raises:
            NotFoundError: there is no such held file.
            ConflictError: its place is taken.
        """
        done = await in_storage_thread(held_file_decisions.accept, self._files, workflow_id, id)
        self._context.bus.changed("file", workflow_id)
        return done

    async def discard(self, workflow_id: str, id: str) -> HeldFile:
        """Permanently delete a held file. Raises ``NotFoundError``: there is no such held file."""
        done = await in_storage_thread(held_file_decisions.discard, self._files, workflow_id, id)
        self._context.bus.changed("file", workflow_id)
        return done

    async def marked(self, folders: Sequence[str] | None = None) -> builtins.list[TaintMark]:
        """Return files in these folders (None: all) written after reading outside content.

        An agent that reads one counts as having read that content, until a person reviews or changes it. A marked
        folder includes everything in it.
        """
        return await in_tool_thread(self._files.marks.list, folders)

    async def mark_read(self, paths: Sequence[str]) -> builtins.list[str]:
        """Mark these files, or all marked ones in these folders, as reviewed by a person.

        Returns the paths that are no longer marked.
        """
        gone = await in_tool_thread(self._files.marks.clear, paths)
        if gone:
            self._context.bus.changed("file", "")
        return gone

    async def within_marked(self, paths: Sequence[str]) -> builtins.list[str]:
        """Return those of the paths that count as written after reading outside content."""
        marks = self._files.marks
        return await in_tool_thread(lambda: [path for path in paths if marks.of(path)])

    async def undo_storage(self) -> KeptRecord:
        """Return the size of the undo data."""
        return await in_storage_thread(stored_size, self._files)

    async def clean_periodically(self) -> None:
        """Clean now and then twice a day, until cancelled."""
        await self.cleaning.run_periodically(CLEANED_EVERY_S)

    async def unreadable(self, workflow_id: str) -> int:
        """Return the number of unreadable change records of a workflow, which the list omits."""
        return len((await in_storage_thread(self._files.store.read, workflow_id))[1])

    async def lost(self, workflow_id: str = "") -> int:
        """Return the number of changes of a workflow, or all, that cannot be undone because their records are gone."""
        return sum((await self.cleaning.lost(workflow_id)).values())

    async def trust(self, folder: str, trusted: bool) -> None:
        """Store whether a person trusts a folder: whether its instructions (``AGENTS.md``) go into prompts.

        Raises:
            UsageError: the path is relative.
        """
        path = Path(folder)
        if not path.is_absolute():
            raise UsageError(N_("A workspace folder must be an absolute path, not {path}."), path=folder)
        real = str(await in_tool_thread(path.resolve))
        if (await self._context.settings.get()).folder_trust.get(real) != trusted:
            await self._context.settings.update(folder_trust=lambda decided: {**decided, real: trusted})
            self._context.bus.changed("file", "")

    async def trusted(self, folders: Sequence[str]) -> dict[str, bool | None]:
        """Return, by folder, the decision about it or its nearest parent; None if nobody was asked."""
        if not folders:
            return {}
        settings = await self._context.settings.get()
        return await in_tool_thread(lambda: {folder: settings.trusts(Path(folder).resolve()) for folder in folders})

    async def missing(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Return the missing folders: moved, deleted, or on a disconnected disk.

        Differences from the last check are announced as ``file`` without an id. Every turn checks when it begins.
        """
        if not folders:
            return ()
        gone = await in_tool_thread(lambda: tuple(folder for folder in folders if not os.path.isdir(folder)))  # noqa: PTH112
        before = self._gone.intersection(folders)
        if before != set(gone):
            self._gone = (self._gone - before) | set(gone)
            self._context.bus.changed("file", "")
        return gone

    async def instructions(
        self, folders: Sequence[str], rules: Sequence[PermissionRule] = ()
    ) -> tuple[tuple[str, ...], tuple[FolderInstructions, ...]]:
        """Return the trusted folders and their present instructions; unreadable folders have none.

        ``rules``: those of the run; files that they deny are omitted.
        """
        from atelier_desk.engine.services.common import folder_instructions

        await self.missing(folders)
        # Files just placed by a running program must wait for a person first.
        for workflow_id in await in_tool_thread(folder_instructions.settle_all, self._files):
            self._context.bus.changed("file", workflow_id)
        decided = await self.trusted(folders)
        trusted = tuple(folder for folder in folders if decided[folder])
        return trusted, await folder_instructions.present(self._files, trusted, folders, rules)

    async def unread(self, folders: Sequence[str]) -> builtins.list[str]:
        """Return the folders with instructions whose trust nobody was asked about."""
        decided = await self.trusted(folders)
        return [folder for folder in folders if decided[folder] is None and await self.instruction_files((folder,))]

    async def instruction_files(self, folders: Sequence[str]) -> builtins.list[str]:
        """Return the instruction files of folders, including skills, as relative paths.

        Absolute for several folders.
        """
        from atelier_desk.engine.services.common import folder_instructions

        found: builtins.list[str] = []
        for folder in folders:
            try:
                names = await in_tool_thread(folder_instructions.names, self._files.root(folder))
            except (AtelierError, OSError):
                continue
            found += [name if len(folders) == 1 else str(Path(folder) / name) for name in names]
        return found

    async def of_run(self, workflow_id: str, run_id: str) -> builtins.list[Change]:
        """Return the changes of a run that are not undone, newest first."""
        return [change for change in await self.list(workflow_id) if change.run_id == run_id and change.undoable]

    async def by_turn(self, workflow_id: str) -> dict[str, builtins.list[Change]]:
        """Return the changes by root run, including its sub-agents' and undone ones, newest first."""
        changes = await self.list(workflow_id)
        if not changes:
            return {}
        above = {link.id: link.parent_run_id for link in await self._context.repos.runs.links(workflow_id)}
        found: dict[str, builtins.list[Change]] = {}
        for change in changes:
            run_id = change.run_id
            while parent := above.get(run_id):
                run_id = parent
            if run_id:
                found.setdefault(run_id, []).append(change)
        return found

    async def since(self, workflow_id: str, message_id: str) -> builtins.list[Change]:
        """Return the changes since a message that are not undone, newest first.

        Raises:
            NotFoundError: there is no such message.
        """
        message = await self._context.repos.messages.get(message_id)
        if message.workflow_id != workflow_id:
            raise NotFoundError(N_("There is no message {id} in this workflow."), id=message_id)
        return [
            change for change in await self.list(workflow_id) if change.at >= message.created_at and change.undoable
        ]

    def _listed(self, workflow_id: str) -> tuple[builtins.list[Change], builtins.list[UnreadRecord]]:
        self._files.recover()
        return self._files.store.read(workflow_id)

    def _diff(self, workflow_id: str, change_id: str) -> FileChange:
        store = self._files.store
        change = store.get(workflow_id, change_id)
        shown = change.path + ("/" if change.folder else "")
        if change.action == "moved":
            return FileChange(
                action="moved", path=shown, moved_to=change.moved_to, before=change.before, after=change.after
            )
        if change.action == "deleted":
            path = store.trash(change.id) / "content"
            before = (
                path.read_bytes() if path.is_file() and not path.is_symlink() and path.stat().st_size < _SHOWN else None
            )
            return _part(change, shown, before, None)
        before = store.content(change.before) if change.before and store.has(change.before) else None
        after = store.content(change.after) if change.after and store.has(change.after) else None
        return _part(change, shown, before, after)

    def _held_diff(self, workflow_id: str, id: str) -> FileChange:
        held = self._files.held.get(workflow_id, id)
        try:
            there = self._files.root(held.root).read(held.on_disk, _SHOWN)
        except AtelierError:
            there = None
        after = self._files.held.read(held, _SHOWN)
        shown = held.path + ("/" if held.folder else "")
        if after is None:
            return FileChange(
                action="changed" if held.replaces else "created", path=shown, before=held.replaces, after=held.content
            )
        return file_change(shown, there, after)

    def _undo(self, workflow_id: str, ids: tuple[str, ...], force: bool) -> builtins.list[UndoneChange]:
        self._files.recover()
        known = {change.id: change for change in self._files.store.of(workflow_id)}
        for id in ids:
            if id not in known:
                raise NotFoundError(N_("Change {id} not found: it may be too old and no longer stored."), id=id)
        return [
            UndoneChange(each.change, each.problem)
            for each in undo(self._files, [known[id] for id in ids], force=force)
        ]


_SHOWN = 2 * 1024 * 1024
"""Maximum bytes of a deleted file whose text is shown."""


def _part(change: Change, shown: str, before: bytes | None, after: bytes | None) -> FileChange:
    part = file_change(shown, before, after)
    return part.model_copy(update={"action": change.action, "before": change.before, "after": change.after})
