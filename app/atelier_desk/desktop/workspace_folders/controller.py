"""The workspace folders of the workflow in view, or of the new one that the next message creates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QMimeData, QObject, QSysInfo, Qt, QUrl, Signal
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.workspace_folders.trust_question import ask_trust
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.workflow import Workflow

CHECK_DELAY_MS = 300
"""Milliseconds: changes in a folder come in bursts, so one check is enough."""
RECENT = 4
"""Number of recent folders offered."""
_MAX_CHECKED = 50
"""Number of workflows searched for them."""


class FolderController(QObject):
    """Owns the folders; views read its attributes and connect to ``changed``.

    Attributes:
        workflow_id: empty while the next message creates a workflow.
        folders: absolute paths.
        for_new: folders selected for the next new workflow.
        trusted: the trust decision by folder; None if undecided.
        instructed: the folders that hold files with instructions, so that trust makes a difference.
        missing: folders that do not exist.
        recent: existing folders of other workflows not granted here, most recently used first.

    Signals:
        changed: folders, trust, existence or recent folders changed.
    """

    changed = Signal()

    def __init__(self, bridge: Bridge, around: QWidget) -> None:
        super().__init__(around)
        self._bridge, self._around = bridge, around
        self.workflow_id = ""
        self.folders: tuple[str, ...] = ()
        self.trusted: dict[str, bool | None] = {}
        self.instructed: frozenset[str] = frozenset()
        self.missing: frozenset[str] = frozenset()
        self.for_new: tuple[str, ...] = ()
        self.recent: tuple[str, ...] = ()
        self._watcher: QFileSystemWatcher | None = None
        self._debouncer = Debouncer(self, CHECK_DELAY_MS, self.refresh)
        stream = StreamRouter(bridge.stream_event, self, lambda: self.workflow_id)
        stream.turn_began.connect(lambda *_: self.refresh())
        stream.turn_ended.connect(lambda *_: self.refresh())
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._on_state)
        bridge.changed.connect(self._on_changed)

    def set_workflow(self, workflow: Workflow | None) -> None:
        """Set the workflow in view; None for the page of a new one."""
        self.workflow_id = workflow.id if workflow is not None else ""
        self._show(workflow.workspace if workflow is not None else self.for_new)

    def turn_to(self, workflow_id: str) -> None:
        """Another workflow is being loaded: folders granted from now on belong to it."""
        self.workflow_id = workflow_id

    def refresh_from(self, workflow: Workflow) -> None:
        """The workflow in view was reloaded."""
        if workflow.id == self.workflow_id and workflow.workspace != self.folders:
            self._show(workflow.workspace)

    def begun(self) -> None:
        """The new workflow was created with the folders selected for it."""
        self.for_new = ()

    def _show(self, folders: tuple[str, ...]) -> None:
        self.folders = folders
        self.changed.emit()
        if folders and self._bridge.ready:
            self._bridge.jobs.start(self._read(folders), f"folders {id(self)}")
        if self._bridge.ready:
            self._bridge.jobs.start(self._read_recent(folders), f"recent folders {id(self)}")

    async def _read_recent(self, folders: tuple[str, ...]) -> None:
        engine = self._bridge.engine
        listed = await engine.workflows.list(limit=_MAX_CHECKED)
        newest = sorted(listed, key=lambda each: each.updated_at, reverse=True)
        used = tuple(dict.fromkeys(folder for each in newest for folder in each.workspace if folder not in folders))[
            : 2 * RECENT
        ]
        missing = await engine.files.missing(used) if used else ()
        recent = tuple(folder for folder in used if folder not in missing)[:RECENT]
        if folders == self.folders and recent != self.recent:
            self.recent = recent
            self.changed.emit()

    async def _read(self, folders: tuple[str, ...]) -> None:
        decided = await self._bridge.engine.files.trusted(folders)
        missing, instructed = await self._inspect(folders)
        if folders == self.folders:
            self.trusted, self.missing, self.instructed = decided, missing, instructed
            self._watch()
            self.changed.emit()

    def trust_matters(self, folder: str) -> bool:
        """Whether trust is worth showing: the folder holds instructions, or was trusted and may get some."""
        return folder in self.instructed or bool(self.trusted.get(folder))

    # -- whether they are there
    # ---------------------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Check again whether the folders exist and hold instructions."""
        if self.folders and self._bridge.ready:
            self._bridge.jobs.start(self._refresh(self.folders), f"folders there {id(self)}")

    async def _refresh(self, folders: tuple[str, ...]) -> None:
        found = await self._inspect(folders)
        if folders == self.folders and found != (self.missing, self.instructed):
            self.missing, self.instructed = found
            self._watch()
            self.changed.emit()

    async def _inspect(self, folders: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the folders that are not there, and those with instructions."""
        files = self._bridge.engine.files
        missing = frozenset(await files.missing(folders))
        existing = [folder for folder in folders if folder not in missing]
        return missing, frozenset([folder for folder in existing if await files.instruction_files((folder,))])

    def _watch(self) -> None:
        """Watch the parent folders. Changes higher up are not reported by the system.

        Those are checked when a turn begins or ends, and when the window is activated.
        """
        if self._watcher is None:
            self._watcher = QFileSystemWatcher(self)
            self._watcher.directoryChanged.connect(lambda _path: self._debouncer.ask())
        parents, watched = {str(Path(folder).parent) for folder in self.folders}, set(self._watcher.directories())
        if watched - parents:
            self._watcher.removePaths(list(watched - parents))
        if parents - watched:
            self._watcher.addPaths(list(parents - watched))  # missing paths cannot be watched

    def _on_state(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._debouncer.ask()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "file" and not key and self.folders:
            self._bridge.jobs.start(self._read(self.folders), f"folders {id(self)}")

    def ask(self) -> None:
        """Let the user choose a folder."""
        ask_folder(self._around, _("Grant folder access"), lambda path: self.grant([str(path)]))

    def grant(self, folders: Sequence[str]) -> None:
        """Grant these folders; ask about trust for undecided ones that contain files with instructions."""
        self._bridge.jobs.start(self._grant(self.workflow_id, tuple(dict.fromkeys(folders))))

    def replace(self, folder: str) -> None:
        """Let the user choose a replacement for a missing folder."""

        def chosen(path: Path) -> None:
            self._bridge.jobs.start(self._replace(self.workflow_id, folder, str(path)))

        ask_folder(self._around, _("Choose a folder"), chosen)

    def revoke(self, folder: str) -> None:
        """Revoke access to this folder."""
        self._bridge.jobs.start(self._revoke(self.workflow_id, folder))

    def ask_trust(self, folders: Sequence[str]) -> None:
        """Ask whether these are trusted, explaining what that means and what they contain."""
        self._bridge.jobs.start(self._ask_trust(tuple(folders)))

    def trust(self, folders: Sequence[str], trusted: bool) -> None:
        """Store the trust decision, which applies wherever these folders are used."""
        self._bridge.jobs.start(self._trust(tuple(folders), trusted))

    async def _grant(self, workflow_id: str, folders: tuple[str, ...]) -> None:
        before = await self._granted(workflow_id)
        new = tuple(folder for folder in folders if folder not in before)
        if not new:
            return
        await self._save(workflow_id, (*before, *new))
        await self._ask_where_needed(workflow_id, new)

    async def _replace(self, workflow_id: str, folder: str, other: str) -> None:
        """Replace at the same position: agents resolve relative paths against the first folder."""
        folders = [other if each == folder else each for each in await self._granted(workflow_id)]
        await self._save(workflow_id, tuple(dict.fromkeys(folders)))
        await self._ask_where_needed(workflow_id, (other,))

    async def _ask_where_needed(self, workflow_id: str, folders: tuple[str, ...]) -> None:
        """Ask about undecided folders with files with instructions.

        Others stay untrusted, which the folder's menu can change.
        """
        files = self._bridge.engine.files
        decided = await files.trusted(folders)
        undecided = [
            folder for folder in folders if decided[folder] is None and await files.instruction_files((folder,))
        ]
        if undecided and workflow_id == self.workflow_id:
            await self._ask_trust(undecided)

    async def _ask_trust(self, folders: Sequence[str]) -> None:
        found = await self._bridge.engine.files.instruction_files(tuple(folders))
        ask_trust(self._around, folders, found, lambda yes: self.trust(folders, yes))

    async def _revoke(self, workflow_id: str, folder: str) -> None:
        await self._save(workflow_id, tuple(each for each in await self._granted(workflow_id) if each != folder))

    async def _granted(self, workflow_id: str) -> tuple[str, ...]:
        """The stored folders: displayed ones may be outdated, and none must be lost."""
        return (await self._bridge.engine.workflows.get(workflow_id)).workspace if workflow_id else self.for_new

    async def _save(self, workflow_id: str, folders: tuple[str, ...]) -> None:
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


def accept_copy(event: QDropEvent) -> None:
    """Accept what is dragged as a copy, so that its source keeps it; refuse it if it can only be moved."""
    if event.possibleActions() & Qt.DropAction.CopyAction:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
    else:
        event.setDropAction(Qt.DropAction.IgnoreAction)
        event.ignore()


def files_of(data: QMimeData) -> list[str]:
    """Dragged or pasted files and folders.

    ``file://localhost/…`` and this machine's name are local, as written by X11's drag-and-drop protocol; a path of
    another machine keeps its ``//name`` and is not found.
    """
    here = {"", "localhost", QSysInfo.machineHostName().casefold()}
    found: list[str] = []
    for url in data.urls():
        address = QUrl(url)
        if address.host().casefold() in here:
            address.setHost("")
        if address.isLocalFile() and address.toLocalFile():
            found.append(address.toLocalFile())
    return found


def folders_of(data: QMimeData) -> list[str]:
    """Dragged or pasted folders of this machine."""
    return [path.rstrip("/") or "/" for path in files_of(data) if Path(path).is_dir()]
