"""Detect lost commits: each commit has a number, stored in the database by the commit itself and afterwards in a file.

The engine silently drops everything after a damaged place in its write-ahead log. If the file has a higher number than
the database, acknowledged commits are lost. The file is written after the commit and never synced, so it can only be
behind.

It also stores a hash of the engine's manifest. A damaged manifest can abort the process that opens it, so one with an
unknown hash is first opened by a helper process. That is rare, because the hash is updated at every commit and at
closing.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import database_errors, migration_registry
from atelier_desk.storage.database_engine import Engine
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.writing.writer import Statement

_log = logging.getLogger(__name__)
FILE = "atelier-commits.json"
_WIDTH = 128


class CommitLog:
    """The commit counter of one open database.

    Attributes:
        number: the number of the newest commit.
        lost: number of commits that the database lacked at opening.
        fsync: whether each commit is synced.
    """

    def __init__(self, directory: Path, number: int, lost: int, *, fsync: bool) -> None:
        self.number = number
        self.lost = lost
        self.fsync = fsync
        self._manifest = _Manifest(directory)
        self._file = os.open(directory / FILE, os.O_RDWR | os.O_CREAT, 0o600)
        self._write()

    @classmethod
    async def load(cls, engine: Engine, directory: Path, *, fsync: bool, accept_loss: bool) -> CommitLog:
        """Compare the two numbers and continue from the database's.

        Raises:
            StorageError: ``damaged`` when synced commits are missing and ``accept_loss`` is false.
        """
        number = await _newest(engine)
        recorded, synced = _read(directory / FILE)
        lost = max(0, recorded - number)
        if lost and synced and not accept_loss:
            raise StorageError(database_errors.LOST_WRITES, code="damaged", path=directory, count=lost)
        return cls(directory, number, lost, fsync=fsync)

    def statement(self) -> Statement:
        """Statement to add to the transaction of the next commit."""
        row = record(migration_registry.VERSION_TABLE, "commits")
        return Statement("UPSERT $row SET commits = $number RETURN NONE", {"row": row, "number": self.number + 1})

    def committed(self) -> None:
        """Record that the commit with the next number is durable."""
        self.number += 1
        self._write()

    async def settle(self, engine: Engine) -> bool:
        """Whether the pending commit is in the reopened database after all; counts it if so.

        Raises:
            StorageError: the database cannot be read; ``damaged`` when acknowledged commits are lost.
        """
        number = await _newest(engine)
        if number < self.number and self.fsync:
            raise StorageError(
                database_errors.LOST_WRITES, code="damaged", path=engine.path, count=self.number - number
            )
        kept = number > self.number
        self.number = number
        self._write()
        return kept

    def close(self) -> None:
        """Record the manifest after the engine is closed, and close the file."""
        self._write()
        os.close(self._file)

    def _write(self) -> None:
        content = {"commits": self.number, "fsync": self.fsync, "manifest": self._manifest.hash()}
        text = json.dumps(content).ljust(_WIDTH - 1) + "\n"
        try:
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, text.encode())
        except OSError as error:  # the file may fall behind, but the transaction is already durable
            _log.warning("the commit number %d could not be noted: %s", self.number, error)


async def _newest(engine: Engine) -> int:
    """Return the number of the newest commit in the database, 0 if there is none."""
    rows = (
        await migration_registry.Migrator(engine).run(
            "SELECT VALUE commits FROM $row", row=record(migration_registry.VERSION_TABLE, "commits")
        )
    )[0]
    return int(rows[0]) if rows else 0


class _Manifest:
    """The hash of a directory's manifest, read again only when the file changes."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "manifest"
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._hash = ""

    def hash(self) -> str:
        """Return 16 hexadecimal digits; empty if it cannot be read, which makes the next start check thoroughly."""
        try:
            with os.scandir(self._folder) as entries:
                found = sorted((entry.name, entry.stat()) for entry in entries)
            seen = tuple((name, state.st_mtime_ns, state.st_size) for name, state in found)
            if seen != self._seen:
                digest = hashlib.sha256()
                for name, _ in found:
                    digest.update((self._folder / name).read_bytes())
                self._seen, self._hash = seen, digest.hexdigest()[:16]
        except OSError:
            self._seen, self._hash = (), ""
        return self._hash


def manifest_known(directory: Path) -> bool:
    """Whether the manifest is the one this program last used."""
    try:
        noted = json.loads((directory / FILE).read_text()).get("manifest")
    except (OSError, ValueError, AttributeError):
        return False
    return bool(noted) and noted == _Manifest(directory).hash()


def _read(path: Path) -> tuple[int, bool]:
    """Return the number in the file and whether commits were synced; (0, False) if missing or unreadable."""
    try:
        content = json.loads(path.read_text())
        return int(content["commits"]), bool(content["fsync"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, False
