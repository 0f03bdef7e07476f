"""Folders of agents and the changes there, each as a diff, with undo."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QPushButton, QStackedWidget, QWidget

from atelier_desk.desktop.diff.view import DiffView
from atelier_desk.desktop.panes.files.change_tree import ChangeTree, counted, facts, marked_path
from atelier_desk.desktop.panes.files.leftover_undo_data import Leftovers
from atelier_desk.desktop.panes.files.tainted_files import MarkedFiles
from atelier_desk.desktop.panes.pane_base import Pane, toast
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    EmptyState,
    FlowLayout,
    IconButton,
    bind,
    bind_text,
    control,
    hbox,
    label,
    vbox,
)
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.workspace_folders.controller import FolderController
from atelier_desk.desktop.workspace_folders.granted_folder_rows import FolderRows
from atelier_desk.desktop.workspace_folders.held_file_row import WHY, HeldRow
from atelier_desk.desktop.workspace_folders.undo_file_changes import (
    ask_about_left,
    can_be_forced,
    undo_changes,
    undo_left_text,
)
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.file_change import Change
from atelier_desk.domain.held_file import HeldFile
from atelier_desk.presentation.file_change_text import held_file_text, path_text, undo_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import size
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMark

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.file_changes_and_trust import UndoneChange

SHOWN = 60_000
"""Maximum characters shown of a diff."""
MAX_READ = 20
"""Changes shown together as one diff."""


class FilesPane(Pane):
    """``files-pane``: the granted folders above, the list of changes or a single change below."""

    topics = ("file", "workflow")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("files-pane")
        self.folders = FolderController(bridge, self)
        self._changes: list[Change] = []
        self._open: tuple[Change, ...] = ()
        """The changes being read, newest first."""
        self._held_open: HeldFile | None = None
        self._grant = bind_text(self.add_tool("plus", self.folders.ask), tip=N_("Grant folder access…"))
        self._grant.setObjectName("files-grant")
        self._undo_all = bind_text(self.add_tool("undo-2", self.undo_all), tip=N_("Undo all changes"))
        self._undo_all.setObjectName("files-undo-all")
        self.column.addWidget(FolderRows(self.folders, self))
        self._problem = control(label("", "error", self, wrap=True), "files-problem")
        self._anyway = control(QPushButton(self), "files-undo-anyway", N_("Undo anyway"), look="danger", on=self._force)
        self._leave = control(QPushButton(self), "files-undo-leave", N_("Keep as is"), on=self._leave_it)
        self._left: tuple[UndoneChange, ...] = ()
        both = FlowLayout(None, 6)
        both.addWidget(self._leave)
        both.addWidget(self._anyway)
        self._note = vbox(None, self._problem, both, spacing=4)
        self._held: list[HeldFile] = []
        self._held_list = control(QWidget(self), "files-held")
        self._held_rows = vbox(self._held_list, spacing=2)
        self.column.addLayout(self._note)
        self.column.addWidget(self._held_list)
        self.empty = EmptyState("folder", parent=self)
        self.wait_with(self.empty)
        self.empty.button.setObjectName("files-grant-first")
        self.empty.button.clicked.connect(lambda *_: self.folders.ask())
        self.list = ChangeTree(self)
        self.list.opened.connect(self.open)
        self.list.menu_requested.connect(self._menu)
        self._marks: list[TaintMark] = []
        self.marked = MarkedFiles(self)
        self.marked.read.connect(self._mark_read)
        self.leftovers = Leftovers(self)
        self.leftovers.deleting.connect(self._delete_leftovers)
        self._stack = QStackedWidget(self)
        for page in (self.empty, self.list, self._build_reader()):
            self._stack.addWidget(page)
        # In a low pane the list shrinks first, and scrolls.
        bind(self._stack.setMinimumHeight, lambda: theme().px(46), on="look")
        self.column.addWidget(self.marked)
        self.column.addWidget(self._stack, 1)
        self.column.addWidget(self.leftovers)
        self.add_key("Escape", self.close_change, self._reader)
        bind_text(self.list, name=N_("Changed files"))
        self.folders.changed.connect(self._show)
        bind(self._show, on="language")

    def _build_reader(self) -> QWidget:
        self._reader = QWidget(self)
        back = control(IconButton("chevron-left", parent=self), tip=N_("Back to the list"), on=self.close_change)
        self._name = control(ElidedLabel("", self), look="strong")
        self._undo = control(QPushButton(self), "file-undo", N_("Undo changes"), on=self.undo_open)
        self._side = control(
            IconButton("columns-2", parent=self), "diff-side", tip=N_("Side by side or inline"), on=self._switch
        )
        self._side.setCheckable(True)
        more = self._more = control(IconButton("ellipsis", parent=self), "file-more", tip=N_("More"))
        more.clicked.connect(lambda *_: self._menu(self._open, more.mapToGlobal(QPoint(0, more.height()))))
        top = hbox(None, back, (self._name, 1), self._side, self._undo, more, spacing=4)
        self._facts = label("", "muted", self, wrap=True)
        MinuteClock(self._facts, self._show_facts)
        self.diff = DiffView(self)
        self._no_text = bind_text(label("", "muted", self), N_("There is no text to compare."))
        body = vbox(None, (self.diff, 1), (self._no_text, 0, Qt.AlignmentFlag.AlignTop), spacing=0)
        vbox(self._reader, top, self._facts, (body, 1), spacing=6)
        return self._reader

    def set_workflow(self, workflow_id: str) -> None:
        if workflow_id != self.workflow_id:
            self._open, self._held_open, self._left = (), None, ()
            self.folders.turn_to(workflow_id)
        super().set_workflow(workflow_id)

    def reload(self) -> None:
        self.jobs.start(self._load(self.workflow_id), "load")

    async def _load(self, workflow_id: str) -> None:
        workflow = None
        changes: list[Change] = []
        held: list[HeldFile] = []
        marks: list[TaintMark] = []
        if workflow_id:
            workflow = await self.bridge.engine.workflows.get(workflow_id)
            changes = await self.bridge.engine.files.list(workflow_id)
            held = await self.bridge.engine.files.held(workflow_id)
            marks = await self.bridge.engine.files.marked(workflow.workspace)
        leftovers, lost = await self.leftovers.load(self.bridge, workflow_id, bool(changes))
        if workflow_id != self.workflow_id:
            return
        self._changes, self._marks = changes, marks
        self._show_held(held)
        self.leftovers.show_leftovers(leftovers, lost)
        if self._held_open is not None and all(each.id != self._held_open.id for each in held):
            self._held_open = None
        self.was_read()
        self.folders.set_workflow(workflow)
        read = {change.id for change in self._open}
        self._open = tuple(change for change in changes if change.id in read)
        self._show()

    def _show_facts(self) -> None:
        if self._held_open is None and self._open:
            self._facts.setText(facts(self._open[0]) if len(self._open) == 1 else counted(self._open))

    def _show(self) -> None:
        self.list.show_changes(self._changes, {mark.path: mark.sources for mark in self._marks})
        reading = bool(self._open) or self._held_open is not None
        self.marked.show_marks(() if reading else self._marks, self.folders.folders)  # an open change needs the space
        alive = [change for change in self._changes if change.undoable]
        self.heading.setText(_("Files · {n}", n=number(len(alive))) if alive else _("Files"))
        self._grant.setEnabled(bool(self.workflow_id))
        self._undo_all.setEnabled(bool(alive))
        self._problem.setText("\n".join(undo_left_text(self._left)))
        for part in (self._problem, self._leave, self._anyway):
            part.setVisible(bool(self._left))
        self._held_list.setVisible(bool(self._held))
        if not self.folders.folders and not self._changes:
            hint = N_(
                "Agents can read and change files in folders that the workflow has access to. Each change "
                "can be undone here."
            )
            if self.workflow_id:
                self.empty.set_texts(N_("No workspace folder"), hint, N_("Grant folder access…"))
            else:
                self.empty.set_texts(
                    N_("No workspace folder"), N_("Start or open a workflow, then give it access to a folder here.")
                )
        else:
            self.empty.set_texts(N_("No changes yet"), N_("Changes that agents make in the folder appear here."))
        for button in (self._undo, self._more):
            button.setVisible(self._held_open is None)  # a held file is kept or discarded above
        if self._held_open is not None:
            self._name.setText(held_file_text(self._held_open))
            self._facts.setText(_(WHY))
            self._stack.setCurrentWidget(self._reader)
        elif self._open:
            self._name.setText(", ".join(dict.fromkeys(path_text(change) for change in reversed(self._open))))
            self._show_facts()
            self._undo.setEnabled(any(change.undoable for change in self._open))
            self._stack.setCurrentWidget(self._reader)
        else:
            self._stack.setCurrentWidget(self.list if self._changes else self.empty)

    def _show_held(self, held: list[HeldFile]) -> None:
        """Show the files waiting for a decision above the list."""
        if held == self._held:
            return
        self._held = held
        while (item := self._held_rows.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        for each in held:
            path = each.path + ("/" if each.folder else "")
            made = HeldRow(
                self.bridge, self.workflow_id, each.id, path, bool(each.replaces), self.show_error, self._held_list
            )
            made.opened.connect(partial(self._open_held, each))
            made.answered.connect(self.reload)
            self._held_rows.addWidget(made)
        self._held_list.setVisible(bool(held))
        self.waiting.emit(len(held))

    def _open_held(self, held: HeldFile) -> None:
        self.jobs.start(self._read_held(self.workflow_id, held), "load")

    async def _read_held(self, workflow_id: str, held: HeldFile) -> None:
        try:
            part = await self.bridge.engine.files.held_diff(workflow_id, held.id)
        except NotFoundError:
            await self._load(workflow_id)  # it was kept or discarded meanwhile
            return
        self._open, self._held_open = (), held
        self.diff.setVisible(bool(part.diff))
        self._no_text.setVisible(not part.diff)
        self.diff.show_diff(part.diff[:SHOWN], part.path)
        self._show()
        self.diff.setFocus()

    def open(self, *ids: str) -> None:
        """Show these changes as one diff, oldest first; more than ``MAX_READ`` stay a list."""
        self.jobs.start(self._read(self.workflow_id, frozenset(ids)), "load")

    async def _read(self, workflow_id: str, ids: frozenset[str]) -> None:
        if not ids <= {change.id for change in self._changes}:
            await self._load(workflow_id)  # the pane was just opened
        read = tuple(change for change in self._changes if change.id in ids)
        if len(read) > MAX_READ:
            self.close_change()
            return
        parts = [await self.bridge.engine.files.diff(workflow_id, change.id) for change in reversed(read)]
        if workflow_id != self.workflow_id:
            return
        self._open, self._held_open = read, None
        diff = "\n".join(part.diff.rstrip("\n") for part in parts if part.diff)
        self.diff.setVisible(bool(diff))
        self._no_text.setVisible(not diff)
        paths = {part.moved_to or part.path for part in parts}
        self.diff.show_diff(diff[:SHOWN], paths.pop() if len(paths) == 1 else "")
        self._show()
        self.diff.setFocus()

    def _switch(self) -> None:
        self.diff.set_mode("side" if self._side.isChecked() else "inline")

    def close_change(self) -> None:
        """Return to the list."""
        self._open, self._held_open = (), None
        self._show()
        self.list.setFocus()

    def undo_open(self) -> None:
        """Undo the open changes."""
        self._start_undo([change.id for change in self._open if change.undoable])

    def undo_all(self) -> None:
        """Undo all changes of the workflow that are not undone."""
        self._start_undo([change.id for change in self._changes if change.undoable])

    def _menu(self, changes: Sequence[Change | None], at: QPoint) -> QMenu | None:
        """The undo menu of a row: its own changes, all of the run that made them, everything since."""
        own = [change for change in changes if change is not None]
        if not own:
            return None
        alive = [change for change in own if change.undoable]
        first, runs = own[-1], {change.run_id for change in own}
        run = [change for change in self._changes if change.run_id in runs and change.undoable]
        since = [change for change in self._changes if change.id >= first.id and change.undoable]
        menu = QMenu(self)
        menu.setObjectName("file-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if len(own) == 1:
            menu.addAction(theme().icon("eye"), _("Show the change"), partial(self.open, first.id))
        for name, words, found in (
            ("own", ngettext("Undo this change", "Undo these {n} changes", len(alive)), alive),
            ("run", _("Undo all changes from this run ({n})", n=number(len(run))), run if len(runs) == 1 else []),
            ("since", _("Undo this change and all later ones ({n})", n=number(len(since))), since),
        ):
            if found:
                added = menu.addAction(
                    theme().icon("undo-2"), words, partial(self._start_undo, [change.id for change in found])
                )
                added.setObjectName(f"file-undo-{name}")
        paths = {path for change in own if (path := marked_path(change))}
        if read := [mark.path for mark in self._marks if mark.path in paths]:
            words = ngettext("Mark {n} file as read", "Mark {n} files as read", len(read))
            menu.addAction(theme().icon("check"), words, partial(self._mark_read, read)).setObjectName("file-mark-read")
        menu.popup(at)
        return menu

    def _mark_read(self, paths: Sequence[str]) -> None:
        self.jobs.once("mark-read", lambda: self._send_read(self.workflow_id, tuple(paths)))

    async def _send_read(self, workflow_id: str, paths: tuple[str, ...]) -> None:
        await self.bridge.engine.files.mark_read(paths)
        await self._load(workflow_id)

    def _delete_leftovers(self, keys: Sequence[str]) -> None:
        self.jobs.once("delete-leftovers", lambda: self._delete(self.workflow_id, tuple(keys)))

    async def _delete(self, workflow_id: str, keys: tuple[str, ...]) -> None:
        freed = await self.bridge.engine.files.cleaning.delete(keys)
        toast(self, _("{size} freed.", size=size(freed)))
        await self._load(workflow_id)

    def _leave_it(self) -> None:
        self._left = ()
        self._show()

    def _force(self) -> None:
        self._start_undo([each.change.id for each in self._left], force=True)

    def _start_undo(self, ids: Sequence[str], *, force: bool = False) -> None:
        if ids:
            self.jobs.once("undo", lambda: self._undo_changes(self.workflow_id, tuple(ids), force))

    async def _undo_changes(self, workflow_id: str, ids: tuple[str, ...], force: bool) -> None:
        done = await undo_changes(self.bridge, self, workflow_id, ids, force=force)
        left = [each for each in done if each.problem is not None]
        self._left = tuple(each for each in left if can_be_forced(each))
        count = len(done) - len(left)
        if others := [each for each in left if not can_be_forced(each)]:
            ask_about_left(self, others, some=bool(count))
        if count:
            undone = ngettext("{n} change undone", "{n} changes undone", count)
            stays = undo_text(each.change for each in done if each.problem is None)
            toast(self, f"{undone}. {stays}" if stays else undone)
        await self._load(workflow_id)
