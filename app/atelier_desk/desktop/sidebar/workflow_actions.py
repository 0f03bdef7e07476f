"""Actions on one or several workflows of the list, and their menu."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from atelier_desk.desktop.file_dialogs.exporting import KINDS, announce_saved, ask_print, format_of, write
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder, ask_save, write_text
from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.sidebar.export_file_names import file_name, free_path
from atelier_desk.desktop.sidebar.workflow_and_chat_import import Importer
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Toast, ToastHost, control
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.limits import COLLECTION, WORKFLOW_NAME
from atelier_desk.storage.damage_report import LEFT_OUT, SHOWN
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.workflow import Workflow

Ids = Collection[str]
FEW = 20
"""Up to this many workflows are processed without showing progress."""
PROGRESS_TOAST_MS = 120_000
"""Maximum milliseconds for which the message about generating a title stays, for slow models."""


class FolderDialog(FormDialog):
    """``folder-dialog``: asks for a folder's name, passed to ``then``."""

    def __init__(self, title: str, name: str, action: str, then: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setObjectName("folder-dialog")
        self._then = then
        self.field = control(QLineEdit(name, self), "folder-name", hint=N_("For example, a project or a customer"))
        self.field.setMaxLength(COLLECTION)
        self.field.textChanged.connect(lambda *_: self.check())
        self.add_field(_("Name"), self.field)
        self.finish(action)
        self.field.selectAll()
        self.field.setFocus()

    def problem(self) -> str:
        return "" if self.field.text().strip() else _("Enter a name for the folder.")

    def submit(self) -> None:
        self.accept()
        self._then(self.field.text().strip())


class NameDialog(FormDialog):
    """``name-dialog``: renames a workflow that is not in the list, where it would be renamed in place."""

    def __init__(self, name: str, then: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(_("Rename workflow"), parent)
        self.setObjectName("name-dialog")
        self._then = then
        self.field = control(QLineEdit(name, self), "workflow-name")
        self.field.setMaxLength(WORKFLOW_NAME)
        self.field.textChanged.connect(lambda *_: self.check())
        self.add_field(_("Name"), self.field)
        self.finish(_("Rename"))
        self.field.selectAll()
        self.field.setFocus()

    def problem(self) -> str:
        return "" if self.field.text().strip() else _("Enter a name for the workflow.")

    def submit(self) -> None:
        self.accept()
        self._then(self.field.text().strip())


class WorkflowActions(QObject):
    """Performs actions through the engine, reports them, and offers undo.

    Signals:
        made: show this workflow: a copy, or a restored one.
        gone: the one with this id was deleted.
    """

    made = Signal(str)
    gone = Signal(str)

    def __init__(self, bridge: Bridge, toasts: ToastHost, known: Callable[[], list[Workflow]], parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._toasts, self._known, self._widget = bridge, toasts, known, parent
        self._unlisted: Workflow | None = None

    def find(self, ids: Ids) -> list[Workflow]:
        """The workflows of the list with these ids, including one loaded by ``with_one``."""
        found = [each for each in self._known() if each.id in ids]
        other = self._unlisted
        return (
            found
            if other is None or other.id not in ids or any(each.id == other.id for each in found)
            else [*found, other]
        )

    def with_one(self, workflow_id: str, run: Callable[[str], object]) -> None:
        """Perform an action on a workflow, even if not in the list: archived, not loaded, or filtered out."""
        if any(each.id == workflow_id for each in self._known()):
            run(workflow_id)
        else:
            self._bridge.jobs.start(self._read(workflow_id, run))

    async def _read(self, workflow_id: str, run: Callable[[str], object]) -> None:
        self._unlisted = await self._bridge.engine.workflows.get(workflow_id)
        run(workflow_id)

    def ask_name(self, workflow_id: str) -> None:
        """Ask for a new name in a dialog."""
        rename = self._bridge.engine.workflows.rename
        for found in self.find([workflow_id]):
            NameDialog(found.name, lambda name: self._bridge.jobs.start(rename(workflow_id, name)), self._widget).open()

    @property
    def folders(self) -> list[str]:
        """The existing folders."""
        return sorted(
            {each.collection for each in self._known() if each.collection and not each.archived}, key=str.casefold
        )

    def delete(self, ids: Ids) -> None:
        """Delete at once; a single undo restores all."""
        workflow_ids = tuple(ids)
        self._bridge.jobs.once(("delete", workflow_ids), lambda: self._delete(workflow_ids))

    async def _delete(self, ids: tuple[str, ...]) -> None:
        names: list[str] = []
        deleted: list[str] = []

        async def delete(each: str) -> None:
            names.append((await self._bridge.engine.workflows.delete(each)).name)
            deleted.append(each)
            self.gone.emit(each)

        try:
            await self._one_by_one(ids, delete)
        finally:
            if deleted:  # also if one of them could not be deleted
                several = ngettext("{n} workflow deleted", "{n} workflows deleted", len(deleted))
                text = _("“{name}” deleted", name=names[0]) if len(deleted) == 1 else several
                self._toasts.offer_undo(
                    text, lambda: self._bridge.jobs.once(("undo", ids), lambda: self._undelete(deleted, names))
                )

    async def _undelete(self, ids: list[str], names: list[str]) -> None:
        back: list[str] = []

        async def restore(each: str) -> None:
            with suppress(NotFoundError):  # purged meanwhile; the others are restored
                await self._bridge.engine.workflows.undo_delete(each)
                back.append(each)

        await self._one_by_one(ids, restore)
        if back:
            self.made.emit(back[0])
        else:
            lost = ngettext("{n} workflow deleted permanently", "{n} workflows deleted permanently", len(ids))
            self._toasts.show(_("“{name}” deleted permanently", name=names[0]) if len(ids) == 1 else lost)

    def pin(self, ids: Ids) -> None:
        """Pin them; if all are pinned, unpin them."""
        on = not all(each.pinned for each in self.find(ids))
        self._bridge.jobs.start(self._pin(tuple(ids), on))

    async def _pin(self, ids: tuple[str, ...], on: bool) -> None:
        await self._one_by_one(ids, lambda each: self._bridge.engine.workflows.set_pinned(each, on))

    def archive(self, ids: Ids) -> None:
        """Archive them; if all are archived, unarchive them."""
        on = not all(each.archived for each in self.find(ids))
        workflow_ids = tuple(ids)
        self._bridge.jobs.once(("archive", workflow_ids), lambda: self._archive(workflow_ids, on))

    async def _archive(self, ids: tuple[str, ...], on: bool, *, undone: bool = False) -> None:
        done: list[str] = []

        async def archive(each: str) -> None:
            await self._bridge.engine.workflows.set_archived(each, on)
            done.append(each)

        try:
            await self._one_by_one(ids, archive)
        finally:
            if done and not undone:
                n, changed = len(done), tuple(done)
                note = ngettext("{n} workflow archived", "{n} workflows archived", n)
                text = ngettext("{n} workflow unarchived", "{n} workflows unarchived", n)
                self._toasts.offer_undo(
                    note if on else text, lambda: self._bridge.jobs.start(self._archive(changed, not on, undone=True))
                )

    def move(self, ids: Ids, folder: str) -> None:
        """Move into a folder; an empty name moves out of folders."""
        before = {each.id: each.collection for each in self.find(ids) if each.collection != folder}
        if before:
            self._bridge.jobs.once(("move", tuple(before)), lambda: self._move(dict.fromkeys(before, folder), before))

    async def _move(self, after: dict[str, str], before: dict[str, str] | None = None) -> None:
        done: dict[str, str] = {}

        async def move(each: str) -> None:
            await self._bridge.engine.workflows.move(each, after[each])
            done.update({each: before[each]} if before is not None else {})

        try:
            await self._one_by_one(tuple(after), move)
        finally:
            if done:
                n, folder = len(done), next(iter(after.values()))
                into = ngettext(
                    "{n} workflow moved to “{folder}”", "{n} workflows moved to “{folder}”", n, folder=folder
                )
                out = ngettext("{n} workflow removed from its folder", "{n} workflows removed from their folders", n)
                self._toasts.offer_undo(into if folder else out, lambda: self._bridge.jobs.start(self._move(done)))

    async def _one_by_one(self, ids: Sequence[str], work: Callable[[str], Awaitable[object]]) -> None:
        """Process each; show progress for many, with a stop button. Lists reload once, at the end."""
        task = asyncio.current_task()
        if len(ids) <= FEW or task is None:
            for each in ids:
                await work(each)
            return
        toast: Toast | None = None
        try:
            with self._bridge.deferring(ids):
                for number, each in enumerate(ids):
                    text = _("{done} of {n} workflows…", done=number, n=len(ids))
                    if toast is not None and self._toasts.current is toast:
                        toast.set_message(text)
                    elif self._toasts.current is None or toast is None:
                        toast = self._toasts.show(text, _("Stop"), task.cancel, duration_ms=PROGRESS_TOAST_MS)
                    await work(each)
        finally:
            if toast is not None:
                self._dismiss_toast(toast)

    def move_to_new(self, ids: Ids) -> None:
        """Ask for the name of a folder, and move them there."""
        FolderDialog(_("New folder"), "", _("Move"), lambda name: self.move(ids, name), self._widget).open()

    def rename_folder(self, folder: str) -> None:
        """Rename a folder."""
        inside = [each.id for each in self._known() if each.collection == folder]
        FolderDialog(_("Rename folder"), folder, _("Rename"), lambda name: self.move(inside, name), self._widget).open()

    def dissolve(self, folder: str) -> None:
        """Move everything out of a folder, which then no longer exists."""
        self.move([each.id for each in self._known() if each.collection == folder], "")

    def duplicate(self, workflow_id: str) -> None:
        self._bridge.jobs.once(("duplicate", workflow_id), lambda: self._duplicate(workflow_id))

    async def _duplicate(self, workflow_id: str) -> None:
        copy = await self._bridge.engine.workflows.duplicate(workflow_id)
        self.made.emit(copy.id)
        changed = await self._changed_reports(workflow_id)
        if changed:
            self._toasts.show("\n".join(changed))

    async def _changed_reports(self, workflow_id: str) -> list[str]:
        """A line for each report that is not in the original state in a copy, and one for missing rows."""
        names = await self._bridge.engine.workflows.exporting.changed_reports(workflow_id)
        text = N_(
            "The report {name} was damaged or changed by another program. The export contains its current version, "
            "or none if the file is missing."
        )
        damaged = await self._bridge.engine.workflows.exporting.damaged_rows(workflow_id)
        rows = [*(each.error().localized(_) for each in damaged[:SHOWN]), *([_(LEFT_OUT)] if damaged else [])]
        return [*(_(text, name=name) for name in names), *rows]

    async def _warnings(self, workflow_id: str) -> list[str]:
        """What an export lacks or contains in a changed state."""
        files = await self._bridge.engine.workflows.left_out_files(workflow_id)
        left_out = [
            _("The file {name} was left out of the export because it is missing, damaged or too large.", name=name)
            for name in files
        ]
        return [*await self._changed_reports(workflow_id), *left_out]

    def export(self, ids: Ids) -> None:
        """Ask for a target and export in the format of its extension; several as JSON files in a folder."""
        found = self.find(ids)
        if len(found) > 1:
            start = self._bridge.jobs.start
            ask_folder(self._widget, _("Export to a folder"), lambda folder: start(self.export_all(found, folder)))
        elif found:
            [workflow] = found
            own = _("Atelier format (can be imported again)")
            kinds = f"{KINDS};;{own} (*.json)"

            def then(path: Path) -> None:
                self._bridge.jobs.start(self.export_to(workflow.id, path, workflow.name))

            ask_save(self._widget, _("Export workflow"), f"{file_name(workflow.name)}.docx", kinds, then)

    async def export_to(self, workflow_id: str, path: Path, title: str = "") -> None:
        """Export to a file: importable JSON for ``.json``, else a document (see ``exporting.write``)."""
        warnings: list[str] = []
        if path.suffix.lower() == ".json":
            await write_text(path, await self._bridge.engine.workflows.export(workflow_id, "json"))
            warnings = await self._warnings(workflow_id)
        else:
            details = format_of(path) == "md"
            await write(path, title, await self._bridge.engine.workflows.export(workflow_id, "md", details=details))
        announce_saved(self._toasts, path, *warnings)

    def print_(self, workflow_id: str) -> None:
        """Print the branch in view."""
        self._bridge.jobs.once(("print", workflow_id), lambda: self._print(workflow_id))

    async def _print(self, workflow_id: str) -> None:
        workflows = self._bridge.engine.workflows
        text = await workflows.export(workflow_id, "md", details=False)
        name = (await workflows.get(workflow_id)).name
        ask_print(self._widget.window(), self._toasts, name, text)

    async def export_all(self, workflows: list[Workflow], folder: Path) -> None:
        """Export each to its own file, without overwriting."""
        warnings: list[str] = []
        for number, each in enumerate(workflows, 1):
            self._toasts.show(
                _("Exporting {number} of {total}…", number=number, total=len(workflows)), duration_ms=PROGRESS_TOAST_MS
            )
            path = free_path(folder, file_name(each.name))
            await write_text(path, await self._bridge.engine.workflows.export(each.id, "json"))
            warnings += await self._warnings(each.id)
        text = ngettext(
            "{n} workflow exported to {path}", "{n} workflows exported to {path}", len(workflows), path=str(folder)
        )
        self._toasts.show("\n".join([text, *warnings]))

    @cached_property
    def importer(self) -> Importer:
        """Imports workflows and chats; the imported one is shown."""
        made = Importer(self._bridge, self._widget.window())
        made.imported.connect(self.made)
        return made

    def suggest_title(self, workflow_id: str) -> None:
        """Let the model generate a title, with Stop and Undo."""
        task = self._bridge.jobs.once(("title", workflow_id), lambda: self._title(workflow_id))
        if task is not None:
            toast = self._toasts.show(_("Generating a title…"), _("Stop"), task.cancel, duration_ms=PROGRESS_TOAST_MS)
            task.add_done_callback(lambda _done: self._dismiss_toast(toast))

    def _dismiss_toast(self, toast: Toast) -> None:
        if self._toasts.current is toast:
            toast.dismiss()

    async def _title(self, workflow_id: str) -> None:
        engine = self._bridge.engine
        workflows = engine.workflows
        old = (await workflows.get(workflow_id)).name
        named = await engine.runs.titles.suggest(workflow_id)
        if named.name == old:
            self._toasts.show(_("No better title than “{name}” was found", name=old))
        else:
            undo = self._bridge.jobs.start
            self._toasts.offer_undo(
                _("Renamed to “{name}”", name=named.name), lambda: undo(workflows.rename(workflow_id, old))
            )

    def menu(self, ids: Ids, rename: Callable[[str], object]) -> QMenu:
        """The menu for these workflows; ``rename`` starts renaming."""
        found, style = self.find(ids), theme()
        one = found[0].id if len(found) == 1 else ""
        menu = control(QMenu(self._widget), "workflow-menu")
        if one:
            menu.addAction(style.icon("pencil"), _("Rename"), lambda: rename(one))
            menu.addAction(style.icon("sparkles"), _("Suggest a title"), lambda: self.suggest_title(one))
        else:
            # The text of a menu section is not drawn with a style sheet.
            menu.addAction(ngettext("{n} workflow", "{n} workflows", len(found))).setEnabled(False)
            menu.addSeparator()
        pinned, archived = all(each.pinned for each in found), all(each.archived for each in found)
        menu.addAction(
            style.icon("pin-off" if pinned else "pin"), _("Unpin") if pinned else _("Pin"), lambda: self.pin(ids)
        )
        if not archived:
            self._add_folders(menu.addMenu(style.icon("folder"), _("Move to folder")), found)
        if one:
            menu.addAction(style.icon("copy"), _("Duplicate"), lambda: self.duplicate(one))
        menu.addAction(style.icon("download"), _("Export…"), lambda: self.export(ids))
        if len(ids) == 1:
            menu.addAction(style.icon("printer"), _("Print…"), lambda: self.print_(next(iter(ids))))
        menu.addAction(style.icon("import"), _("Import…"), lambda: self.importer.ask())
        menu.addSeparator()
        menu.addAction(style.icon("archive"), _("Unarchive") if archived else _("Archive"), lambda: self.archive(ids))
        menu.addAction(style.icon("trash-2", "err"), _("Delete"), lambda: self.delete(ids))
        return menu

    def _add_folders(self, menu: QMenu, found: list[Workflow]) -> None:
        ids = [each.id for each in found]
        there = {each.collection for each in found}
        for folder in self.folders:
            entry = QAction(theme().icon("folder"), visible(folder).replace("&", "&&"), menu)
            entry.triggered.connect(lambda *_, folder=folder: self.move(ids, folder))
            entry.setEnabled(there != {folder})
            menu.addAction(entry)
        menu.addSeparator()
        menu.addAction(theme().icon("plus"), _("New folder…"), lambda: self.move_to_new(ids))
        if there != {""}:
            menu.addAction(theme().icon("x"), _("Remove from folder"), lambda: self.move(ids, ""))

    def folder_menu(self, folder: str) -> QMenu:
        """The menu of a folder."""
        menu = control(QMenu(self._widget), "folder-menu")
        menu.addAction(theme().icon("pencil"), _("Rename…"), lambda: self.rename_folder(folder))
        menu.addAction(theme().icon("x"), _("Remove all from folder"), lambda: self.dissolve(folder))
        return menu

    def show_menu(self, menu: QMenu, place: QPoint, closed: Callable[[], object]) -> None:
        """Show a menu at a position; ``closed`` is called afterwards."""
        menu.aboutToHide.connect(closed)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)
