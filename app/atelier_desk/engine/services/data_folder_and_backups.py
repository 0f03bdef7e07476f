"""The whole data folder: verified backups, and plain-text exports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import StorageError
from atelier_desk.engine.importing.imported_data_restrictions import end_runs, switch_off
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories.configuration import remove_damaged
from atelier_desk.support import background_tasks
from atelier_desk.support.threads import in_storage_thread

if TYPE_CHECKING:
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.storage.copies.backup_file import BackupInfo
    from atelier_desk.storage.copies.compact import Compacted
    from atelier_desk.storage.copies.jsonl_export_import import TransferInfo
    from atelier_desk.storage.copies.progress_and_cancellation import Progress
    from atelier_desk.storage.damage_report import Damage


POLL_S = 2.0
"""Seconds between checks that the data folder is in place."""


@dataclass(frozen=True, slots=True)
class Folders:
    """Locations: data, logs, the user's own tools."""

    root: Path
    logs: Path
    tools: Path


class DataService:
    """Backups and exports of the open data folder."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._watch: asyncio.Task[None] | None = None

    async def follow_folder(self) -> None:
        """Watch the data folder until the engine closes, see ``watch_folder``."""
        if self._watch is None:
            self._watch = background_tasks.start(
                self.watch_folder(), "watch of the data folder", self._context.bus.failed
            )

    async def aclose(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    async def folders(self) -> Folders:
        datadir = self._context.datadir
        return Folders(Path(datadir.root), Path(datadir.logs), Path(datadir.tools))

    async def remove_damaged(self) -> list[Damage]:
        """Delete the damaged rows of agents, providers, servers, rules and settings, so that they can be entered again.

        Return them.
        """
        removed = await remove_damaged(self._context.repos.store)
        topics: dict[str, Topic] = {"agent": "agent", "provider": "provider", "mcp_server": "mcp"}
        for each in removed:
            self._context.bus.changed(topics.get(each.table, "settings"), each.row)
        return removed

    async def watch_folder(self) -> None:
        """Check every other second whether the data folder is in place, until cancelled.

        Changes are announced as ``data`` with ``moved`` or empty; the first time, the person is told what to do.
        """
        moved = ""
        while True:
            await self._context.clock.sleep(POLL_S)
            now = ""
            try:
                self._context.repos.store.verify()
            except StorageError as error:
                now = error.code
                if not moved:
                    self._context.bus.failed("watch of the data folder", error)
            if now != moved:
                moved = now
                self._context.bus.changed("data", moved)

    async def attachments(self) -> tuple[int, int]:
        """Return the number of files stored by workflows (attachments and tool files), and their total bytes."""
        return await self._context.repos.artefacts.size()

    async def backup_create(self, target: Path, progress: Progress = lambda _done, _total: None) -> BackupInfo:
        """Write a backup to ``target``, open it and compare it with the database. Cancelling leaves no file.

        ``progress`` is called with how much of the work is done, and the whole.

        Raises:
            StorageError: it cannot be written, or is incomplete.
        """
        from atelier_desk.storage.copies import backup

        return await backup.create(self._context.repos.store, self._context.datadir, target, progress=progress)

    async def backup_verify(self, path: Path, progress: Progress = lambda _done, _total: None) -> BackupInfo:
        """Verify a backup's checksums, open it in a separate process and count its content."""
        return await verify_backup(path, Path(self._context.datadir.root), progress)

    async def backup_is_own(self, path: Path) -> bool:
        """Whether this data folder made a backup, judging by its manifest only; restoring checks everything."""
        from atelier_desk.storage.copies import backup_file, backup_signature

        root = Path(self._context.datadir.root)
        return await in_storage_thread(
            backup_signature.made_here, path, root, backup_file.MANIFEST, backup_file.MANIFEST_BYTES
        )

    async def export_jsonl(self, target: Path, progress: Callable[[int], None] | None = None) -> TransferInfo:
        """Export every table as JSON Lines to a new folder, with reports, own tools and attachments.

        ``progress`` is called with the number of rows written.

        Raises:
            ConflictError: the folder is not empty.
        """
        from atelier_desk.storage.copies import jsonl_export_import

        return await jsonl_export_import.export_jsonl(
            self._context.repos.store, target, datadir=self._context.datadir, progress=progress
        )

    async def import_jsonl(self, source: Path, progress: Callable[[int], None] | None = None) -> TransferInfo:
        """Import such an export into an empty data folder; afterwards every list is announced as changed.

        What it grants stays disabled until a person confirms it: see ``engine.importing.imported_data_restrictions``.

        Raises:
            ConflictError: there are already workflows or memories.
            StorageError: the export is incomplete, or of a newer version.
        """
        from atelier_desk.storage.copies import jsonl_export_import

        repos, datadir = self._context.repos, self._context.datadir
        result = await jsonl_export_import.import_jsonl(repos.store, source, datadir=datadir, progress=progress)
        # A plain-text folder does not reveal its author, so it is marked like a backup from elsewhere.
        await switch_off(repos, datadir.root)
        await end_runs(repos, self._context.runs, datadir.root)
        self._context.memory_search.index_cache.invalidate()
        repos.history.committed(None)  # the rows were written without a word to its index
        await self._context.runs.recovery.settle_sent()
        for topic in (
            "workflow",
            "agent",
            "provider",
            "model",
            "memory",
            "report",
            "prompt",
            "settings",
            "task",
            "question",
        ):
            self._context.bus.changed(topic, "")
        return result


async def verify_backup(
    path: Path, root: Path | None = None, progress: Progress = lambda _done, _total: None
) -> BackupInfo:
    """Verify a backup's checksums, open it and count its content, without an open data folder.

    ``root``: the folder that may have made it.
    """
    from atelier_desk.storage.copies import backup_file

    return await backup_file.verify(path, root, progress=progress)


async def restore_backup(
    path: Path, root: Path, progress: Progress = lambda _done, _total: None, *, from_elsewhere: bool = False
) -> BackupInfo:
    """Replace the data folder's database with a backup; the old one is kept beside it. The folder must be closed.

    Args:
        progress: called with how much of the work is done, and the whole; until then it can be cancelled.
        from_elsewhere: accept a backup this folder did not make; what it grants is disabled at first.

    Raises:
        StorageError: ``from_elsewhere`` for such a backup; it is incomplete, or another process holds the folder.
    """
    from atelier_desk.storage.copies.restore import restore

    return await restore(path, DataDir(root).ensure(), from_elsewhere=from_elsewhere, progress=progress)


async def compact_database(root: Path, progress: Progress = lambda _done, _total: None) -> Compacted:
    """Rewrite the database of a closed data folder, so that permanently deleted data leaves the disk.

    ``progress`` is called with how much of the work is done, and the whole; until then it can be cancelled.

    Raises:
        StorageError: another process holds the folder, or the disk has no room for a second database; nothing was
            changed.
    """
    from atelier_desk.storage.copies.compact import compact

    return await compact(DataDir(root).ensure(), progress=progress)
