"""The log ahead of the tables: what was acknowledged and is not in the database yet.

A commit of a run touches a dozen rows, and the next one touches most of them again. So a commit is first appended to a log, one write of
a few hundred bytes, and that makes it durable; its rows follow soon after, many commits in one transaction (see ``atelier_desk.storage.behind``),
which also notes the number of the newest commit it holds. What a kill leaves in the log is put into the database at the next opening,
before anybody reads.

A record is its length, a check sum, its number and its content. Numbers have no gaps: a record that is missing before others means that
acknowledged commits are gone, and then nothing after the gap is used. There are two files, so that one can be emptied while the other
grows.
"""

from __future__ import annotations

import asyncio
import os
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from atelier_desk.storage import errors

NAMES = ("atelier-ahead-0.log", "atelier-ahead-1.log")
_HEAD = struct.Struct("<IIQ")
"""Bytes of the content, CRC-32 of number and content, number."""
_NUMBER = struct.Struct("<Q")


class Record(NamedTuple):
    """A commit as it was kept."""

    number: int
    content: bytes


class _File:
    """One of the two files: ``size`` bytes are used, up to the record ``newest``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.newest = 0
        self.synced = True
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)

    def read(self) -> list[Record]:
        """The records up to the first that is not whole, which was never acknowledged."""
        data = self.path.read_bytes()
        records, at = [], 0
        while at + _HEAD.size <= len(data):
            length, check, number = _HEAD.unpack_from(data, at)
            content = data[at + _HEAD.size : at + _HEAD.size + length]
            if len(content) != length or _check(number, content) != check:
                break
            records.append(Record(number, content))
            at += _HEAD.size + length
        self.size, self.newest = at, records[-1].number if records else 0
        return records

    def append(self, data: bytes, number: int) -> None:
        try:
            os.lseek(self.handle, self.size, os.SEEK_SET)
            written = os.write(self.handle, data)
            while written < len(data):
                written += os.write(self.handle, data[written:])
        except OSError:
            os.ftruncate(self.handle, self.size)
            raise
        self.size += len(data)
        self.newest = number
        self.synced = False

    def empty(self) -> None:
        if self.size:
            os.ftruncate(self.handle, 0)
            self.size = 0


class AheadLog:
    """The log of one open database.

    Attributes:
        number: of the newest record.
    """

    def __init__(self, directory: Path, *, fsync: bool) -> None:
        self._path = directory
        self._fsync = fsync
        self._files = [_File(directory / name) for name in NAMES]
        self._current = self._files[0]
        self._syncing = asyncio.Lock()
        self._synced = 0
        self.number = 0

    def read(self, applied: int) -> tuple[list[Record], int]:
        """The records after ``applied`` in order, and how many acknowledged ones are known to be gone.

        What follows a gap is not given: it was acknowledged, and counts as gone with what the gap held.
        """
        found = sorted({record for file in self._files for record in file.read()})
        good: list[Record] = []
        for record in found:
            if record.number == applied + len(good) + 1:
                good.append(record)
        self.number = self._synced = applied + len(good)
        return good, max(0, max((record.number for record in found), default=0) - self.number)

    def append(self, content: bytes) -> int:
        """Keep a record and return its number; with ``sync`` it is durable also when the power fails.

        Raises:
            StorageError: it was not kept (``disk_full``, ``read_only`` …).
        """
        number = self.number + 1
        data = _HEAD.pack(len(content), _check(number, content), number) + content
        try:
            self._current.append(data, number)
        except OSError as error:
            raise errors.from_text(f"{error.strerror} (os error {error.errno})", self._path, opening=True) from error
        self.number = number
        return number

    async def sync(self, number: int) -> None:
        """Return when the record is on the disk; records that wait together share one sync. Without ``fsync`` at once.

        Raises:
            StorageError: the disk did not take it.
        """
        while self._fsync and self._synced < number:
            async with self._syncing:
                if self._synced >= number:
                    return
                newest = self.number
                behind = [file for file in self._files if not file.synced]
                for file in behind:
                    file.synced = True
                try:
                    await asyncio.to_thread(_sync, [file.handle for file in behind])
                except OSError as error:
                    for file in behind:
                        file.synced = False
                    raise errors.from_text(f"{error.strerror} (os error {error.errno})", self._path, opening=True) from error
                self._synced = max(self._synced, newest)

    def turn(self) -> None:
        """Go on in the other file when that is empty, so that this one can be emptied once its records are in the tables."""
        other = self._files[1 - self._files.index(self._current)]
        if other.size == 0:
            self._current = other

    def applied(self, number: int) -> None:
        """Everything up to ``number`` is in the tables and durable there."""
        self._synced = max(self._synced, number)
        for file in self._files:
            if file.newest <= number:
                file.empty()

    def clear(self) -> None:
        """Nothing of the log is needed any more, nor the half record a kill may have left behind it."""
        for file in self._files:
            os.ftruncate(file.handle, 0)
            file.size = 0

    def close(self) -> None:
        for file in self._files:
            os.close(file.handle)


def _check(number: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(_NUMBER.pack(number)))


def _sync(handles: list[int]) -> None:
    for handle in handles:
        os.fsync(handle)
