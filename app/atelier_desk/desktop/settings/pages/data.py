"""Data: verified backups, restore, export and import of everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QDate

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder, ask_open, ask_save, confirm
from atelier_desk.desktop.file_dialogs.opening import open_path
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.panes.time_format import size
from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.desktop.settings.fields import Number
from atelier_desk.desktop.settings.imported_grant_confirmation import HeldList
from atelier_desk.desktop.settings.progress_line import Busy, Outcome
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.sidebar.workflow_and_chat_import import Importer
from atelier_desk.desktop.widgets.language_theme_bindings import Text
from atelier_desk.engine.services.data_folder_and_backups import compact_database, restore_backup
from atelier_desk.presentation.backup_contents_text import damaged_attachment, rows_text
from atelier_desk.presentation.file_change_text import cleaned_text, retained_text
from atelier_desk.storage.damage_report import IN_BACKUP, IN_EXPORT, SHOWN
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import NARROW

if TYPE_CHECKING:
    from atelier_desk.storage.damage_report import Damage
    from atelier_desk.workspace.checkpoints.cleaning import Cleaned

BACKUP_KINDS = N_("Atelier backup (*.zip)")
CONFIRM = N_(
    "Confirm what you trust: rules under “Permissions”, your tools under “Tools”, servers under “MCP "
    "servers”, trusted folders in the “Files” pane, and everything else here under “From another "
    "installation”."
)
"""Shown after importing data from elsewhere, whose permissions are disabled."""


UNDO = Section(
    N_("Undoing file changes"),
    Number(
        "checkpoint_days",
        N_("Keep undo data for"),
        N_("How long file changes by agents can be undone; 0 means no limit."),
        "checkpoint-days",
        suffix=lambda: _("{n} d", n="").replace(" ", NARROW),
        zero=N_("no limit"),
    ),
    Number(
        "checkpoint_mb",
        N_("Storage limit"),
        N_("Above this size, the oldest changes can no longer be undone."),
        "checkpoint-mb",
        step=100,
        suffix=lambda: NARROW + _("MB"),
    ),
)


@settings_page("data", order=90, icon="database", title=N_("Data and diagnostics"), section=N_("Data"))
class DataPage(RowsPage):
    """The data folder, backups, plain-text export, and retention of undo data."""

    topics = ("settings", "file")

    def build(self) -> None:
        self._root: Path | None = None
        self.held = HeldList(self)
        self.waiting = self.section(N_("From another installation"), self.held)
        backup = self.section(N_("Backup"))
        about = N_(
            "Settings, workflows, reports, your tools and attachments in one verified file. API keys, models, logs "
            "and exports are not included."
        )
        self.action_row(backup, N_("Create a backup"), about, N_("Create…"), self._ask_create, "backup-create")
        about = N_("Verifies the checksums, opens the backup and counts what it contains.")
        self.action_row(backup, N_("Check a backup"), about, N_("Check…"), self._ask_verify, "backup-verify")
        about = N_("Your current data is first saved in the “backups” folder.")
        self.action_row(backup, N_("Restore a backup"), about, N_("Restore…"), self._ask_backup, "backup-restore")
        self.backup_busy = Busy(self)
        backup.body.addWidget(self.backup_busy)
        move = self.section(N_("Export and import"))
        about = N_("A folder of JSON Lines files that other programs can read.")
        self.action_row(move, N_("Export everything"), about, N_("Export…"), self._ask_export, "data-export")
        about = N_("Requires a data folder without workflows or memories. Its settings will be replaced.")
        self.action_row(move, N_("Import exported data"), about, N_("Import…"), self._ask_import, "data-import")
        about = N_(
            "Workflows that Atelier exported, and chats from ChatGPT, Claude, Open WebUI and LibreChat (JSON or ZIP)."
        )
        self.action_row(
            move,
            N_("Import workflows or chats"),
            about,
            N_("Import…"),
            lambda: self.importer.ask(),
            "chats-import-file",
        )
        self.move_busy = Busy(self)
        move.body.addWidget(self.move_busy)
        undo = self.add(UNDO)
        self.clean_now = self.button("checkpoints-clean", N_("Clean up"), self.clean)
        self._stored_row = self.row(undo, self.clean_now, N_("Currently stored"))
        self.clean_busy = Busy(self)
        undo.body.addWidget(self.clean_busy)
        place, folder = self.section(N_("Location")), lambda: str(self._root or "")
        about = N_("Removes permanently deleted data from the disk as well. Older backups still contain it.")
        self.action_row(place, N_("Compact the database"), about, N_("Compact…"), self._ask_compact, "data-compact")
        self.compact_busy = Busy(self)
        place.body.addWidget(self.compact_busy)
        show = self.button("data-folder", N_("Show"), self._show_folder)
        self._place = self.row(place, show, N_("Data folder"), folder)

    @cached_property
    def importer(self) -> Importer:
        """Imports workflows and chats."""
        return Importer(self.bridge, self.window())

    async def load(self) -> None:
        await super().load()
        await self.held.load()
        self.waiting.set_shown(not self.held.isHidden())
        storage = await self.bridge.engine.files.undo_storage()
        self._stored_row.set_texts(N_("Currently stored"), lambda: retained_text(storage))
        self._root = (await self.bridge.engine.data.folders()).root
        files, held = await self.bridge.engine.data.attachments()

        def place() -> str:
            words = ngettext(
                "{n} attachment or tool output: {size}",
                "{n} attachments and tool outputs: {size}",
                files,
                size=size(held),
            )
            return "\n".join([str(self._root), *([words] if files else [])])

        self._place.set_texts(N_("Data folder"), place)

    def _ask_verify(self) -> None:
        ask_open(self, _("Check a backup"), _(BACKUP_KINDS), self.verify_backup)

    def _ask_backup(self) -> None:
        ask_open(self, _("Restore a backup"), _(BACKUP_KINDS), self._ask_restore)

    def _ask_export(self) -> None:
        ask_folder(self, _("Choose an empty folder"), self.export_to)

    def _ask_import(self) -> None:
        ask_folder(self, _("Choose a folder with exported data"), self.import_from)

    def _ask_create(self) -> None:
        name = f"atelier-{QDate.currentDate().toString('yyyy-MM-dd')}.zip"
        ask_save(self, _("Save a backup"), name, _(BACKUP_KINDS), self.create_backup)

    def _run(
        self, busy: Busy, what: Text, work: Callable[[], Coroutine[Any, Any, Any]], done: Callable[[Any], str]
    ) -> None:
        """Run one long job at a time on a progress line, which shows the result."""

        async def job() -> Outcome:
            result = await work()
            return lambda: "\n".join([done(result), *_damaged(result)]), "error" if _damaged(result) else "ok"

        if not busy.running:
            busy.run(self.jobs, busy, job, what)

    def create_backup(self, path: Path) -> None:
        """Write a backup to ``path`` and verify it."""
        self._run(
            self.backup_busy,
            N_("Writing and checking the backup…"),
            lambda: self.bridge.engine.data.backup_create(path, self.backup_busy.report),
            lambda info: _("Backup written and checked: {counts}.", counts=_counts(info)),
        )

    def verify_backup(self, path: Path) -> None:
        """Open a backup and count its contents."""
        self._run(
            self.backup_busy,
            N_("Checking the backup…"),
            lambda: self.bridge.engine.data.backup_verify(path, self.backup_busy.report),
            lambda info: _("The backup is complete: {counts}.", counts=_counts(info)),
        )

    def _ask_restore(self, path: Path) -> None:
        self.jobs.start(self._question(path), "origin")

    async def _question(self, path: Path) -> None:
        """Confirm a restore; a backup from another data folder is mentioned as such."""
        own = await self.bridge.engine.data.backup_is_own(path)
        words = _("Running agents will be paused, and your current data will be saved in the “backups” folder.")
        if own:
            title, action = _("Replace your data with {name}?", name=path.name), _("Restore")
        else:
            title, action = _("Restore {name} from another source?", name=path.name), _("Restore")
            about = _(
                "This backup was made by an earlier version or another installation, or has been changed "
                "since. Its permission rules, tools, MCP servers, folders and service addresses will stay "
                "disabled until you confirm each of them, and its unfinished runs will be stopped. Restore "
                "it only if you trust its source."
            )
            words = f"{about}\n\n{words}"
        confirm(self, title, words, action, lambda: self.restore_backup(path, from_elsewhere=not own))

    def restore_backup(self, path: Path, *, from_elsewhere: bool = False) -> None:
        """Close the engine, restore the backup, open the engine again.

        ``from_elsewhere``: the backup may be of another data folder.
        """

        def done(info: Any) -> str:
            text = _("Restored: {counts}.", counts=_counts(info))
            return text if info.own else f"{text}\n{_(CONFIRM)}"

        self._while_closed(
            self.backup_busy,
            N_("Restoring…"),
            lambda root: restore_backup(path, root, self.backup_busy.report, from_elsewhere=from_elsewhere),
            done,
        )

    def _ask_compact(self) -> None:
        words = _(
            "Running agents will be paused until this is done. There must be enough disk space for a second "
            "copy of the database."
        )
        confirm(self, _("Compact the database?"), words, _("Compact"), self.compact)

    def compact(self) -> None:
        """Close the engine, compact its database, open the engine again."""
        self._while_closed(
            self.compact_busy,
            N_("Compacting the database…"),
            lambda root: compact_database(root, self.compact_busy.report),
            lambda done: _(
                "Compacted: {before} before, {after} now.", before=size(done.before), after=size(done.after)
            ),
        )

    def _while_closed(
        self, busy: Busy, what: Text, work: Callable[[Path], Coroutine[Any, Any, Any]], done: Callable[[Any], str]
    ) -> None:
        """Work on the data folder while the engine is closed; can be stopped once it tells how far it is."""
        if not (self.backup_busy.running or self.compact_busy.running) and self._root is not None:
            busy.run(self.jobs, busy, partial(self._closed, partial(work, self._root), done), what)
            busy.stop.hide()

    async def _closed(self, work: Callable[[], Coroutine[Any, Any, Any]], done: Callable[[object], str]) -> Outcome:
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def note_closed() -> None:
            if not closed.done():
                closed.set_result(None)

        self.bridge.engine_closed.connect(note_closed)
        self.bridge.stop_engine()
        await closed
        self.bridge.engine_closed.disconnect(note_closed)
        try:
            result = await work()
        finally:
            self.bridge.start_engine()
        return partial(done, result), "ok"

    def export_to(self, folder: Path) -> None:
        """Export every table as JSON lines."""
        self._run(
            self.move_busy,
            N_("Exporting…"),
            lambda: self.bridge.engine.data.export_jsonl(folder),
            lambda info: _("Exported: {counts}.", counts=_counts(info)),
        )

    def import_from(self, folder: Path) -> None:
        """Import such an export."""
        self._run(
            self.move_busy,
            N_("Importing…"),
            lambda: self.bridge.engine.data.import_jsonl(folder),
            lambda info: "\n".join([_("Imported: {counts}.", counts=_counts(info)), _(CONFIRM)]),
        )

    def clean(self) -> None:
        """Delete undo data above the two limits."""

        async def work() -> Cleaned:
            done = await self.bridge.engine.files.cleaning.clean()
            await self.load()
            return done

        self._run(self.clean_busy, N_("Cleaning up…"), work, cleaned_text)

    def _show_folder(self) -> None:
        if self._root is not None:
            open_path(toasts_of(self), self._root)


def _damaged(result: object) -> list[str]:
    """A line for each report, attachment and row that was already damaged."""
    text = N_("The report {name} was damaged or changed by another program before the backup was made.")
    rows: Sequence[Damage] = getattr(result, "damaged_rows", ())
    named = [each.error().localized(_) for each in rows[:SHOWN]]
    after = [IN_BACKUP if hasattr(result, "size") else IN_EXPORT] if rows else []
    files = [
        *(_(text, name=name) for name in getattr(result, "damaged", ())),
        *map(damaged_attachment, getattr(result, "attachments", ())),
    ]
    return [*files, *named, *map(_, after)]


def _counts(info: Any) -> str:
    """``5 workflows, 120 messages … (3.2 MB)``; the size is optional."""
    parts = ", ".join(rows_text(info.counts)) or _("nothing")
    total = getattr(info, "size", 0)
    return f"{parts} ({size(total)})" if total else parts
