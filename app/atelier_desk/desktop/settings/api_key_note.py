"""A note below a key field about where the key will be stored, with alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import FlowLayout, bind_text, control, label, vbox
from atelier_desk.domain.provider import KeyPlace
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.engine.services.api_key_storage import KeyStore


class KeyNote(QWidget):
    """``<name>-key-note`` with ``<name>-key-file`` (a toggle) and, if the form supports it, ``<name>-key-variable``.

    Signals:
        variable_requested: use an environment variable: focus its field.
    """

    variable_requested = Signal()

    def __init__(self, bridge: Bridge, name: str, parent: QWidget, *, variable: bool = True) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._store: KeyStore | None = None
        self.jobs = Jobs(self, lambda text: toast(self, text))
        self.text = control(label("", "small", self, wrap=True), f"{name}-key-note", self._note_text)
        self.file = control(QPushButton(self), f"{name}-key-file", self._offer, look="link", on=self._ask)
        self.variable = control(
            QPushButton(self),
            f"{name}-key-variable",
            N_("Use a variable"),
            look="link",
            on=self.variable_requested.emit,
        )
        self._has_variable = variable
        for button in (self.file, self.variable):
            button.hide()
        row = FlowLayout(spacing=12)
        row.addWidget(self.file)
        row.addWidget(self.variable)
        vbox(self, self.text, row, spacing=2)
        bridge.changed.connect(self._on_changed)

    @property
    def persistent(self) -> bool:
        """Whether a typed key is stored permanently, as far as loaded."""
        return self._store is None or self._store.persistent

    async def load(self) -> None:
        """Load where keys are stored."""
        self._store = store = await self._bridge.engine.keys.store()
        bind_text(self.text)
        mark(self.text, "small" if store.persistent else "warn")
        bind_text(self.file)
        self.file.setVisible(store.place is not KeyPlace.KEYRING)
        self.variable.setVisible(self._has_variable and store.place is KeyPlace.MEMORY)
        self.updateGeometry()  # the links may need another line

    def _note_text(self) -> str:
        if self._store is None:
            return ""
        if self._store.place is KeyPlace.FILE:
            return _(
                "Keys are kept unencrypted in {path}, which only your user account can read.", path=self._store.file
            )
        if self._store.place is KeyPlace.MEMORY:
            return _("No system keyring found: a key that you enter is lost when Atelier closes. To keep it:")
        return _("API keys are stored in the system keyring and never shown again.")

    def _offer(self) -> str:
        there = self._store is not None and self._store.place is KeyPlace.FILE
        return _("Delete the key file…") if there else _("Keep keys in a file…")

    def _ask(self) -> None:
        if self._store is None:
            return
        path = self._store.file
        if self._store.place is KeyPlace.FILE:
            details = _("Keys will then be kept only until Atelier closes.")
            confirm(self, _("Delete {path}?", path=path), details, _("Delete"), lambda: self._switch(False))
            return
        details = _(
            "Keys will be stored unencrypted in {path}. Only your user account can read this file; it is not "
            "included in backups, exports or logs. You can delete it here at any time.",
            path=path,
        )
        confirm(self, _("Keep keys in a file?"), details, _("Keep in a file"), lambda: self._switch(True))

    def _switch(self, on: bool) -> None:
        async def job() -> None:
            await self._bridge.engine.keys.use_file(on)
            await self.load()

        self.jobs.once("file", job)

    def _on_changed(self, topic: Topic, key: str) -> None:
        if (topic, key) == ("settings", "keys") and self.isVisible():
            self.jobs.start(self.load(), "load")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._bridge.ready:
            self.jobs.start(self.load(), "load")
