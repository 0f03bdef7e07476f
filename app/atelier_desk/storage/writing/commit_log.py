"""Noticing lost commits: every commit has a number, kept in the database by the commit itself and in a file after it.

The engine drops what follows a damaged place in its write-ahead log and says nothing. When the file knows a higher number than the
database, acknowledged commits are gone. The file is written after the commit and never synced: it can only be behind.

It also holds a hash of the engine's manifest. A damaged manifest can abort the process that opens it, so one whose hash is not known
is first opened by a helper process: rarely, because the hash follows every commit and the closing.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path

from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import errors, schema
from atelier_desk.storage.engine import Engine
from atelier_desk.storage.rows import record
from atelier_desk.storage.writing.writer import Statement

_log = logging.getLogger(__name__)
FILE = "atelier-commits.json"
_WIDTH = 128


class CommitLog:
    """The counter of one open database.

    Attributes:
        number: the number of the newest commit.
        lost: how many commits the database had lost when it was opened.
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
        """Compare the two numbers and go on from the database's.

        Raises:
            StorageError: ``damaged`` when synced commits are missing and ``accept_loss`` is false.
        """
        number = await _newest(engine)
        recorded, synced = _read(directory / FILE)
        lost = max(0, recorded - number)
        if lost and synced and not accept_loss:
            raise StorageError(errors.LOST_WRITES, code="damaged", path=directory, count=lost)
        return cls(directory, number, lost, fsync=fsync)

    def statement(self) -> Statement:
        """Goes into the transaction that makes the next commit."""
        row = record(schema.VERSION_TABLE, "commits")
        return Statement("UPSERT $row SET commits = $number RETURN NONE", {"row": row, "number": self.number + 1})

    def committed(self) -> None:
        """The commit with the next number is durable."""
        self.number += 1
        self._write()

    async def settle(self, engine: Engine) -> bool:
        """Whether the commit with the next number is in the database after all, which was opened again; counts it then.

        Raises:
            StorageError: the database cannot be read; ``damaged`` when commits that were acknowledged are gone.
        """
        number = await _newest(engine)
        if number < self.number and self.fsync:
            raise StorageError(errors.LOST_WRITES, code="damaged", path=engine.path, count=self.number - number)
        kept = number > self.number
        self.number = number
        self._write()
        return kept

    def close(self) -> None:
        """Note the manifest as it is now that the engine is closed, and close the file."""
        self._write()
        os.close(self._file)

    def _write(self) -> None:
        content = {"commits": self.number, "fsync": self.fsync, "manifest": self._manifest.hash()}
        text = json.dumps(content).ljust(_WIDTH - 1) + "\n"
        try:
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, text.encode())
        except OSError as error:  # the file may be behind, never the commit: the transaction is durable whatever happens here
            _log.warning("the commit number %d could not be noted: %s", self.number, error)


async def _newest(engine: Engine) -> int:
    """The number of the newest commit in the database, 0 when there is none."""
    rows = (await schema.Migrator(engine).run("SELECT VALUE commits FROM $row", row=record(schema.VERSION_TABLE, "commits")))[0]
    return int(rows[0]) if rows else 0


class _Manifest:
    """The hash of a directory's manifest, read again only when its file changed."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "manifest"
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._hash = ""

    def hash(self) -> str:
        """16 hexadecimal digits; empty when it cannot be read, which makes the next start look closely."""
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
    """Whether the manifest is the one that this program last saw in use."""
    try:
        noted = json.loads((directory / FILE).read_text()).get("manifest")
    except (OSError, ValueError, AttributeError):
        return False
    return bool(noted) and noted == _Manifest(directory).hash()


def _read(path: Path) -> tuple[int, bool]:
    """The number in the file and whether commits were synced; (0, False) when it is missing or unreadable, which proves nothing."""
    try:
        content = json.loads(path.read_text())
        return int(content["commits"]), bool(content["fsync"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, False
