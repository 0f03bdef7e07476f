"""Cached conversations of workflows, so that a start need not read every turn.

Snapshots are made from the journal and are never the only copy: a missing, damaged or outdated one is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import shutil
import zlib
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.support.threads import in_storage_thread

_log = logging.getLogger(__name__)
MAX_SNAPSHOTS = 2
"""Files per workflow: the newest may belong to a turn that was regenerated since, on another branch."""
LARGEST = 64 * 1024 * 1024
"""Maximum size of an uncompressed snapshot in bytes; a larger one is not stored."""
_DIGEST = 16


class SnapshotFiles:
    """The files below ``snapshots``: one folder per workflow, named after the run that had ended.

    Args:
        kept: False stores nothing: for an in-memory database nothing is written to disk.
    """

    def __init__(self, datadir: DataDir, kept: bool = True) -> None:
        self._folder = datadir.snapshots
        self._most = kept

    async def read(self, workflow_id: str) -> list[bytes]:
        """Return the undamaged snapshots of a workflow, newest first."""
        return await in_storage_thread(self._read, workflow_id) if self._most else []

    async def write(self, workflow_id: str, run_id: str, data: bytes) -> None:
        """Add a snapshot and delete surplus older ones. Failures to write are ignored: it can be made again later."""
        if self._most and len(data) <= LARGEST:
            await in_storage_thread(self._write, workflow_id, run_id, data)

    async def remove(self, workflow_id: str) -> None:
        """Delete all snapshots of a workflow, for example after a deletion in it.

        Raises:
            StorageError: they could not be deleted.
        """
        folder = atomic_files.files_of(self._folder, workflow_id)
        try:
            if self._most and folder.is_dir():
                await in_storage_thread(shutil.rmtree, folder)
        except OSError as error:
            raise database_errors.from_os_error(error, folder) from error

    def _read(self, workflow_id: str) -> list[bytes]:
        found = []
        for path in _newest(atomic_files.files_of(self._folder, workflow_id)):
            with contextlib.suppress(OSError, ValueError, zlib.error):
                found.append(_unpack(path.read_bytes()))
        return found

    def _write(self, workflow_id: str, run_id: str, data: bytes) -> None:
        try:
            folder = atomic_files.files_of(self._folder, workflow_id)
            atomic_files.write_atomic(folder / atomic_files.plain_name(run_id), _pack(data))
            for old in _newest(folder)[MAX_SNAPSHOTS:]:
                old.unlink(missing_ok=True)
        except (OSError, StorageError) as error:
            _log.info("no snapshot of workflow %s: %s", workflow_id, error)


def _newest(folder: Path) -> list[Path]:
    try:
        found = [(path.stat().st_mtime_ns, path) for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError:
        return []
    return [path for _time, path in sorted(found, reverse=True)]


def _pack(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest() + zlib.compress(data, 1)


def _unpack(stored: bytes) -> bytes:
    inflate = zlib.decompressobj()
    data = inflate.decompress(stored[_DIGEST:], LARGEST)
    if not inflate.eof or hashlib.blake2b(data, digest_size=_DIGEST).digest() != stored[:_DIGEST]:
        raise ValueError("not as it was written")
    return data
