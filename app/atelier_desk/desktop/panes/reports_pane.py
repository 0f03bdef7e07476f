"""The reports pane: the list, or a report as Markdown or for editing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListWidget, QPushButton, QStackedWidget, QWidget

from atelier_desk.desktop.file_dialogs.exporting import ask_export, ask_print, copy
from atelier_desk.desktop.panes.pane_base import Pane, offer_undo, toast, toasts_of
from atelier_desk.desktop.panes.time_format import ago, number, size
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.widgets import (
    Card,
    ElidedLabel,
    EmptyState,
    IconButton,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    label,
)
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.list_rows import RowRole, show_row
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain import limits
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Report
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge


def _facts(report: Report) -> str:
    """The author, size and age of a report."""
    return " · ".join(filter(None, (report.author, size(report.size), ago(report.updated_at))))


class _List(QListWidget):
    """Enter opens, Delete deletes."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        pane, item = self.parent(), self.currentItem()
        while pane is not None and not isinstance(pane, ReportsPane):
            pane = pane.parent()
        if item is None or pane is None:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            pane.open(item.data(KeyRole))
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            pane.delete(item.data(KeyRole))
        else:
            super().keyPressEvent(event)


class ReportsPane(Pane):
    """``reports-pane``. Three states: empty, the list, a report (viewed or edited)."""

    topics = ("report",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("reports-pane")
        self._reports: list[Report] = []
        self._open = ""
        self._text = ""
        self._damaged = False
        MinuteClock(self, self._show_ages)
        self._stack = QStackedWidget(self)
        self.empty = EmptyState(
            "file-text", N_("No reports yet"), N_("Reports that agents write appear here."), parent=self
        )
        self.fold_when(self.empty)
        self.list = _List(self)
        self.list.setObjectName("report-list")
        style_list(self.list)
        self.list.itemActivated.connect(lambda item: self.open(item.data(KeyRole)))
        self.list.itemClicked.connect(lambda item: self.open(item.data(KeyRole)))
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        self._stack.addWidget(self._build_reader())
        self.column.addWidget(self._stack, 1)
        self.add_key("Ctrl+S", self.save, self._reader)
        bind_text(self.list, name=N_("Reports"))
        bind_text(self.view, name=N_("Report"))
        bind(self._show, on="language")

    def _build_reader(self) -> QWidget:
        self._reader = QWidget(self)
        column = Card(self._reader, margins=(10, 6, 6, 10))
        hbox(self._reader, column)
        self._back = control(IconButton("chevron-left", parent=self), tip=N_("Back to the list"), on=self.close_report)
        self._name = control(ElidedLabel("", self), look="strong")
        self._edit = control(IconButton("pencil", parent=self), tip=N_("Edit"), on=self.edit)
        self._export = control(IconButton("download", parent=self), "report-export", tip=N_("Export…"), on=self.export)
        self._print = control(IconButton("printer", parent=self), "report-print", tip=N_("Print…"), on=self.print_)
        self._copy = control(IconButton("copy", parent=self), "report-copy", tip=N_("Copy"), on=self.copy)
        self._delete = control(IconButton("trash-2", parent=self), tip=N_("Delete"), on=lambda: self.delete(self._open))
        top = hbox(
            None,
            self._back,
            (self._name, 1),
            self._copy,
            self._edit,
            self._export,
            self._print,
            self._delete,
            spacing=0,
        )
        self.view = MarkdownView(self)
        self.view.setObjectName("report-view")
        self.editor = control(TextField(self), "report-editor", look="mono", name=N_("Text of the report"))
        self._warning = control(
            label("", "error", self, wrap=True),
            "report-damaged",
            N_(
                "This file was changed by another program or is damaged. Keep it as is, rewrite it, or restore a "
                "backup."
            ),
        )
        self._accept = control(QPushButton(self), "report-accept", N_("Keep as is"), on=self.accept)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self.view)
        self._pages.addWidget(self.editor)
        self._error = label("", "error", self, wrap=True)
        self._error.hide()
        self._cancel = control(QPushButton(self), "", N_("Cancel"), on=lambda: self._set_editing(False))
        self._save = control(QPushButton(self), "report-save", N_("Save"), look="primary", on=self.save)
        buttons = hbox(None, 1, self._cancel, self._save)
        fill(
            column.body,
            top,
            self._warning,
            (self._accept, 0, Qt.AlignmentFlag.AlignLeft),
            (self._pages, 1),
            self._error,
            buttons,
        )
        self.editor.textChanged.connect(self._check)
        self._set_editing(False)
        return self._reader

    def set_workflow(self, workflow_id: str) -> None:
        if workflow_id != self.workflow_id:
            self._open = ""
            self._set_editing(False)
        super().set_workflow(workflow_id)

    def reload(self) -> None:
        self.jobs.start(self._load(self.workflow_id), "load")

    async def _load(self, workflow_id: str) -> None:
        self._reports = await self.bridge.engine.reports.list(workflow_id) if workflow_id else []
        self.was_read()
        known = {report.name for report in self._reports}
        if self._open and self._open not in known and not self.editing:
            self._open = ""
        try:
            if self._open in known and not self.editing:
                await self._fetch(workflow_id, self._open)
        finally:
            self._show()

    async def _fetch(self, workflow_id: str, name: str) -> None:
        """Load a report's text; a file changed since it was written is shown with a warning."""
        try:
            text, damaged = await self.bridge.engine.reports.read(workflow_id, name), False
        except StorageError as error:
            if error.code != "damaged_file":
                raise
            text, damaged = await self.bridge.engine.reports.read(workflow_id, name, check=False), True
        self._text, self._damaged = text, damaged
        self.view.set_text(text)

    def _show(self) -> None:
        chosen = self.list.currentRow()
        self.list.clear()
        for report in self._reports:
            two_line_item(self.list, report.name, report.name, _facts(report), "file-text")
        self.list.setCurrentRow(min(max(chosen, 0), self.list.count() - 1))
        count = len(self._reports)
        self.counted.emit(count)
        self.heading.setText(_("Reports · {n}", n=number(count)) if count else _("Reports"))
        self._name.setText(self._open)
        self._warning.setVisible(self._damaged)
        self._accept.setVisible(self._damaged)
        if self._open:
            self._stack.setCurrentWidget(self._reader)
        else:
            self._stack.setCurrentWidget(self.list if count else self.empty)

    def _show_ages(self) -> None:
        """Update the ages in place, so that the list stays where it was scrolled to."""
        facts = {report.name: _facts(report) for report in self._reports}
        for item in map(self.list.item, range(self.list.count())):
            row = item.data(RowRole)
            show_row(item, replace(row, facts=facts.get(row.title, row.facts)))

    @property
    def editing(self) -> bool:
        return self._pages.currentWidget() is self.editor

    def open(self, name: str) -> None:
        """Open this report."""
        self.jobs.start(self._read(self.workflow_id, name), "load")

    async def _read(self, workflow_id: str, name: str) -> None:
        await self._fetch(workflow_id, name)
        if name != self._open:
            self.view.verticalScrollBar().setValue(0)
        self._open = name
        self._set_editing(False)
        self._show()
        self.view.setFocus()

    def close_report(self) -> None:
        """Return to the list."""
        self._open = ""
        self._set_editing(False)
        self._show()
        self.list.setFocus()

    def edit(self) -> None:
        """Edit the open report."""
        self.editor.setPlainText(self._text)
        self._set_editing(True)
        self.editor.setFocus()

    def accept(self) -> None:
        """Accept the current file of a report that was changed outside."""
        self.jobs.start(self._accept_report(self.workflow_id, self._open))

    async def _accept_report(self, workflow_id: str, name: str) -> None:
        await self.bridge.engine.reports.accept(workflow_id, name)
        await self._load(workflow_id)

    def _set_editing(self, on: bool) -> None:
        self._pages.setCurrentWidget(self.editor if on else self.view)
        for button in (self._save, self._cancel):
            button.setVisible(on)
        for tool in (self._copy, self._edit, self._export, self._print, self._delete):
            tool.setEnabled(not on)
        self._error.hide()

    def _check(self) -> None:
        length = len(self.editor.toPlainText())
        over = length > limits.REPORT
        self._save.setEnabled(not over)
        self._error.setVisible(over)
        self._error.setText(
            _("Too long: {length} characters (limit: {limit})", length=number(length), limit=number(limits.REPORT))
            if over
            else ""
        )

    def save(self) -> None:
        """Save the edited report."""
        if self.editing and self._save.isEnabled():
            self._save.setEnabled(False)
            self.jobs.once("save", lambda: self._write(self.workflow_id, self._open, self.editor.toPlainText()))

    async def _write(self, workflow_id: str, name: str, text: str) -> None:
        try:
            await self.bridge.engine.reports.write(workflow_id, name, text)
        finally:
            self._save.setEnabled(True)
        self._set_editing(False)
        await self._load(workflow_id)

    def delete(self, name: str) -> None:
        """Delete a report and offer to undo it."""
        if name:
            self.jobs.once(("delete", name), lambda: self._remove(self.workflow_id, name))

    async def _remove(self, workflow_id: str, name: str) -> None:
        text = await self.bridge.engine.reports.delete(workflow_id, name)
        self._open = ""
        done = _("Report “{name}” deleted", name=name)
        if text is None:  # its file was already missing
            toast(self, done)
        else:
            again = partial(self._write, workflow_id, name, text)
            offer_undo(self, done, lambda: self.jobs.once(("undo", name), again))
        await self._load(workflow_id)

    def export(self) -> None:
        """Ask for a file and export the open report."""
        text = self._text

        async def given() -> str:
            return text

        ask_export(self.window(), self.jobs, toasts_of(self), self._open, given)

    def print_(self) -> None:
        """Print the open report."""
        ask_print(self.window(), toasts_of(self), self._open, self._text)

    def copy(self) -> None:
        """Copy the open report to the clipboard as rich text."""
        copy(self._text)
