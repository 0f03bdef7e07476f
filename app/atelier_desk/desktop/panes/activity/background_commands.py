"""Background commands of agents, one per line, with an input field and a stop button."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLineEdit, QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.widgets import ElidedLabel, bind, bind_text, control, hbox, tint, vbox
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain import limits
from atelier_desk.domain.background_command import RunningCommand
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane

POLL_MS = 2_000
"""Milliseconds between two readings of their output while any runs."""


class CommandRows(QWidget):
    """``command-rows``: hidden while no command runs."""

    def __init__(self, pane: Pane) -> None:
        super().__init__(pane)
        self.setObjectName("command-rows")
        self._pane = pane
        self.commands: list[RunningCommand] = []
        self._outputs: dict[str, ElidedLabel] = {}
        self._fields: dict[str, QLineEdit] = {}
        self._again = QTimer(self)
        self._again.setInterval(POLL_MS)
        self._again.timeout.connect(self.reload)
        self._column = vbox(self, spacing=2)
        bind(self._fill)

    def reload(self) -> None:
        self._pane.jobs.start(self._load(self._pane.workflow_id), "commands")

    async def _load(self, workflow_id: str) -> None:
        found = await self._pane.bridge.engine.commands.list(workflow_id) if workflow_id else []
        if workflow_id == self._pane.workflow_id:
            same = [each.id for each in found] == [each.id for each in self.commands]
            self.commands = found
            if same:
                # Rows are reused: a button must not disappear while pressed.
                self._show_outputs()
            else:
                self._fill()
            if found and not self._again.isActive():
                self._again.start()
            elif not found:
                self._again.stop()

    def _show_outputs(self) -> None:
        for command in self.commands:
            line = self._outputs[command.id]
            line.setText(visible(command.output.rpartition("\n")[2]))
            line.setToolTip(plain_tip(command.output))
            line.setVisible(bool(command.output))

    def _fill(self) -> None:
        typed = {key: (field.text(), field.hasFocus()) for key, field in self._fields.items()}
        while (item := self._column.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        self._outputs.clear()
        self._fields.clear()
        for command in self.commands:
            self._column.addWidget(self._row(command))
            text, had_focus = typed.get(command.id, ("", False))
            self._fields[command.id].setText(visible(text))
            if had_focus:
                self._fields[command.id].setFocus()
        self._show_outputs()
        self.setVisible(bool(self.commands))

    def _row(self, command: RunningCommand) -> QWidget:
        row = QWidget(self)
        open_ = _("Not sandboxed") if command.sandbox == "none" else ""
        name = control(ElidedLabel(" · ".join(filter(None, (command.line, open_))), row), "command-line", look="mono")
        bind_text(
            name, tip=lambda: command.line, name=lambda: _("Running in the background: {command}", command=command.line)
        )
        self._outputs[command.id] = control(ElidedLabel("", row), "command-output", look="muted")
        stop = control(QPushButton(row), "command-stop", N_("Stop"), look="link", on=partial(self._stop, command))
        tint(stop, "circle-stop", "muted", 14)
        stop.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        bind_text(
            stop,
            tip=N_("Stop this command and its child processes"),
            name=lambda: _("Stop: {command}", command=command.line),
        )
        field = self._fields[command.id] = control(
            QLineEdit(row), "command-input", hint=N_("Type a line and press Enter")
        )
        bind_text(field, name=lambda: _("Input for {command}", command=command.line))
        field.setMaxLength(limits.COMMAND_INPUT - 1)
        field.returnPressed.connect(partial(self._enter, command))
        top = hbox(None, (name, 1), stop, spacing=4)
        vbox(row, top, self._outputs[command.id], field, spacing=3)
        return row

    def _enter(self, command: RunningCommand) -> None:
        self._pane.jobs.start(self._write(command, self._fields[command.id].text()), f"write to {command.id}")

    async def _write(self, command: RunningCommand, text: str) -> None:
        await self._pane.bridge.engine.commands.input(command.workflow_id, command.id, text + "\n")
        # Text that could not be sent is restored, unless new text was typed meanwhile.
        field = self._fields.get(command.id)
        if field is not None and field.text() == text:
            field.clear()
        self.reload()

    def _stop(self, command: RunningCommand) -> None:
        self._pane.jobs.start(self._end(command), "stop command")

    async def _end(self, command: RunningCommand) -> None:
        await self._pane.bridge.engine.commands.stop(command.workflow_id, command.id)
