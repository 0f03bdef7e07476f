"""The granted folders of the workflow in view, or of the new one that the next message makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.workflow import Workflow


class FolderDesk(QObject):
    """Knows the folders and changes them; what shows them asks it and listens to ``changed``.

    Attributes:
        workflow_id: empty while the next message begins a workflow.
        folders: absolute.
        for_new: those chosen for the workflow that the next message makes.
        trusted: by folder, what was decided of it; None when nobody was asked.

    Signals:
        changed: other folders, or another decision.
    """

    changed = Signal()

    def __init__(self, bridge: Bridge, around: QWidget) -> None:
        super().__init__(around)
        self._bridge, self._around = bridge, around
        self.workflow_id = ""
        self.folders: tuple[str, ...] = ()
        self.trusted: dict[str, bool | None] = {}
        self.for_new: tuple[str, ...] = ()
        bridge.changed.connect(self._on_changed)

    # -- what it knows ----------------------------------------------------------------------------------------------------------
    def set_workflow(self, workflow: Workflow | None) -> None:
        """Another workflow is in view; None: the page of a new one."""
        self.workflow_id = workflow.id if workflow is not None else ""
        self._show(workflow.workspace if workflow is not None else self.for_new)

    def take(self, workflow: Workflow) -> None:
        """The workflow in view was read again."""
        if workflow.id == self.workflow_id and workflow.workspace != self.folders:
            self._show(workflow.workspace)

    def begun(self) -> None:
        """The new workflow was made: it has the folders that were chosen for it."""
        self.for_new = ()

    def _show(self, folders: tuple[str, ...]) -> None:
        self.folders = folders
        self.changed.emit()
        if folders and self._bridge.ready:
            self._bridge.jobs.start(self._read(folders), "folder trust")

    async def _read(self, folders: tuple[str, ...]) -> None:
        decided = await self._bridge.engine.files.trusted(folders)
        if folders == self.folders:
            self.trusted = decided
            self.changed.emit()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "file" and not key and self.folders:
            self._bridge.jobs.start(self._read(self.folders), "folder trust")

    # -- changing ---------------------------------------------------------------------------------------------------------------
    def ask(self) -> None:
        """Let the person choose a folder."""
        from atelier_desk.desktop.settings.files import ask_folder

        ask_folder(self._around, _("Grant a folder"), lambda path: self.grant([str(path)]))

    def grant(self, folders: Sequence[str]) -> None:
        """Let agents use these folders, too; of those nobody decided about, ask whether they are trusted."""
        new = tuple(folder for folder in dict.fromkeys(folders) if folder not in self.folders)
        if new:
            self._bridge.jobs.start(self._grant(self.workflow_id, new))

    def take_back(self, folder: str) -> None:
        """Agents may not use this folder any more, from the next message on."""
        left = tuple(each for each in self.folders if each != folder)
        if left != self.folders:
            self._bridge.jobs.start(self._keep(self.workflow_id, left))

    def ask_trust(self, folders: Sequence[str]) -> None:
        """Ask whether these are trusted, with what that means and what is in them."""
        self._bridge.jobs.start(self._ask_trust(tuple(folders)))

    def trust(self, folders: Sequence[str], trusted: bool) -> None:
        """Keep what the person decided, here and wherever these folders are used."""
        self._bridge.jobs.start(self._trust(tuple(folders), trusted))

    async def _grant(self, workflow_id: str, new: tuple[str, ...]) -> None:
        before = (await self._bridge.engine.workflows.get(workflow_id)).workspace if workflow_id else self.for_new
        await self._keep(workflow_id, tuple(dict.fromkeys((*before, *new))))
        decided = await self._bridge.engine.files.trusted(new)
        undecided = [folder for folder in new if decided[folder] is None]
        if undecided and workflow_id == self.workflow_id:
            await self._ask_trust(undecided)

    async def _ask_trust(self, folders: Sequence[str]) -> None:
        from atelier_desk.desktop.folders.question import ask_trust

        found = await self._bridge.engine.files.told(tuple(folders))
        ask_trust(self._around, folders, found, lambda yes: self.trust(folders, yes))

    async def _keep(self, workflow_id: str, folders: tuple[str, ...]) -> None:
        if workflow_id:
            await self._bridge.engine.workflows.set_workspace(workflow_id, folders)
        else:
            self.for_new = folders
        if workflow_id == self.workflow_id:
            self._show(folders)

    async def _trust(self, folders: tuple[str, ...], trusted: bool) -> None:
        for folder in folders:
            await self._bridge.engine.files.trust(folder, trusted)
        await self._read(self.folders)


def folders_of(data: QMimeData) -> list[str]:
    """The folders of this machine among what is dragged or pasted."""
    return [url.toLocalFile().rstrip("/") or "/" for url in data.urls() if url.isLocalFile() and Path(url.toLocalFile()).is_dir()]
