"""Everything in the data folder at once: backups that were opened and counted, and the export to plain text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.engine.services.context import ServiceContext

if TYPE_CHECKING:
    from app.storage.backup import BackupInfo


class DataService:
    """Backups and exports of the open data folder."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    async def backup_create(self, target: Path) -> BackupInfo:
        """Write a backup to ``target``, open it and compare it with the database.

        Raises:
            StorageError: it cannot be written, or is not whole.
        """
        from app.storage import backup

        return await backup.create(self._context.repos.store, self._context.datadir, target)

    async def backup_verify(self, path: Path) -> BackupInfo:
        """Open a backup in a process of its own and count what is in it."""
        return await verify_backup(path)

    async def export_jsonl(self, target: Path) -> Any:
        """Every table as JSON lines, one file a table: readable without this program and by any later one."""
        from app.storage import transfer

        return await transfer.export_jsonl(self._context.repos.store, target)

    async def import_jsonl(self, source: Path) -> Any:
        """Read such an export into the database; rows that are there already are replaced. All lists should be read again afterwards."""
        from app.storage import transfer

        result = await transfer.import_jsonl(self._context.repos.store, source)
        self._context.repos.memories.reload()
        self._context.memory_search.forget_loaded()
        for topic in ("workflow", "agent", "provider", "model", "memory", "report", "settings", "task", "question"):
            self._context.bus.changed(topic, "")
        return result


async def verify_backup(path: Path) -> BackupInfo:
    """Open a backup and count what is in it; needs no open data folder."""
    from app.storage import backup

    return await backup.verify(path)


async def restore_backup(path: Path, root: Path) -> BackupInfo:
    """Put a backup in the place of the data folder's database; the old one is kept beside it. The folder must be closed.

    Raises:
        StorageError: the backup is not whole, or another process holds the folder.
    """
    from app.storage import backup
    from app.storage.datadir import DataDir

    return await backup.restore(path, DataDir(root).ensure())
