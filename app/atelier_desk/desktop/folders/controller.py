"""The granted folders of the workflow in view, or of the new one that the next message makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QMimeData, QObject, QSysInfo, Qt, QUrl, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.debouncer import Debouncer
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.stream.event import StreamEvent, Topic
    from atelier_desk.domain.workflow import Workflow

CHECK_DELAY_MS = 300
"""Names in a folder come and go in bursts: one look is enough."""
RECENT = 4
"""Folders of earlier workflows that are offered."""
_MAX_CHECKED = 50
"""Workflows among which they are looked for."""
_TURNS = frozenset({"workflow_start", "workflow_complete"})


class FolderController(QObject):
    """Knows the folders and changes them; what shows them asks it and listens to ``changed``.

    Attributes:
        workflow_id: empty while the next message begins a workflow.
        folders: absolute.
        for_new: those chosen for the workflow that the next message makes.
        trusted: by folder, what was decided of it; None when nobody was asked.
        missing: those of the folders that are not there.
        recent: folders of other workflows that are there and not granted here, the one used last first.

    Signals:
        changed: other folders, another decision, or one went or came back; also other recent ones.
    """

    changed = Signal()

    def __init__(self, bridge: Bridge, around: QWidget) -> None:
        super().__init__(around)
        self._bridge, self._around = bridge, around
        self.workflow_id = ""
        self.folders: tuple[str, ...] = ()
        self.trusted: dict[str, bool | None] = {}
        self.missing: frozenset[str] = frozenset()
        self.for_new: tuple[str, ...] = ()
        self.recent: tuple[str, ...] = ()
        self._watcher: QFileSystemWatcher | None = None
        self._debouncer = Debouncer(self, CHECK_DELAY_MS, self.refresh)
        bridge.stream_event.connect(self._on_stream)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._on_state)
        bridge.changed.connect(self._on_changed)

    def set_workflow(self, workflow: Workflow | None) -> None:
        """Another workflow is in view; None: the page of a new one."""
        self.workflow_id = workflow.id if workflow is not None else ""
        self._show(workflow.workspace if workflow is not None else self.for_new)

    def turn_to(self, workflow_id: str) -> None:
        """Another workflow is in view, and is being read: what is granted from now on is granted to it."""
        self.workflow_id = workflow_id

    def refresh_from(self, workflow: Workflow) -> None:
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
            self._bridge.jobs.start(self._read(folders), f"folders {id(self)}")
        if self._bridge.ready:
            self._bridge.jobs.start(self._read_recent(folders), f"recent folders {id(self)}")

    async def _read_recent(self, folders: tuple[str, ...]) -> None:
        engine = self._bridge.engine
        listed = await engine.workflows.list(limit=_MAX_CHECKED)
        newest = sorted(listed, key=lambda each: each.updated_at, reverse=True)
        used = tuple(dict.fromkeys(folder for each in newest for folder in each.workspace if folder not in folders))[: 2 * RECENT]
        missing = await engine.files.missing(used) if used else ()
        recent = tuple(folder for folder in used if folder not in missing)[:RECENT]
        if folders == self.folders and recent != self.recent:
            self.recent = recent
            self.changed.emit()

    async def _read(self, folders: tuple[str, ...]) -> None:
        files = self._bridge.engine.files
        decided, missing = await files.trusted(folders), frozenset(await files.missing(folders))
        if folders == self.folders:
            self.trusted, self.missing = decided, missing
            self._watch()
            self.changed.emit()

    def refresh(self) -> None:
        """Look again whether the folders are there."""
        if self.folders and self._bridge.ready:
            self._bridge.jobs.start(self._find_missing(self.folders), f"folders there {id(self)}")

    async def _find_missing(self, folders: tuple[str, ...]) -> None:
        missing = frozenset(await self._bridge.engine.files.missing(folders))
        if folders == self.folders and missing != self.missing:
            self.missing = missing
            self._watch()
            self.changed.emit()

    def _watch(self) -> None:
        """The system tells when a name in the folder above one comes or goes. Of what lies higher it tells nothing: that is looked at
        when a turn begins or ends, and when the window comes to the front."""
        if self._watcher is None:
            self._watcher = QFileSystemWatcher(self)
            self._watcher.directoryChanged.connect(lambda _path: self._debouncer.ask())
        wanted, kept = {str(Path(folder).parent) for folder in self.folders}, set(self._watcher.directories())
        if kept - wanted:
            self._watcher.removePaths(list(kept - wanted))
        if wanted - kept:
            self._watcher.addPaths(list(wanted - kept))  # what is not there is not watched

    def _on_stream(self, event: StreamEvent) -> None:
        if event.workflow_id == self.workflow_id and not event.depth and event.chunk_type.value in _TURNS:
            self.refresh()

    def _on_state(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._debouncer.ask()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "file" and not key and self.folders:
            self._bridge.jobs.start(self._read(self.folders), f"folders {id(self)}")

    def ask(self) -> None:
        """Let the person choose a folder."""
        from atelier_desk.desktop.settings.files import ask_folder

        ask_folder(self._around, _("Grant a folder"), lambda path: self.grant([str(path)]))

    def grant(self, folders: Sequence[str]) -> None:
        """Let agents use these folders, too; of those that hold files with instructions and nobody decided about, ask whether they are
        trusted."""
        self._bridge.jobs.start(self._grant(self.workflow_id, tuple(dict.fromkeys(folders))))

    def replace(self, folder: str) -> None:
        """Let the person choose a folder in the place of one that is not there."""
        from atelier_desk.desktop.settings.files import ask_folder

        def chosen(path: Path) -> None:
            self._bridge.jobs.start(self._replace(self.workflow_id, folder, str(path)))

        ask_folder(self._around, _("Choose folder"), chosen)

    def revoke(self, folder: str) -> None:
        """Agents may not use this folder any more."""
        self._bridge.jobs.start(self._revoke(self.workflow_id, folder))

    def ask_trust(self, folders: Sequence[str]) -> None:
        """Ask whether these are trusted, with what that means and what is in them."""
        self._bridge.jobs.start(self._ask_trust(tuple(folders)))

    def trust(self, folders: Sequence[str], trusted: bool) -> None:
        """Keep what the person decided, here and wherever these folders are used."""
        self._bridge.jobs.start(self._trust(tuple(folders), trusted))

    async def _grant(self, workflow_id: str, folders: tuple[str, ...]) -> None:
        before = await self._granted(workflow_id)
        new = tuple(folder for folder in folders if folder not in before)
        if not new:
            return
        await self._save(workflow_id, (*before, *new))
        await self._ask_where_needed(workflow_id, new)

    async def _replace(self, workflow_id: str, folder: str, other: str) -> None:
        """In its place: relative paths of agents begin in the first folder."""
        folders = [other if each == folder else each for each in await self._granted(workflow_id)]
        await self._save(workflow_id, tuple(dict.fromkeys(folders)))
        await self._ask_where_needed(workflow_id, (other,))

    async def _ask_where_needed(self, workflow_id: str, folders: tuple[str, ...]) -> None:
        """Ask about those nobody decided about, and only where there is something to trust: files with instructions. The others stay
        untrusted, and the folder's menu can change that."""
        files = self._bridge.engine.files
        decided = await files.trusted(folders)
        undecided = [folder for folder in folders if decided[folder] is None and await files.instruction_files((folder,))]
        if undecided and workflow_id == self.workflow_id:
            await self._ask_trust(undecided)

    async def _ask_trust(self, folders: Sequence[str]) -> None:
        from atelier_desk.desktop.folders.question import ask_trust

        found = await self._bridge.engine.files.instruction_files(tuple(folders))
        ask_trust(self._around, folders, found, lambda yes: self.trust(folders, yes))

    async def _revoke(self, workflow_id: str, folder: str) -> None:
        await self._save(workflow_id, tuple(each for each in await self._granted(workflow_id) if each != folder))

    async def _granted(self, workflow_id: str) -> tuple[str, ...]:
        """As it is stored: what is shown may be a moment old, and a folder must not be lost over it."""
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


def files_of(data: QMimeData) -> list[str]:
    """The files and folders among what is dragged or pasted. ``file://localhost/…`` and this machine's name are this machine, as the
    drag-and-drop protocol of X11 writes them; a path of another machine keeps its ``//name`` and is not found.
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
    """The folders of this machine among what is dragged or pasted."""
    return [path.rstrip("/") or "/" for path in files_of(data) if Path(path).is_dir()]
