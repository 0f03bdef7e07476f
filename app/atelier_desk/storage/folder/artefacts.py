"""Artefacts: files that tools made and a workflow keeps. They are found by the SHA-256 that the journal has of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.parts import ArtefactPart
from atelier_desk.i18n import N_
from atelier_desk.storage import errors
from atelier_desk.storage.folder import files
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.threads import in_storage_thread

GONE = N_("The file {name} cannot be opened: it is missing in the data folder, or damaged. Restore a backup.")


class Artefacts:
    """Files below ``attachments``, one folder a workflow, each under its hash: the same bytes are kept once.

    A file is whole on the disk before the event that names it is committed; what a kill leaves without one goes with its workflow, like all
    of them.
    """

    def __init__(self, datadir: DataDir) -> None:
        self._folder = datadir.attachments

    async def keep(self, workflow_id: str, name: str, data: bytes, media_type: str) -> ArtefactPart:
        """Keep a file; begun, it is done to its end.

        Raises:
            StorageError: ``read_only``, it cannot be written.
        """
        part = ArtefactPart(name=name, media_type=media_type, size=len(data), sha256=files.sha256(data))
        path = self._path(workflow_id, part.sha256)
        try:
            await asyncio.shield(in_storage_thread(files.write_atomic, path, data))
        except OSError as error:
            raise StorageError(errors.READ_ONLY, code="read_only", path=path) from error
        return part

    async def read(self, workflow_id: str, part: ArtefactPart) -> bytes:
        """The bytes.

        Raises:
            StorageError: ``damaged_file``, they are missing or not those that were kept.
        """
        path = self._path(workflow_id, part.sha256)
        try:
            data = await in_storage_thread(files.read_hashed, path, part.sha256)
        except OSError as error:
            raise StorageError(GONE, code="damaged_file", name=part.name) from error
        if data is None:
            raise StorageError(GONE, code="damaged_file", name=part.name)
        return data

    async def copy(self, source_id: str, target_id: str, part: ArtefactPart) -> None:
        """Have another workflow keep it too; one that is missing is left missing."""
        source, target = self._path(source_id, part.sha256), self._path(target_id, part.sha256)

        def copy() -> None:
            if source.is_file():
                files.write_atomic(target, source.read_bytes())

        await in_storage_thread(copy)

    async def remove(self, workflow_id: str, sha256: Iterable[str]) -> None:
        """Delete files that no event names, and their folder when it is empty then."""

        def remove() -> None:
            for digest in sha256:
                self._path(workflow_id, digest).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._path(workflow_id, "0").parent.rmdir()

        await in_storage_thread(remove)

    def has(self, workflow_id: str, sha256: str) -> bool:
        """Whether there is a file of this hash; it may be damaged."""
        return self._path(workflow_id, sha256).is_file()

    def _path(self, workflow_id: str, sha256: str) -> Path:
        return self._folder / files.plain_name(workflow_id) / files.plain_name(sha256)
