"""Import workflows and chats exported from other programs: choose a file, preview it, select chats, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
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
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open_files
from atelier_desk.desktop.settings.progress_line import Busy, Outcome
from atelier_desk.desktop.sidebar.chat_rows import ChatList, ChatRows
from atelier_desk.desktop.sidebar.importable_files import ChatsFile, Importable, WorkflowFiles
from atelier_desk.desktop.widgets import bind, bind_text, control, fit_window, hbox, label, vbox
from atelier_desk.domain.imported_chat import ChatFilePreview, ImportedChats
from atelier_desk.presentation.chat_import_text import done_words, found_text, skipped_words, stopped_words
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import number

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

KINDS = N_("Workflows and chats (*.json *.zip)")
POLL_MS = 200
"""Milliseconds between two readings of the engine's progress."""


class Importer(QObject):
    """Imports workflows and chats after a selection.

    Signals:
        imported: the workflow with this id was imported.
    """

    imported = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._widget = bridge, parent
        self._waiting: list[Importable] = []
        """What is selected from after the dialog in view, so that dialogs are not stacked."""
        self._in_view = False

    def ask(self) -> None:
        """Ask for files and import them."""
        ask_open_files(self._widget, _("Import workflows or chats"), _(KINDS), self.import_files)

    def import_files(self, paths: Sequence[Path]) -> None:
        """Import files, chosen or dropped; all workflows among them are selected in one dialog."""
        self._bridge.jobs.once(("import", *map(str, paths)), lambda: self._import_files(paths))

    async def _import_files(self, paths: Sequence[Path]) -> None:
        paths = list(dict.fromkeys(paths))
        workflows = [path for path in paths if await self._bridge.engine.chats.is_workflow(path)]
        chats = [ChatsFile(self._bridge, path) for path in paths if path not in workflows]
        found: list[Importable] = [WorkflowFiles(self._bridge, tuple(workflows))] if workflows else []
        self._waiting += [each for each in (*found, *chats) if each not in self._waiting]
        if not self._in_view:
            self._show_next()

    def _show_next(self) -> None:
        self._in_view = bool(self._waiting)
        if self._waiting:
            dialog = ChatImportDialog(self._bridge, self._waiting.pop(0), self._widget)
            dialog.opened.connect(self.imported)
            dialog.finished.connect(lambda _result: self._show_next())
            dialog.open()

    async def import_dropped(self, paths: list[str]) -> list[str]:
        """Import those files that are workflows or exported chats; returns the others."""
        others: list[str] = []
        exports: list[Path] = []
        for name in paths:
            path = Path(name)
            if await self._bridge.engine.chats.is_export(path):
                exports.append(path)
            else:
                others.append(name)
        if exports:
            self.import_files(exports)
        return others


class ChatImportDialog(QDialog):
    """``chat-import``: the chats or workflows in files with a check box each, then the result with an undo.

    Signals:
        opened: show the imported workflow with this id.
    """

    opened = Signal(str)

    def __init__(self, bridge: Bridge, source: Importable, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chat-import")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._bridge, self._source = bridge, source
        title = N_("Import workflows") if source.workflows else N_("Import chats")
        self.jobs = Jobs(self, lambda text: self.busy.note(text, "error"))
        self._preview: ChatFilePreview | None = None
        self._done: ImportedChats | None = None
        self._read = (0, 0)
        self._stopped: frozenset[str] | None = None
        """What an import that was stopped was to add."""
        self._title = bind_text(label("", "title", self), title)
        self.found = control(label("", "muted", self, wrap=True), "chats-found")
        self.filter = control(QLineEdit(self), "chats-filter", hint=N_("Filter by title"), name=N_("Filter by title"))
        self.filter.setClearButtonEnabled(True)
        self.rows = ChatRows(self)
        self.rows.changed.connect(self._enable)
        self.filter.textChanged.connect(self.rows.filter)
        listed = N_("Workflows in the files") if source.workflows else N_("Chats in the file")
        self.list = control(ChatList(self), "chats-list", name=listed)
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
        bind_text(self, title=title)
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
        if self._stopped is not None and self.isVisible():
            self._work(self._preview_rest, N_("Reading the file…"))
            return
        self._enable()
        (self.list if self._preview is not None else self.close_).setFocus()

    async def _preview_file(self) -> Outcome | None:
        skipped = (await self._show_preview()).skipped
        return (lambda: "\n".join(skipped_words(skipped)), "warn") if skipped else None

    async def _show_preview(self) -> ChatFilePreview:
        found = self._preview = await self._source.preview(self._progress)
        self.rows.show(found.chats)
        self._fill()
        return found

    async def _preview_rest(self) -> Outcome:
        """After a stop: how many were added; the others are selected."""
        wanted, self._stopped = self._stopped or frozenset(), None
        found = await self._show_preview()
        n = sum(each.key in wanted and not each.new_turns for each in found.chats)
        return partial(stopped_words, n, workflows=self._source.workflows), "muted"

    def import_chosen(self) -> None:
        """Import the selected chats."""
        chosen = tuple(self.rows.chosen())
        if chosen and not self.busy.running:
            self._work(lambda: self._import(chosen), N_("Importing…"))

    async def _import(self, chosen: tuple[str, ...]) -> Outcome:
        preview, self._stopped = self._preview, None
        try:
            done = self._done = await self._source.import_(chosen, self._progress)
        except asyncio.CancelledError:
            new = {each.key for each in preview.chats if each.new_turns} if preview is not None else set()
            self._stopped = frozenset(chosen) & new
            raise
        self._preview = None
        self.rows.show(())
        if len(done.created) == 1:
            self.opened.emit(done.created[0])
        self._fill()
        skipped = {name: count for name, count in done.skipped.items() if name not in ("unknown", "empty")}
        words = partial(done_words, done, workflows=self._source.workflows)
        return lambda: "\n".join([words(), *skipped_words(skipped)]), "warn" if skipped else "ok"

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
        n = len(ids)
        if self._source.workflows:
            return lambda: ngettext("{n} imported workflow deleted", "{n} imported workflows deleted", n), "ok"
        return lambda: ngettext("{n} imported chat deleted", "{n} imported chats deleted", n), "ok"

    def reject(self) -> None:
        """Closing stops the import; workflows imported so far remain."""
        self.busy.cancel()
        super().reject()

    def _fill(self) -> None:
        """Show the chats, and texts in another language."""
        name = self._source.name()
        self.found.setText(f"{name} · {found_text(self._preview)}" if self._preview else name)
        self.rows.refresh()
        self._enable()

    def _import_text(self) -> str:
        n = self.rows.count
        if not n:
            return _("Import")
        if self._source.workflows:
            return ngettext("Import {number} workflow", "Import {number} workflows", n, number=number(n))
        return ngettext("Import {number} chat", "Import {number} chats", n, number=number(n))

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
