"""What the import dialog previews and imports: a file of chats, or files of workflows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from atelier_desk.desktop.file_dialogs.open_save_confirm import read_text
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.domain.imported_chat import ChatFilePreview, ImportedChats
from atelier_desk.support.i18n import ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.imported_chat import ChatPreview

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ChatsFile:
    """A file of chats that another program exported."""

    _bridge: Bridge
    _path: Path
    workflows: ClassVar[bool] = False

    def name(self) -> str:
        return visible(self._path.name)

    async def preview(self, progress: Progress) -> ChatFilePreview:
        return await self._bridge.engine.chats.preview(self._path, progress)

    async def import_(self, chosen: tuple[str, ...], progress: Progress) -> ImportedChats:
        return await self._bridge.engine.chats.import_(self._path, chosen, progress)


@dataclass(frozen=True, slots=True)
class WorkflowFiles:
    """Workflows that Atelier exported, one in each file. Their keys are the paths."""

    _bridge: Bridge
    _paths: tuple[Path, ...]
    workflows: ClassVar[bool] = True

    def name(self) -> str:
        n = len(self._paths)
        return visible(self._paths[0].name) if n == 1 else ngettext("{n} file", "{n} files", n)

    async def preview(self, progress: Progress) -> ChatFilePreview:
        """Describe all. Of several files, those that cannot be read are left out; that of a single one raises."""
        found: list[ChatPreview] = []
        skipped: Counter[str] = Counter()
        for number, path in enumerate(self._paths, 1):
            try:
                each = await self._bridge.engine.workflows.preview(await read_text(path))
            except StorageError:
                raise  # of the data folder, not of the file
            except AtelierError:
                if len(self._paths) == 1:
                    raise
                skipped["unreadable"] += 1
            else:
                found.append(replace(each, key=str(path)))
            progress(number, len(self._paths))
        return ChatFilePreview(tuple(found), dict(skipped))

    async def import_(self, chosen: Collection[str], progress: Progress) -> ImportedChats:
        """Import those with the keys ``chosen``; one that exists is imported as a copy."""
        created: list[str] = []
        skipped: Counter[str] = Counter()
        for number, key in enumerate(chosen, 1):
            try:
                done = await self._bridge.engine.workflows.import_(await read_text(Path(key)))
            except StorageError:
                raise  # of the data folder, not of the file
            except AtelierError:
                if len(chosen) == 1:
                    raise
                skipped["unreadable"] += 1
            else:
                created.append(done.workflow.id)
            progress(number, len(chosen))
        return ImportedChats(tuple(created), skipped=dict(skipped))


Importable = ChatsFile | WorkflowFiles
