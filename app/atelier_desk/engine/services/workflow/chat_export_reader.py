"""Read a file of chats in pieces: JSON, or a ZIP with JSON. Only one chat is in memory, and nothing is unpacked to
disk.

The standard library only reads complete JSON. Each chat is cut out of the stream by counting brackets outside strings,
then parsed by ``json``; a streaming parser would build every value in Python, several times slower.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.support.i18n import N_
from atelier_desk.support.regular_files import open_plain

FILE_MOST = 2 * 1024**3
"""Maximum uncompressed bytes of JSON per file."""
ENTRY_MOST = 32 * 1024**2
"""Maximum bytes of one chat; years of ChatGPT have a few MB. ``json`` uses up to twenty times as much memory."""
CHUNK = 1024**2
RATIO_MOST = 100
"""Maximum compression ratio of ZIP entries over ``RATIO_FROM`` bytes; chats have a ratio of four to fifteen."""
RATIO_FROM = 10 * 1024**2
_LISTED = re.compile(r"(^|/)conversations[^/]*\.json$", re.IGNORECASE)
"""Chat files in exports of ChatGPT and Claude; large ones are split."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}]', re.DOTALL)
"""A complete string, the beginning of one, or a bracket."""
_IN_STRING = re.compile(rb'["\\]')
_START = re.compile(rb"[\[{]")
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
NOT_CHATS = N_(
    "{name} contains neither a workflow nor chats. Choose a JSON or ZIP file that Atelier, ChatGPT, "
    "Claude, Open WebUI or LibreChat exported."
)
DAMAGED = N_("{name} cannot be read: {problem}. Export it again.")
TOO_LARGE = N_("{name} contains more than {most} GB; split the export into smaller files.")
COMPRESSED = N_("{name} expands to {ratio} times its size, more than any real export. The limit is {most} times.")
MISSING = N_("The file {path} does not exist.")
ZIP_CUT = N_("the end of the ZIP file is missing")
_ZIP_START = b"PK\x03\x04"
_WORKFLOW = re.compile(rb'^[\xef\xbb\xbf\s]*\{\s*"format"\s*:\s*"atelier-workflow"')
_CHATS = re.compile(
    rb'[\xef\xbb\xbf\s]*(\{\s*"conversationId"\s*:|\[\s*\{.*?"(mapping|chat_messages|history|conversationId)"\s*:\s*["\[{])',
    re.DOTALL,
)
_HEAD = 65_536


def is_workflow(path: Path) -> bool:
    """Whether a file begins like an exported workflow; False if unreadable."""
    try:
        with open_plain(path) as file:
            return _WORKFLOW.match(file.read(_HEAD)) is not None
    except OSError:
        return False


def is_export(path: Path) -> bool:
    """Whether a file begins like a workflow or a chat export, and so is not a normal attachment."""
    try:
        if not path.is_file() or path.suffix.lower() not in (".json", ".zip"):
            return False
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return any(_LISTED.search(each) for each in archive.namelist())
        with path.open("rb") as file:
            head = file.read(_HEAD)
        return _WORKFLOW.match(head) is not None or _CHATS.match(head) is not None
    except _BROKEN:
        return False


class Entry(NamedTuple):
    """One object of a file: its value, or why there is none: ``too_large``, ``damaged``, ``cut_off``."""

    value: object
    problem: str = ""


class ChatFile:
    """An open file of chats. ``step`` reads on, ``done`` of ``total`` bytes so far; ``close`` it at the end.

    Raises:
        UsageError: it is not such a file. LimitError: it is too large, or compressed too highly.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._stack = ExitStack()
        self.done = self.total = 0
        try:
            if not path.exists():
                raise UsageError(MISSING, code="invalid", path=path)
            if not path.is_file():
                raise UsageError(NOT_CHATS, code="invalid", name=self._name)
            if zipfile.is_zipfile(path):
                self._archive: zipfile.ZipFile | None = self._stack.enter_context(zipfile.ZipFile(path))
                self._members = self._chosen(self._archive)
                self.total = sum(each.file_size for each in self._members)
            else:
                with path.open("rb") as file:
                    if file.read(len(_ZIP_START)) == _ZIP_START:
                        raise UsageError(DAMAGED, code="invalid", name=self._name, problem=UsageError(ZIP_CUT))
                self._archive, self._members = None, []
                self.total = path.stat().st_size
            if self.total > FILE_MOST:
                raise LimitError(TOO_LARGE, name=self._name, most=FILE_MOST // 1024**3)
            self._streams = self._open(path)
        except _BROKEN as error:
            self.close()
            raise self._problem(error) from error
        except BaseException:
            self.close()
            raise
        self._cutter: _Cutter | None = None
        self._stream: IO[bytes] | None = None

    def close(self) -> None:
        self._stack.close()

    def step(self) -> list[Entry] | None:
        """Return the objects that end in the next megabyte; None at the end of the file."""
        try:
            if self._stream is None:
                self._stream = next(self._streams, None)
                if self._stream is None:
                    return None
                self._cutter = _Cutter()
            assert self._cutter is not None
            chunk = self._stream.read(CHUNK)
            self.done += len(chunk)
            if chunk:
                return list(self._cutter.feed(chunk))
            last = self._cutter
            self._stream.close()
            self._stream = None
        except _BROKEN as error:
            raise self._problem(error) from error
        if not last.started and self._archive is None:
            raise UsageError(NOT_CHATS, code="invalid", name=self._name)
        return [Entry(None, "cut_off")] if last.open else []

    def _open(self, path: Path) -> Iterator[IO[bytes]]:
        if self._archive is None:
            yield self._stack.enter_context(path.open("rb"))
        for member in self._members:
            assert self._archive is not None
            yield self._archive.open(member)

    def _chosen(self, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        """Return the entries with chats. Their names are never used as paths."""
        files = [each for each in archive.infolist() if not each.is_dir() and each.filename.lower().endswith(".json")]
        found = [each for each in files if _LISTED.search(each.filename)] or files
        if not found:
            raise UsageError(NOT_CHATS, code="invalid", name=self._name)
        for each in found:
            ratio = each.file_size // max(1, each.compress_size)
            if each.file_size > RATIO_FROM and ratio > RATIO_MOST:
                raise LimitError(COMPRESSED, name=self._name, ratio=ratio, most=RATIO_MOST)
        return sorted(found, key=lambda each: each.filename)

    def _problem(self, error: BaseException) -> UsageError:
        if isinstance(error, _NotJson):
            return UsageError(NOT_CHATS, code="invalid", name=self._name)
        if isinstance(error, OSError) and error.strerror:
            return UsageError(DAMAGED, code="invalid", name=self._name, problem=error.strerror)
        return UsageError(DAMAGED, code="invalid", name=self._name, problem=str(error)[:200] or type(error).__name__)


class _NotJson(ValueError):
    """The text does not begin with an object or an array."""


class _Cutter:
    """Cuts objects out of a JSON text, one object or an array of objects, independently of how it is split."""

    def __init__(self) -> None:
        self.started = False
        self._base = self._depth = 0
        self._in_string = self._escaped = self._over = False
        self._parts: list[bytes] = []
        self._length = 0

    @property
    def open(self) -> bool:
        """Whether an object has begun but not ended."""
        return self._depth > 0

    def feed(self, chunk: bytes) -> Iterator[Entry]:
        """Yield the objects that end in the next piece."""
        at = 0
        if not self.started:
            first = _START.search(chunk)
            if first is None or chunk[: first.start()].strip(b"\xef\xbb\xbf \t\r\n"):
                raise _NotJson
            self.started, at = True, first.start()
            if first[0] == b"[":
                self._base = self._depth = 1
                at += 1
        begin = at  # start of the open object's part
        for opens, place in self._brackets(chunk, at):
            if opens:
                if self._depth == self._base:
                    begin = place
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == self._base:
                    self._append(chunk[begin : place + 1])
                    entry = self._entry()
                    if entry is not None:
                        yield entry
        if self._depth > self._base:
            self._append(chunk[begin:])

    def _append(self, part: bytes) -> None:
        self._length += len(part)
        if self._length > ENTRY_MOST:
            self._parts, self._over = [], True
        else:
            self._parts.append(part)

    def _entry(self) -> Entry | None:
        data, over = b"".join(self._parts), self._over
        self._parts, self._length, self._over = [], 0, False
        if over:
            return Entry(None, "too_large")
        try:
            return Entry(json.loads(data)) if data.startswith(b"{") else None
        except (ValueError, RecursionError):
            return Entry(None, "damaged")

    def _brackets(self, chunk: bytes, at: int) -> Iterator[tuple[bool, int]]:
        """Yield the brackets outside strings from ``at`` on: whether each opens, and its position."""
        while at < len(chunk):
            if self._escaped:
                self._escaped = False
                at += 1
            elif self._in_string:
                found = _IN_STRING.search(chunk, at)
                if found is None:
                    return
                at = found.end()
                self._escaped = found[0] == b"\\"
                self._in_string = self._escaped
            else:
                found = _STRING.search(chunk, at)
                if found is None:
                    return
                at = found.end()
                if found[0] == b'"':
                    self._in_string = True
                elif len(found[0]) == 1 and (found[0] in b"[{" or self._depth > 0):
                    yield found[0] in b"[{", found.start()
