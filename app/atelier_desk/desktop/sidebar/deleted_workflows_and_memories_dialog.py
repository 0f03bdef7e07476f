""" "Recently deleted": workflows and memories, of users or agents, that can be restored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QListWidget, QPushButton, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.widgets import bind, bind_text, control, fill, fit_window, hbox, label, vbox
from atelier_desk.desktop.widgets.date_format import moment
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain import limits
from atelier_desk.domain.base_model import utc_now
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.memory import DeletedMemory
    from atelier_desk.domain.workflow import Workflow

FIRST = 500
"""Rows shown at first, newest first; 5 000 rows take a second."""
SHOWN = 60
"""Characters of a name in a question; a memory has its full text as its name."""
AGAIN_MS = 100
"""Milliseconds from a change to reloading the list: several changes are combined."""
TOPICS = ("workflow", "memory")


class Deleted(NamedTuple):
    """A deleted item. ``what`` is its kind, an ``N_`` text, also shown by ``icon``."""

    id: str
    name: str
    what: str
    icon: str
    at: datetime

    @property
    def facts(self) -> str:
        """Kind, time of deletion, and days left. Items past the limit are purged at the next start."""
        # 30 days count down from 30.
        left = max(0, ceil((self.at + timedelta(days=limits.DELETED_DAYS) - utc_now()) / timedelta(days=1)))
        days = ngettext("can be restored for {n} more day", "can be restored for {n} more days", left)
        return " · ".join((_(self.what), days, _("deleted {when}", when=moment(self.at))))


def of_workflow(workflow: Workflow) -> Deleted:
    return Deleted(
        workflow.id, workflow.name, N_("Workflow"), "message-square", workflow.deleted_at or workflow.updated_at
    )


def of_memory(memory: DeletedMemory) -> Deleted:
    what = N_("Memory merged into another") if memory.merged else N_("A memory")
    return Deleted(memory.id, " ".join(memory.content.split()), what, "brain", memory.deleted_at)


class DeletedDialog(QDialog):
    """``deleted-dialog`` with ``deleted-list``, multiple selection. Enter restores, Delete purges after a question.

    Signals:
        opened: the workflow with this id was restored and should be shown.
    """

    opened = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("deleted-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._bridge = bridge
        self.jobs = Jobs(self, self._failed)
        self.rows: dict[str, Deleted] = {}
        self._at_work = False
        self._stopped: Callable[[], str] | None = None
        self._first: int | None = FIRST
        column = vbox(self, margins=(24, 20, 24, 20), spacing=10)
        self._title = bind_text(label("", "title", self), N_("Recently deleted"))
        self.status = control(label("", "muted", self, wrap=True), "deleted-said")
        self.list = control(QListWidget(self), "deleted-list", look="plain", name=N_("Items that can be restored"))
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        style_list(self.list)
        self.back = control(QPushButton(self), "deleted-back", N_("Restore"), look="primary", on=self.bring_back)
        self.purge = control(
            QPushButton(self), "deleted-purge", N_("Delete permanently…"), look="danger", on=self.ask_purge
        )
        self.all = control(QPushButton(self), "deleted-all", N_("Show all"), on=self.show_all)
        self.stop = control(QPushButton(self), "deleted-stop", N_("Stop"))
        self.stop.hide()
        self.close_ = control(QPushButton(self), "deleted-close", N_("Close"), on=self.reject)
        self.back.setDefault(True)
        fill(
            column,
            self._title,
            self.status,
            (self.list, 1),
            hbox(None, self.purge, self.all, 1, self.stop, self.close_, self.back),
        )
        self.list.itemSelectionChanged.connect(self._enable)
        self.list.itemDoubleClicked.connect(lambda _item: self.bring_back())
        key = QShortcut(QKeySequence(Qt.Key.Key_Delete), self.list)
        key.setContext(Qt.ShortcutContext.WidgetShortcut)
        key.activated.connect(self.ask_purge)
        self._again = Debouncer(self, AGAIN_MS, self.reload)
        bridge.changed.connect(self._on_changed)
        fit_window(self, QSize(620, 480))
        bind_text(self, title=N_("Recently deleted"))
        bind(self._fill, on="language")
        self.list.setFocus()
        self.reload()

    def reload(self) -> None:
        """Load the list."""
        self.jobs.start(self._load(), "load")

    async def _load(self) -> None:
        engine = self._bridge.engine
        workflows = await engine.workflows.list(limit=None, deleted=True)
        memories = await engine.memories.deleted()
        found = sorted([*map(of_workflow, workflows), *map(of_memory, memories)], key=lambda row: row.at, reverse=True)
        self.rows = {row.id: row for row in found}
        self._fill()

    def show_all(self) -> None:
        """Also show items beyond the first ``FIRST``."""
        self._first = None
        self._fill()
        self.list.setFocus()  # the button disappears

    def _fill(self) -> None:
        chosen = set(self.chosen())
        place = self.list.currentRow()
        with QSignalBlocker(self.list):  # what follows a selection looks through all rows
            self.list.clear()
            shown = islice(self.rows.values(), self._first)
            made = [two_line_item(self.list, row.id, row.name, row.facts, row.icon) for row in shown]
            for item in made:  # only now: a selection measures all rows again after each that is added
                item.setSelected(item.data(KeyRole) in chosen)
        if self.rows and not self.chosen():
            self.list.setCurrentRow(min(max(place, 0), self.list.count() - 1))
        self.all.setVisible(self.list.count() < len(self.rows))
        days = limits.DELETED_DAYS
        some = _("Items that you or your agents delete can be restored for {n} days.", n=days)
        usual = some if self.rows else _("Nothing here. Deleted items stay here for {n} days.", n=days)
        self.status.setText(self._stopped() if self._stopped is not None else usual)
        self._enable()

    def chosen(self) -> list[str]:
        """Ids of the selected rows."""
        return [item.data(KeyRole) for item in self.list.selectedItems()]

    def _enable(self) -> None:
        for button in (self.back, self.purge):
            button.setEnabled(bool(self.list.selectedItems()) and not self._at_work)

    def bring_back(self) -> None:
        """Restore the selected items; a single restored workflow is shown."""
        engine = self._bridge.engine

        async def work(row: Deleted) -> object:
            service = engine.memories if row.icon == "brain" else engine.workflows
            return await service.undo_delete(row.id)

        self._do("back", work, self._show_workflow)

    def ask_purge(self) -> None:
        """Delete the selected items permanently, after a confirmation."""
        if not (ids := self.chosen()):
            return
        if len(ids) == 1:
            text = _("Delete “{name}” permanently?", name=shorten(self.rows[ids[0]].name, SHOWN))
            more = _(
                "It cannot be restored afterwards. Its text remains in the database files until you compact the "
                "database in Settings → Data and diagnostics."
            )
        else:
            text = ngettext("Delete this item permanently?", "Delete these {n} items permanently?", len(ids))
            more = _(
                "They cannot be restored afterwards. Their text remains in the database files until you compact the "
                "database in Settings → Data and diagnostics."
            )
        confirm(self, text, more, _("Delete permanently"), self._purge)

    def _purge(self) -> None:
        engine = self._bridge.engine

        async def work(row: Deleted) -> object:
            service = engine.memories if row.icon == "brain" else engine.workflows
            return await service.purge(row.id)

        self._do("purge", work)

    def _do(
        self,
        name: str,
        work: Callable[[Deleted], Awaitable[object]],
        then: Callable[[list[Deleted]], None] | None = None,
    ) -> None:
        rows = [self.rows[key] for key in self.chosen()]

        async def job() -> None:
            done = 0
            try:
                for row in rows:
                    if done:
                        self.status.setText(_("{done} of {n}…", done=done, n=len(rows)))
                    await work(row)
                    done += 1
                    self.rows.pop(row.id, None)
            except asyncio.CancelledError:
                self._stopped = lambda: _stopped(name, done, len(rows))  # valid until the next job
                raise
            finally:
                self._at_work = False
                self.stop.hide()
                self._fill()
            if then is not None:
                then(rows)

        if rows and not self._at_work and (task := self.jobs.once((name, *(row.id for row in rows)), job)) is not None:
            self._at_work, self._stopped = True, None
            self.stop.setVisible(len(rows) > 1)
            self.stop.clicked.connect(task.cancel)
            self._enable()

    def _show_workflow(self, rows: list[Deleted]) -> None:
        workflows = [row.id for row in rows if row.icon != "brain"]
        if len(workflows) == 1:
            self.opened.emit(workflows[0])

    def _on_changed(self, topic: str, _id: str) -> None:
        if topic in TOPICS and not self._at_work:  # each of many rows sends this; the list is reloaded at the end
            self._again.ask()

    def _failed(self, problem: str) -> None:
        self.status.setText(problem)


def _stopped(name: str, done: int, total: int) -> str:
    """What a stopped job has done, by the job's name."""
    if name == "back":
        return ngettext(
            "Stopped: {n} of {total} was restored.", "Stopped: {n} of {total} were restored.", done, total=total
        )
    return ngettext(
        "Stopped: {n} of {total} was deleted permanently.",
        "Stopped: {n} of {total} were deleted permanently.",
        done,
        total=total,
    )
