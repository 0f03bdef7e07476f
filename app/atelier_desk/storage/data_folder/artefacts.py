"""Files that tools made or a person attached. A workflow stores them under the SHA-256 that the journal records."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.storage import database_errors
from atelier_desk.storage.data_folder import atomic_files
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_storage_thread

GONE = N_("The file {name} cannot be opened: it is missing from the data folder, or damaged. Restore a backup.")


class Artefacts:
    """Files below ``attachments``, one folder per workflow, named after their hash: equal files are stored once.

    A file is synced to disk before the event that names it is committed. Files that a kill leaves without an event are
    deleted with their workflow.
    """

    def __init__(self, datadir: DataDir) -> None:
        self._folder = datadir.attachments
        self._lock = threading.Lock()
        self._tentative: Counter[Path] = Counter()
        self._named: set[Path] = set()

    async def store(
        self, workflow_id: str, name: str, data: bytes, media_type: str, *, tentative: bool = False
    ) -> ArtefactPart:
        """Store a file. Once started, it completes even if the caller is cancelled.

        Args:
            tentative: for a draft, which releases it with ``give_up``; otherwise for an event that will name it.

        Raises:
            StorageError: it cannot be written: ``disk_full``, ``read_only`` …
        """
        part = ArtefactPart(name=name, media_type=media_type, size=len(data), sha256=atomic_files.sha256(data))
        path = self._path(workflow_id, part.sha256)

        def write() -> None:
            with self._lock:
                if not atomic_files.holds(path, data):
                    atomic_files.write_atomic(path, data)
                if tentative:
                    self._tentative[path] += 1
                else:
                    self._named.add(path)

        try:
            await asyncio.shield(in_storage_thread(write))
        except OSError as error:
            raise database_errors.from_os_error(error, path) from error
        return part

    async def read(self, workflow_id: str, part: ArtefactPart) -> bytes:
        """Return the bytes of a file.

        Raises:
            StorageError: ``damaged_file``: the file is missing or does not match its hash.
        """
        path = self._path(workflow_id, part.sha256)
        try:
            data = await in_storage_thread(atomic_files.read_hashed, path, part.sha256)
        except OSError as error:
            raise StorageError(GONE, code="damaged_file", name=part.name) from error
        if data is None:
            raise StorageError(GONE, code="damaged_file", name=part.name)
        return data

    async def copy(self, source_id: str, target_id: str, part: ArtefactPart) -> None:
        """Store a file for another workflow too. A missing or damaged file is skipped.

        Raises:
            StorageError: as ``store``.
        """
        source, target = self._path(source_id, part.sha256), self._path(target_id, part.sha256)

        def copy() -> None:
            if (
                source.is_file()
                and (data := atomic_files.read_hashed(source, part.sha256)) is not None
                and not atomic_files.holds(target, data)
            ):
                atomic_files.write_atomic(target, data)

        try:
            await in_storage_thread(copy)
        except OSError as error:
            raise database_errors.from_os_error(error, target) from error

    async def give_up(self, workflow_id: str, sha256: Iterable[str], needed: Collection[str]) -> None:
        """Delete files of a draft that no event names.

        Keeps those that are ``needed``, that a draft stored again meanwhile, or that this process stored for an event
        that may not be committed yet.
        """

        def give_up() -> None:
            with self._lock:
                for digest in sha256:
                    path = self._path(workflow_id, digest)
                    self._tentative[path] -= 1
                    if self._tentative[path] > 0:
                        continue
                    del self._tentative[path]
                    if digest not in needed and path not in self._named:
                        path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    self._path(workflow_id, "0").parent.rmdir()

        await in_storage_thread(give_up)

    async def remove(self, workflow_id: str, sha256: Iterable[str]) -> None:
        """Delete files that no event names, and their folder if it is then empty."""

        def remove() -> None:
            for digest in sha256:
                self._path(workflow_id, digest).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._path(workflow_id, "0").parent.rmdir()

        await in_storage_thread(remove)

    async def intact(self, workflow_id: str, sha256: str) -> bool:
        """Whether the file with this hash exists and is undamaged."""
        try:
            await self.read(workflow_id, ArtefactPart(name="", size=0, sha256=sha256))
        except StorageError:
            return False
        return True

    async def size(self) -> tuple[int, int]:
        """Return the number of files of all workflows and their total size in bytes."""

        def size() -> tuple[int, int]:
            sizes = [each.stat().st_size for each in self._folder.rglob("*") if each.is_file()]
            return len(sizes), sum(sizes)

        return await in_storage_thread(size)

    def has(self, workflow_id: str, sha256: str) -> bool:
        """Whether a file with this hash exists; it may be damaged."""
        return self._path(workflow_id, sha256).is_file()

    def _path(self, workflow_id: str, sha256: str) -> Path:
        return self._folder / atomic_files.plain_name(workflow_id) / atomic_files.plain_name(sha256)
