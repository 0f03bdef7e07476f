"""The user's own tools: Python files in the data folder's ``tools``, confirmed by hash and loaded at each opening."""

from __future__ import annotations

import asyncio
import builtins
import logging
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, UsageError
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_storage_thread
from atelier_desk.tools.user_tools import tool_files
from atelier_desk.tools.user_tools.tool_files import FileStatus, ToolFile
from atelier_desk.tools.user_tools.tool_processes import ToolProcesses

if TYPE_CHECKING:
    from atelier_desk.tools.user_tools.user_tool import FileTool

log = logging.getLogger(__name__)

LOAD_S = 10.0
"""Time limit in seconds for running a file: one that hangs must not block opening."""


class OwnToolState(StrEnum):
    """``changed``: not the confirmed bytes. ``broken``: confirmed, but fails to load."""

    NEW = "new"
    CONFIRMED = "confirmed"
    CHANGED = "changed"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class OwnToolFile:
    """A file of the tools folder.

    Attributes:
        sha256: of its present bytes, in hexadecimal digits.
        tools: its available tools; for a changed file those of the confirmed version.
        reason: why it is broken, in the current language; otherwise empty.
    """

    file: str
    sha256: str
    state: OwnToolState
    tools: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OwnToolSource:
    """Source to review before confirming: ``text`` is exactly what ``sha256`` covers."""

    file: str
    sha256: str
    text: str


@dataclass(frozen=True, slots=True)
class _Loaded:
    sha256: str
    tools: tuple[str, ...] = ()
    error: AtelierError | None = None


class OwnToolService:
    """Own tools. Changes are announced as ``tool`` with the file's name.

    Attributes:
        processes: where the files run, never in this process.
    """

    load_s = LOAD_S

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self.processes = ToolProcesses()
        self._loaded: dict[str, _Loaded] = {}
        self._changing = asyncio.Lock()

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return self._context.datadir.tools

    async def list(self) -> builtins.list[OwnToolFile]:
        """Return the files of the folder by name, without running them."""
        return [self._described(file) for file in await self._files()]

    async def read(self, file: str) -> OwnToolSource:
        """Return the text to review.

        Raises:
            NotFoundError: no such file; the error lists the files.
            UsageError: it is too long, or not UTF-8.
        """
        found = await self._file(file)
        return OwnToolSource(found.name, found.sha256, tool_files.source(found))

    async def confirm(self, file: str, sha256: str) -> OwnToolFile:
        """Load the file with this hash now and at each opening. One that fails to load is still confirmed, as
        ``broken``.

        Raises:
            ConflictError: the file has changed since it was reviewed.
            NotFoundError: no such file.
        """
        async with self._changing:
            found = await self._file(file)
            if found.sha256 != sha256.strip().lower():
                raise ConflictError(
                    N_("The file {name} has changed since you reviewed it. Review it again."), name=file
                )
            self._drop(file)
            # Run it before storing: a file that crashes the program is then not run at the next opening.
            await self._load(found)
            try:
                confirmed = await self._confirmed()
                await self._context.settings.update(confirmed_tools={**confirmed, file: found.sha256})
            except BaseException:
                self._drop(file)
                raise
        self._context.bus.changed("tool", file)
        return next(each for each in await self.list() if each.file == file)

    async def revoke(self, file: str) -> None:
        """Remove its tools, and require confirmation before it is loaded again. Agents keep the names, and work without
        them.

        Raises:
            NotFoundError: no such file was confirmed.
        """
        async with self._changing:
            confirmed = await self._confirmed()
            if file not in confirmed:
                raise NotFoundError(
                    N_("The file {name} is not confirmed. Confirmed files: {names}."),
                    name=file,
                    names=", ".join(sorted(confirmed)) or _("none"),
                )
            await self._context.settings.update(
                confirmed_tools={name: digest for name, digest in confirmed.items() if name != file}
            )
            self._drop(file)
        self._context.bus.changed("tool", file)

    async def reload(self) -> builtins.list[OwnToolFile]:
        """Rescan the folder: remove tools of changed or missing files, retry broken files."""
        async with self._changing:
            for file in await self._bring_up_to_date():
                self._context.bus.changed("tool", file)
        return await self.list()

    async def load_confirmed(self) -> None:
        """Load the confirmed files at opening. Problems are logged, and shown by ``list``."""
        async with self._changing:
            await self._bring_up_to_date()
        for each in await self.list():
            if each.state is OwnToolState.CHANGED:
                log.warning("tool file %s changed since it was confirmed and is not loaded", each.file)

    async def _bring_up_to_date(self) -> builtins.list[str]:
        """Synchronise loaded tools with folder and confirmations; return the affected files."""
        wanted = {file.name: file for file in await self._files() if file.status is FileStatus.CONFIRMED}
        before = dict(self._loaded)
        for name, loaded in before.items():
            if name not in wanted or wanted[name].sha256 != loaded.sha256 or loaded.error is not None:
                self._drop(name)
        missing = [file for name, file in wanted.items() if name not in self._loaded]
        described = dict(
            zip((file.name for file in missing), await asyncio.gather(*map(self._describe, missing)), strict=True)
        )
        for name, file in wanted.items():
            if name not in self._loaded:
                self._register(file, described[name])
        return [name for name in sorted({*before, *self._loaded}) if before.get(name) != self._loaded.get(name)]

    async def _load(self, file: ToolFile) -> None:
        self._register(file, await self._describe(file))

    def _register(self, file: ToolFile, found: tuple[FileTool, ...] | AtelierError) -> None:
        try:
            if isinstance(found, AtelierError):
                raise found
            self._context.registry.register_all(found)
        except AtelierError as error:
            log.warning("tool file %s is not loaded: %s", file.name, error)
            self._loaded[file.name] = _Loaded(file.sha256, error=error)
        else:
            self._loaded[file.name] = _Loaded(file.sha256, tuple(tool.name for tool in found))

    async def _describe(self, file: ToolFile) -> tuple[FileTool, ...] | AtelierError:
        """Return the file's tools, or its error."""
        from atelier_desk.tools.user_tools import user_tool

        try:
            async with asyncio.timeout(self.load_s):
                described = await self.processes.describe(file)
        except TimeoutError:
            return UsageError(
                N_("The file {name} took longer than {seconds} seconds to load. Move slow code into the functions."),
                name=file.name,
                seconds=f"{self.load_s:g}",
            )
        except AtelierError as error:
            return error
        return tuple(user_tool.make(file, each, self.processes) for each in described)

    async def aclose(self) -> None:
        """End all processes running files."""
        await self.processes.aclose()

    def _drop(self, file: str) -> None:
        loaded = self._loaded.pop(file, None)
        for name in loaded.tools if loaded else ():
            self._context.registry.unregister(name)

    def _described(self, file: ToolFile) -> OwnToolFile:
        loaded = self._loaded.get(file.name, _Loaded(file.sha256))
        if file.status is FileStatus.CONFIRMED and loaded.sha256 == file.sha256 and loaded.error is not None:
            return OwnToolFile(file.name, file.sha256, OwnToolState.BROKEN, reason=loaded.error.localized(_))
        return OwnToolFile(file.name, file.sha256, OwnToolState(file.status.value), loaded.tools)

    async def _confirmed(self) -> dict[str, str]:
        return (await self._context.settings.get()).confirmed_tools

    async def _files(self) -> builtins.list[ToolFile]:
        confirmed = await self._confirmed()
        return await in_storage_thread(tool_files.list_candidates, self.folder, confirmed)

    async def _file(self, name: str) -> ToolFile:
        found = await self._files()
        for file in found:
            if file.name == name:
                return file
        names = ", ".join(file.name for file in found) or _("none")
        raise NotFoundError(
            N_("There is no file {name} in {folder}. Files: {names}."), name=name, folder=self.folder, names=names
        )
