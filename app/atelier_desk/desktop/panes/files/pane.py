"""The folders agents may use, what they changed there, each change as a diff, and taking changes back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.panes.base import Pane, toast
from atelier_desk.desktop.panes.two_line import KeyRole, dress_list, two_line_item
from atelier_desk.desktop.panes.wording import ago, number
from atelier_desk.desktop.settings.files import ask_folder
from atelier_desk.desktop.widgets import ElidedLabel, EmptyState, IconButton, control, fill, label, say
from atelier_desk.domain.change import Change
from atelier_desk.file_words import ACTIONS, path_words, state_words
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.engine.services.files import UndoneChange

_ICONS = {"created": "plus", "changed": "pencil", "deleted": "trash-2", "moved": "folder"}
SHOWN = 60_000
"""Characters of a diff that are shown."""


class FilesPane(Pane):
    """``files-pane``: the granted folders above, below them the list of changes or one change. Folders can be dropped on it."""

    topics = ("file", "workflow")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("files-pane")
        self.setAcceptDrops(True)
        self._folders: tuple[str, ...] = ()
        self._changes: list[Change] = []
        self._open: Change | None = None
        self._grant = say(self.add_tool("plus", self.grant), tip=N_("Grant a folder…"))
        self._grant.setObjectName("files-grant")
        self._undo_all = say(self.add_tool("undo-2", self.undo_all), tip=N_("Undo all changes"))
        self._undo_all.setObjectName("files-undo-all")
        self._rows = QVBoxLayout()
        self._rows.setSpacing(0)
        self.column.addLayout(self._rows)
        self._problem = control(label("", "error", self, wrap=True), "files-problem")
        self._anyway = control(QPushButton(self), "files-undo-anyway", N_("Undo anyway"), on=self._force)
        self._left: tuple[str, ...] = ()
        self._note = fill(QVBoxLayout(), self._problem, (self._anyway, 0, Qt.AlignmentFlag.AlignLeft), spacing=4)
        self.column.addLayout(self._note)
        self.empty = EmptyState("folder", parent=self)
        self.empty.button.setObjectName("files-grant-first")
        self.empty.button.clicked.connect(lambda *_: self.grant())
        self.list = QListWidget(self)
        self.list.setObjectName("file-changes")
        dress_list(self.list)
        self.list.itemActivated.connect(lambda item: self.open(item.data(KeyRole)))
        self.list.itemClicked.connect(lambda item: self.open(item.data(KeyRole)))
        self._stack = QStackedWidget(self)
        for page in (self.empty, self.list, self._build_reader()):
            self._stack.addWidget(page)
        self.column.addWidget(self._stack, 1)
        self.add_key("Escape", self.close_change, self._reader)
        say(self.list, name=N_("Changed files"))
        self.retranslate()

    def _build_reader(self) -> QWidget:
        self._reader = QWidget(self)
        back = control(IconButton("chevron-left", parent=self), tip=N_("Back to the list"), on=self.close_change)
        self._name = control(ElidedLabel("", self), look="strong")
        self._undo = control(QPushButton(self), "file-undo", N_("Undo"), on=self.undo_open)
        top = fill(QHBoxLayout(), back, (self._name, 1), self._undo, spacing=4)
        self._facts = label("", "muted", self, wrap=True)
        self.diff = CodeCard("", "diff", self)
        self.diff.height_changed.connect(self._fit)
        # In the conversation a card is reached as a whole; here its text is a stop of the Tab key.
        for text in self.diff.findChildren(QPlainTextEdit):
            text.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            text.setTabChangesFocus(True)
        self._scroll = QScrollArea(self)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self.diff)
        fill(QVBoxLayout(self._reader), top, self._facts, (self._scroll, 1), margins=(0, 0, 0, 0), spacing=6)
        return self._reader

    # showing ------------------------------------------------------------------------------------------------------------------------

    def set_workflow(self, workflow_id: str) -> None:
        if workflow_id != self.workflow_id:
            self._open, self._left = None, ()
        super().set_workflow(workflow_id)

    def reload(self) -> None:
        self.jobs.start(self._load(self.workflow_id), "load")

    async def _load(self, workflow_id: str) -> None:
        folders: tuple[str, ...] = ()
        changes: list[Change] = []
        if workflow_id:
            folders = (await self.bridge.engine.workflows.get(workflow_id)).workspace
            changes = await self.bridge.engine.files.list(workflow_id)
        if workflow_id != self.workflow_id:
            return
        self._folders, self._changes = folders, changes
        if self._open is not None:
            self._open = next((change for change in changes if change.id == self._open.id), None)
        self._show()

    def _show(self) -> None:
        self._show_folders()
        chosen = self.list.currentRow()
        self.list.clear()
        for change in self._changes:
            role = "accent" if change.undoable else "muted"
            two_line_item(self.list, change.id, path_words(change), _facts(change), _ICONS[change.action], role)  # type: ignore[arg-type]
        self.list.setCurrentRow(min(max(chosen, 0), self.list.count() - 1))
        alive = [change for change in self._changes if change.undoable]
        self.heading.setText(_("FILES · {n}", n=number(len(alive))) if alive else _("FILES"))
        self._grant.setEnabled(bool(self.workflow_id))
        self._undo_all.setEnabled(bool(alive))
        self._problem.setVisible(bool(self._left))
        self._anyway.setVisible(bool(self._left))
        if not self._folders and not self._changes:
            hint = N_("Agents can read and change files in a folder you grant to the workflow. Each change can be undone here.")
            if self.workflow_id:
                self.empty.set_texts(N_("No folder granted"), hint, N_("Grant a folder…"))
            else:
                self.empty.set_texts(N_("No folder granted"), N_("Begin or open a workflow, then grant it a folder here."))
        else:
            self.empty.set_texts(N_("Nothing changed yet"), N_("What agents change in the folder appears here."))
        if self._open is not None:
            self._name.setText(path_words(self._open))
            self._facts.setText(_facts(self._open))
            self._undo.setEnabled(self._open.undoable)
            self._stack.setCurrentWidget(self._reader)
        else:
            self._stack.setCurrentWidget(self.list if self._changes else self.empty)

    def _show_folders(self) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.deleteLater()
        for folder in self._folders:
            row = QWidget(self)
            name = control(ElidedLabel(_short(folder), row), "files-folder", look="muted", tip=partial(str, folder))
            remove = control(IconButton("x", parent=row, size=14), "files-ungrant", on=partial(self.ungrant, folder))
            say(remove, tip=partial(_take_words, folder))
            fill(QHBoxLayout(row), (name, 1), remove, margins=(0, 0, 0, 0), spacing=4)
            self._rows.addWidget(row)

    def retranslate(self) -> None:
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        width = max(40, self._scroll.viewport().width())
        self.diff.setFixedSize(width, self.diff.fit(width))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    # one change -----------------------------------------------------------------------------------------------------------------------

    def open(self, change_id: str) -> None:
        """Show this change as a diff."""
        self.jobs.start(self._read(self.workflow_id, change_id), "load")

    async def _read(self, workflow_id: str, change_id: str) -> None:
        part = await self.bridge.engine.files.diff(workflow_id, change_id)
        self._open = next((change for change in self._changes if change.id == change_id), None)
        # The two lines that name the file say again what stands above.
        text = "\n".join(part.diff[:SHOWN].split("\n")[2:]) or _("There is no text to compare.")
        self.diff.update_code("")
        self.diff.update_code(text, "diff" if part.diff else "")
        self.diff.freeze()
        self._show()
        self._fit()
        self._scroll.setFocus()

    def close_change(self) -> None:
        """Back to the list."""
        self._open = None
        self._show()
        self.list.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.list.currentItem()
        if self.list.hasFocus() and item is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open(item.data(KeyRole))
        else:
            super().keyPressEvent(event)

    # undoing ------------------------------------------------------------------------------------------------------------------------

    def undo_open(self) -> None:
        """Take the open change back."""
        if self._open is not None:
            self._start_undo([self._open.id])

    def undo_all(self) -> None:
        """Take all changes of the workflow back that are not."""
        self._start_undo([change.id for change in self._changes if change.undoable])

    def _force(self) -> None:
        self._start_undo(self._left, force=True)

    def _start_undo(self, ids: Sequence[str], *, force: bool = False) -> None:
        if ids:
            self.jobs.once("undo", lambda: self._take_back(self.workflow_id, tuple(ids), force))

    async def _take_back(self, workflow_id: str, ids: tuple[str, ...], force: bool) -> None:
        done: list[UndoneChange] = await self.bridge.engine.files.undo(workflow_id, ids, force=force)
        left = [each for each in done if each.problem is not None]
        self._left = tuple(each.change.id for each in left)
        self._problem.setText("\n".join(each.problem.localized(_) for each in left[:5] if each.problem is not None))
        count = len(done) - len(left)
        if count:
            toast(self, ngettext("{n} change undone", "{n} changes undone", count))
        await self._load(workflow_id)

    # folders ------------------------------------------------------------------------------------------------------------------------

    def grant(self) -> None:
        """Ask for a folder and let the workflow's agents use it."""
        if self.workflow_id:
            ask_folder(self, _("Grant a folder"), lambda path: self.grant_folders([str(path)]))

    def grant_folders(self, folders: Sequence[str]) -> None:
        """Let the workflow's agents use these folders, too."""
        self._set_folders(tuple(dict.fromkeys((*self._folders, *folders))))

    def ungrant(self, folder: str) -> None:
        """Agents may not use this folder any more, from the next message on."""
        self._set_folders(tuple(each for each in self._folders if each != folder))

    def _set_folders(self, folders: tuple[str, ...]) -> None:
        if self.workflow_id and folders != self._folders:
            self.jobs.start(self._keep(self.workflow_id, folders))

    async def _keep(self, workflow_id: str, folders: tuple[str, ...]) -> None:
        await self.bridge.engine.workflows.set_workspace(workflow_id, folders)
        await self._load(workflow_id)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self.workflow_id and _dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.grant_folders(_dropped(event))
        event.acceptProposedAction()


def _dropped(event: QDropEvent) -> list[str]:
    """The folders among what is dragged."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile() and Path(url.toLocalFile()).is_dir()]


def _take_words(folder: str) -> str:
    return _("Take the folder {name} back", name=Path(folder).name)


def _facts(change: Change) -> str:
    return " · ".join(filter(None, (_(ACTIONS[change.action]), change.agent_name, ago(change.at), state_words(change))))


def _short(folder: str) -> str:
    """The folder's own name first: a path is cut at its end, and its beginning says least."""
    path, home = Path(folder), Path.home()
    above = f"~/{path.parent.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path.parent)
    return f"{path.name} · {above.removesuffix('/.')}" if path.name else folder
