"""Download model files: progress, pause, resume, cancel, disk space, and verification.

Received data is in ``<file>.part`` beside the target, which is renamed atomically after its SHA-256 was verified. After
a kill, a download resumes from the part file.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from atelier_desk.domain.base_model import Model
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError, NotFoundError, ProviderError
from atelier_desk.llm.local.catalogue import CATALOGUE, CatalogueEntry
from atelier_desk.llm.local.model_files import ModelStore
from atelier_desk.llm.network.proxy_routing import routed_transport
from atelier_desk.support import background_tasks
from atelier_desk.support.hashing import sha256_of
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from io import FileIO


log = logging.getLogger(__name__)
SPARE_BYTES = 256 * 1024 * 1024
"""Bytes that must stay free on the disk after a download."""
ANNOUNCE_S = 0.25
"""Minimum seconds between progress announcements."""
_TIMEOUT_S = 60.0
"""Seconds of silence after which the connection counts as lost."""
_HTTP_OK, _HTTP_PARTIAL, _HTTP_RANGE = 200, 206, 416


class DownloadStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    VERIFYING = "verifying"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


class DownloadState(Model):
    """State of a download. ``error_template`` and ``error_params`` are the error's sentence, translated when shown."""

    id: str
    status: DownloadStatus
    received_bytes: int = 0
    size_bytes: int
    bytes_per_s: float = 0.0
    error_code: str = ""
    error_template: str = ""
    error_params: dict[str, str] = {}


class Downloads:
    """Downloads into one models folder, one task each.

    Args:
        store: records finished files with their SHA-256.
        clock: paces announcements and measures speed.
        changed: called with an entry's id when its state changed; must be fast, on the event loop.
        entries: the catalogue.
        free_bytes: free space of a folder, replaceable in tests.
    """

    def __init__(
        self,
        store: ModelStore,
        clock: Clock,
        changed: Callable[[str], None],
        *,
        entries: Sequence[CatalogueEntry] = CATALOGUE,
        free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._store = store
        self._folder = store.models_dir
        self._clock = clock
        self._changed = changed
        self._entries = {entry.id: entry for entry in entries}
        self._free_bytes = free_bytes
        self._states: dict[str, DownloadState] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def catalogue(self) -> list[CatalogueEntry]:
        """Return the downloadable models."""
        return list(self._entries.values())

    def states(self) -> list[DownloadState]:
        """Return the state of each present, running or started entry, in catalogue order."""
        found = [self._states.get(entry.id) or self._on_disk(entry) for entry in self._entries.values()]
        return [state for state in found if state is not None]

    async def start(self, id: str) -> DownloadState:
        """Start or resume a download; does nothing if it is running or done.

        Raises:
            NotFoundError: no such entry.
            ProviderError: the disk has no room for the rest (``disk_full``), or the folder is not writable
                (``unwritable``).
        """
        entry = self._entry(id)
        current = self._states.get(id) or self._on_disk(entry)
        if id in self._tasks or (current is not None and current.status is DownloadStatus.DONE):
            return current or self._set(entry, DownloadStatus.WAITING)
        received = await asyncio.to_thread(self._prepare, entry)
        if id in self._tasks:  # another caller started it meanwhile
            return self._states[id]
        state = self._set(entry, DownloadStatus.RUNNING, received)
        task = background_tasks.start(self._run(entry), f"download-{id}")
        self._tasks[id] = task
        task.add_done_callback(lambda _task: self._tasks.pop(id, None))
        return state

    async def pause(self, id: str) -> None:
        """Stop, keeping received data."""
        entry = self._entry(id)
        if await self._stop(id):
            self._set(entry, DownloadStatus.PAUSED, _size(self._part(entry)))

    async def cancel(self, id: str) -> None:
        """Stop and delete received data. Finished downloads are not touched."""
        entry = self._entry(id)
        await self._stop(id)
        state = self._states.pop(id, None)
        if state is not None and state.status is DownloadStatus.DONE:
            self._states[id] = state
            return
        await asyncio.to_thread(self._part(entry).unlink, missing_ok=True)
        self._changed(id)

    async def delete(self, id: str) -> None:
        """Delete a downloaded file."""
        entry = self._entry(id)
        await self.cancel(id)
        self._states.pop(id, None)
        target = self._target(entry)
        await asyncio.to_thread(target.unlink, missing_ok=True)
        await asyncio.to_thread(self._store.drop, target)
        self._changed(id)

    async def wait(self, id: str) -> DownloadState | None:
        """Wait until a download is no longer running; return its state."""
        task = self._tasks.get(id)
        if task is not None:
            await asyncio.wait([task])
        return self._states.get(id)

    async def aclose(self) -> None:
        """Stop all downloads, keeping received data."""
        for id in list(self._tasks):
            await self.pause(id)

    async def _run(self, entry: CatalogueEntry) -> None:
        try:
            await self._fetch(entry)
            self._set(entry, DownloadStatus.VERIFYING, entry.size_bytes)
            await self._finish(entry)
        except AtelierError as error:
            self._fail(entry, error)
        except OSError as error:
            self._fail(
                entry,
                ProviderError(
                    N_("The download could not be written: {reason}"), code="unwritable", reason=error.strerror or error
                ),
            )
        except Exception as error:  # it must not seem to run after its task has ended
            log.exception("the download of %s failed", entry.id)
            message = N_("The download failed unexpectedly ({reason}). See the log for details.")
            self._fail(entry, ProviderError(message, code="connection", recoverable=True, reason=type(error).__name__))

    async def _fetch(self, entry: CatalogueEntry) -> None:
        """Receive the missing part. If the server refuses to resume, it starts over."""
        part = self._part(entry)
        received = _size(part)
        if received == entry.size_bytes:
            return
        headers = {"accept-encoding": "identity", "user-agent": "Atelier"}
        if received:
            headers["range"] = f"bytes={received}-"
        try:
            async with (
                httpx.AsyncClient(
                    transport=routed_transport(httpx), follow_redirects=True, timeout=_TIMEOUT_S
                ) as client,
                client.stream("GET", entry.url, headers=headers) as response,
            ):
                received = self._resume_at(entry, response, received)
                await self._receive(entry, response, part, received)
        except httpx.TimeoutException as error:
            raise ProviderError(
                N_("The server stopped sending data. Start the download again to continue."),
                code="timeout",
                recoverable=True,
            ) from error
        except httpx.HTTPError as error:
            raise ProviderError(
                N_("The connection was lost ({reason}). Start the download again to continue."),
                code="connection",
                recoverable=True,
                reason=type(error).__name__,
            ) from error
        if _size(part) < entry.size_bytes:
            raise ProviderError(
                N_("The download ended too early. Start it again to continue."), code="truncated", recoverable=True
            )

    def _resume_at(self, entry: CatalogueEntry, response: httpx.Response, received: int) -> int:
        """Return where the body begins: after the existing data (206), or at the beginning (200)."""
        if response.status_code == _HTTP_PARTIAL and response.headers.get("content-range", "").startswith(
            f"bytes {received}-"
        ):
            return received
        if response.status_code == _HTTP_OK:
            return 0
        if response.status_code == _HTTP_RANGE:
            self._part(entry).unlink(missing_ok=True)
        raise ProviderError(
            N_("The server refused the download (HTTP {status})."),
            code="refused",
            status=response.status_code,
            recoverable=response.status_code == _HTTP_RANGE or response.status_code >= 500,
        )

    async def _receive(self, entry: CatalogueEntry, response: httpx.Response, part: Path, received: int) -> None:
        began, first = self._clock.monotonic(), received
        announced = began
        file = await asyncio.to_thread(part.open, "r+b" if received else "wb", 0)
        try:
            file.seek(received)
            file.truncate()
            async for chunk in response.aiter_bytes():
                await _written(file, chunk)
                received += len(chunk)
                if received > entry.size_bytes:
                    raise ProviderError(
                        N_("The server sent a different file from the one in the catalogue."), code="model_damaged"
                    )
                now = self._clock.monotonic()
                if now - announced >= ANNOUNCE_S:
                    announced = now
                    self._set(
                        entry, DownloadStatus.RUNNING, received, (received - first) / max(now - began, ANNOUNCE_S)
                    )
        finally:
            file.close()

    async def _finish(self, entry: CatalogueEntry) -> None:
        part, target = self._part(entry), self._target(entry)
        actual = await asyncio.to_thread(sha256_of, part)
        if actual != entry.sha256:
            part.unlink(missing_ok=True)
            raise ProviderError(
                N_("The downloaded file {file} is damaged: its SHA-256 is not the one published. Download it again."),
                code="model_damaged",
                file=entry.file,
            )
        part.replace(target)
        await asyncio.to_thread(self._store.record_download, target, actual)
        self._set(entry, DownloadStatus.DONE, entry.size_bytes)

    def _prepare(self, entry: CatalogueEntry) -> int:
        """Create the folder and check free space; return the number of bytes already present."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            received = _size(self._part(entry))
            if received > entry.size_bytes:
                self._part(entry).unlink()
                received = 0
            free = self._free_bytes(self._folder)
        except OSError as error:
            raise ProviderError(
                N_("Atelier cannot write to the models folder {folder}: {reason}"),
                code="unwritable",
                folder=self._folder,
                reason=error.strerror or error,
            ) from error
        needed = entry.size_bytes - received + SPARE_BYTES
        if free < needed:
            raise ProviderError(
                N_(
                    "There is not enough disk space for {label}: {needed} MB is needed, but only {free} MB is "
                    "available."
                ),
                code="disk_full",
                label=entry.label,
                needed=-(-needed // 1_000_000),
                free=free // 1_000_000,
            )
        return received

    async def _stop(self, id: str) -> bool:
        """Cancel a download's task and wait for its end; return whether there was one."""
        task = self._tasks.get(id)
        if task is None:
            return False
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return self._states[id].status not in (DownloadStatus.DONE, DownloadStatus.FAILED)

    def _on_disk(self, entry: CatalogueEntry) -> DownloadState | None:
        if _size(self._target(entry)) == entry.size_bytes:
            return DownloadState(
                id=entry.id, status=DownloadStatus.DONE, received_bytes=entry.size_bytes, size_bytes=entry.size_bytes
            )
        received = _size(self._part(entry))
        if not received:
            return None
        return DownloadState(
            id=entry.id, status=DownloadStatus.PAUSED, received_bytes=received, size_bytes=entry.size_bytes
        )

    def _set(
        self, entry: CatalogueEntry, status: DownloadStatus, received: int = 0, speed: float = 0.0
    ) -> DownloadState:
        state = DownloadState(
            id=entry.id, status=status, received_bytes=received, size_bytes=entry.size_bytes, bytes_per_s=speed
        )
        self._states[entry.id] = state
        self._changed(entry.id)
        return state

    def _fail(self, entry: CatalogueEntry, error: AtelierError) -> None:
        self._states[entry.id] = DownloadState(
            id=entry.id,
            status=DownloadStatus.FAILED,
            received_bytes=_size(self._part(entry)),
            size_bytes=entry.size_bytes,
            error_code=error.code,
            error_template=error.template,
            error_params={name: str(value) for name, value in error.params.items()},
        )
        self._changed(entry.id)

    def _entry(self, id: str) -> CatalogueEntry:
        if id not in self._entries:
            raise NotFoundError(
                N_("The catalogue has no model {id}. Available models: {known}"), id=id, known=", ".join(self._entries)
            )
        return self._entries[id]

    def _target(self, entry: CatalogueEntry) -> Path:
        return self._folder / entry.file

    def _part(self, entry: CatalogueEntry) -> Path:
        return self._folder / f"{entry.file}.part"


async def _written(file: FileIO, chunk: bytes) -> None:
    """Write in a thread; if cancelled, wait for the thread and close the file."""
    write = asyncio.ensure_future(asyncio.to_thread(file.write, chunk))
    try:
        await asyncio.shield(write)
    except asyncio.CancelledError:
        await asyncio.wait([write])
        raise


def _size(path: Path) -> int:
    """Return the bytes of a file, 0 if missing."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
