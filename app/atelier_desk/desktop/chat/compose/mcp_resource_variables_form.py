"""Variables in a resource's address, filled in before it is attached; its server suggests values while typing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.widgets import control
from atelier_desk.engine.mentions.mention_source import Mention
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

PAUSE_MS = 200
"""Milliseconds after the last key before the server is asked."""


class ResourceValues(FormDialog):
    """``resource-values``. ``filled`` carries the resource with its completed address."""

    filled = Signal(object)

    def __init__(self, bridge: Bridge, mention: Mention, parent: QWidget) -> None:
        super().__init__(mention.name, parent)
        self.setObjectName("resource-values")
        self._bridge, self._mention = bridge, mention
        self._server, _zero, self._template = mention.key.partition("\0")
        self._jobs = Jobs(self, self.show_error)
        self._fields: dict[str, QLineEdit] = {}
        for number, name in enumerate(mention.needs):
            self._add(number, name)
        self.finish(_("Attach"))

    def problem(self) -> str:
        empty = [
            name for name, field in self._fields.items() if not field.text().strip() and name not in self._mention.may
        ]
        return _("Fill in: {names}", names=", ".join(empty)) if empty else ""

    def submit(self) -> None:
        self._jobs.once("fill", self._fill)

    async def _fill(self) -> None:
        try:
            uri = await self._bridge.engine.mcp.content.fill(self._server, self._template, self._values())
        except Exception as error:
            self.show_error(error_text(error))
            return
        self.accept()
        name = uri.rstrip("/").rpartition("/")[2] or uri
        self.filled.emit(replace(self._mention, key=f"{self._server}\0{uri}", name=name, needs=(), may=()))

    def _values(self) -> dict[str, str]:
        return {name: field.text() for name, field in self._fields.items()}

    def _add(self, number: int, name: str) -> None:
        field = self._fields[name] = control(QLineEdit(self), f"resource-value-{number}")
        field.setMaxLength(2_000)
        # The server decides what matches the typed text.
        model = QStringListModel(field)
        completer = QCompleter(model, field)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        field.setCompleter(completer)
        timer = QTimer(field, interval=PAUSE_MS, singleShot=True)

        async def propose() -> None:
            typed = field.text()
            found = await self._bridge.engine.mcp.content.propose(
                self._server, self._template, name, typed, self._values()
            )
            if field.text() == typed:
                model.setStringList(found)
                if found and field.hasFocus():
                    completer.complete()

        timer.timeout.connect(lambda: self._jobs.start(propose(), name))
        field.textEdited.connect(lambda _text: timer.start())
        field.textEdited.connect(lambda _text: self.check())
        caption = _("{name} (optional)", name=name) if name in self._mention.may else name
        self.add_field(caption, field, "" if number else self._mention.detail)
