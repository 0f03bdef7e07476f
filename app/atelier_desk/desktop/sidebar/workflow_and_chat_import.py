"""Import workflows and chats exported from other programs: choose a file, preview it, select chats, undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QPushButton,
    QWidget,
)
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open, read_text
from atelier_desk.desktop.settings.progress_line import Busy, Outcome
from atelier_desk.desktop.sidebar.chat_rows import ChatList, ChatRows
from atelier_desk.desktop.widgets import bind, bind_text, control, fit_window, hbox, label, vbox
from atelier_desk.domain.imported_chat import ChatFilePreview, ImportedChats
from atelier_desk.presentation.chat_import_text import done_words, found_text, skipped_words
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.number_format import number
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

KINDS = N_("Workflows and chats (*.json *.zip)")
POLL_MS = 200
"""Milliseconds between two readings of the engine's progress."""


class Importer(QObject):
    """Imports files: workflows at once, chats after a selection.

    Signals:
        imported: the workflow with this id was imported.
        said: the outcome of importing a workflow, or why it failed.
    """

    imported = Signal(str)
    status_changed = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._widget = bridge, parent
        self._waiting: list[Path] = []
        """Files whose chats are selected after those of the dialog in view, so that dialogs are not stacked."""
        self._in_view = False

    def ask(self) -> None:
        """Ask for a file and import it."""
        ask_open(self._widget, _("Import workflows or chats"), _(KINDS), self.import_file)

    def import_file(self, path: Path) -> None:
        """Import a file, chosen or dropped."""
        self._bridge.jobs.once(("import", str(path)), lambda: self._import_file(path))

    async def _import_file(self, path: Path) -> None:
        if not await self._bridge.engine.chats.is_workflow(path):
            if path not in self._waiting:
                self._waiting.append(path)
            if not self._in_view:
                self._show_next()
            return
        done = await self._bridge.engine.workflows.import_(await read_text(path))
        self.status_changed.emit(_("“{name}” imported", name=done.workflow.name))
        self.imported.emit(done.workflow.id)

    def _show_next(self) -> None:
        self._in_view = bool(self._waiting)
        if self._waiting:
            dialog = ChatImportDialog(self._bridge, self._waiting.pop(0), self._widget)
            dialog.opened.connect(self.imported)
            dialog.finished.connect(lambda _result: self._show_next())
            dialog.open()

    async def import_dropped(self, paths: list[str]) -> list[str]:
        """Import those files that are workflows or exported chats; returns the others."""
        others = []
        for name in paths:
            path = Path(name)
            if await self._bridge.engine.chats.is_export(path):
                self.import_file(path)
            else:
                others.append(name)
        return others


class ChatImportDialog(QDialog):
    """``chat-import``: the chats in a file with a check box each, then the result with an undo.

    Signals:
        opened: show the imported workflow with this id.
    """

    opened = Signal(str)

    def __init__(self, bridge: Bridge, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chat-import")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._bridge, self._path = bridge, path
        self.jobs = Jobs(self, lambda text: self.busy.note(text, "error"))
        self._preview: ChatFilePreview | None = None
        self._done: ImportedChats | None = None
        self._read = (0, 0)
        self._title = bind_text(label("", "title", self), N_("Import chats"))
        self.found = control(label("", "muted", self, wrap=True), "chats-found")
        self.filter = control(QLineEdit(self), "chats-filter", hint=N_("Filter by title"), name=N_("Filter by title"))
        self.filter.setClearButtonEnabled(True)
        self.rows = ChatRows(self)
        self.rows.changed.connect(self._enable)
        self.filter.textChanged.connect(self.rows.filter)
        self.list = control(ChatList(self), "chats-list", name=N_("Chats in the file"))
        self.list.setModel(self.rows)
        self.list.setUniformItemSizes(True)
        self.all = control(
            QPushButton(self), "chats-all", N_("Select all"), look="ghost", on=lambda: self.rows.check_all(True)
        )
        self.none = control(
            QPushButton(self), "chats-none", N_("Select none"), look="ghost", on=lambda: self.rows.check_all(False)
        )
        self.busy = Busy(self)
        self.undo = control(QPushButton(self), "chats-undo", N_("Undo import"), on=self.undo_import)
        self.close_ = control(QPushButton(self), "chats-close", N_("Close"), on=self.reject)
        self.import_button = control(
            QPushButton(self), "chats-import", self._import_text, look="primary", on=self.import_chosen
        )
        self.import_button.setDefault(True)
        self._choice = QWidget(self)  # keeps its place while there is nothing to select
        line = hbox(None, (self.filter, 1), self.all, self.none, spacing=8)
        vbox(self._choice, line, (self.list, 1), spacing=10)
        foot = hbox(None, self.undo, 1, self.close_, self.import_button, spacing=8)
        vbox(
            self,
            self._title,
            self.found,
            self.busy,
            (self._choice, 1),
            foot,
            margins=(24, 20, 24, 20),
            spacing=10,
        )
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._show_progress)
        bind_text(self, title=N_("Import chats"))
        fit_window(self, QSize(680, 520))
        bind(self._fill, on="language")
        self._work(self._preview_file, N_("Reading the file…"))

    def _work(self, work: Callable[[], object], what: str) -> None:
        self._read = (0, 0)
        self._timer.start()
        task = self.busy.run(self.jobs, "work", work, what, problem=error_text)  # type: ignore[arg-type]
        if task is not None:
            task.add_done_callback(lambda _task: self._ended())
        self._enable()

    def _progress(self, done: int, total: int) -> None:
        """Called on the engine's thread."""
        self._read = (done, total)

    def _show_progress(self) -> None:
        if self._read[1]:
            self.busy.set_progress(self._read[0] * 1000 // self._read[1], 1000)

    def _ended(self) -> None:
        if not isValid(self):
            return
        self._timer.stop()
        self._enable()
        (self.list if self._preview is not None else self.close_).setFocus()

    async def _preview_file(self) -> Outcome | None:
        self._preview = await self._bridge.engine.chats.preview(self._path, self._progress)
        self.rows.show(self._preview.chats)
        self._fill()
        skipped = self._preview.skipped
        return (lambda: "\n".join(skipped_words(skipped)), "warn") if skipped else None

    def import_chosen(self) -> None:
        """Import the selected chats."""
        chosen = tuple(self.rows.chosen())
        if chosen and not self.busy.running:
            self._work(lambda: self._import(chosen), N_("Importing…"))

    async def _import(self, chosen: tuple[str, ...]) -> Outcome:
        done = self._done = await self._bridge.engine.chats.import_(self._path, chosen, self._progress)
        self._preview = None
        self.rows.show(())
        if len(done.created) == 1:
            self.opened.emit(done.created[0])
        self._fill()
        skipped = {name: count for name, count in done.skipped.items() if name not in ("unknown", "empty")}
        return lambda: "\n".join([done_words(done), *skipped_words(skipped)]), "warn" if skipped else "ok"

    def undo_import(self) -> None:
        """Delete the imported workflows; they can be restored from "Recently deleted"."""
        if self._done is not None and self._done.created and not self.busy.running:
            self._work(self._undo_import, N_("Undoing the import…"))

    async def _undo_import(self) -> Outcome:
        assert self._done is not None
        ids, self._done = self._done.created, None
        for number_, each in enumerate(ids, 1):
            await self._bridge.engine.workflows.delete(each)
            self._read = (number_, len(ids))
        return lambda: ngettext("{n} imported chat deleted", "{n} imported chats deleted", len(ids)), "ok"

    def reject(self) -> None:
        """Closing stops the import; workflows imported so far remain."""
        self.busy.cancel()
        super().reject()

    def _fill(self) -> None:
        """Show the chats, and texts in another language."""
        self.found.setText(
            f"{visible(self._path.name)} · {found_text(self._preview)}" if self._preview else visible(self._path.name)
        )
        self.rows.refresh()
        self._enable()

    def _import_text(self) -> str:
        n = self.rows.count
        return ngettext("Import {number} chat", "Import {number} chats", n, number=number(n)) if n else _("Import")

    def _enable(self) -> None:
        running = self.busy.running
        for part in (self.filter, self.list, self.all, self.none):
            part.setVisible(self._preview is not None)
            part.setEnabled(not running)
        self.import_button.setVisible(self._done is None)
        self.import_button.setEnabled(bool(self.rows.count) and not running)
        bind_text(self.import_button)
        self.undo.setVisible(self._done is not None and bool(self._done.created))
        self.undo.setEnabled(not running)
