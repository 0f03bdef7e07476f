"""A new file waiting for approval: its name, Keep and Discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedButton, FlowLayout, bind, bind_text, control
from atelier_desk.domain.errors import AtelierError, NotFoundError
from atelier_desk.presentation import call_failure_text
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from collections.abc import Callable

    from atelier_desk.desktop.bridge.bridge import Bridge

WHY = N_(
    "This file contains instructions for agents or is run by programs. It is held outside the folder until you keep"
    " or discard it."
)


class HeldRow(QWidget):
    """``held-row``.

    Args:
        notify: receives a message if keeping or discarding failed.

    Signals:
        opened: its name was clicked.
        answered: it was kept or discarded, here or elsewhere.
    """

    opened = Signal()
    answered = Signal()

    def __init__(
        self,
        bridge: Bridge | None,
        workflow_id: str,
        held_id: str,
        path: str,
        replaces: bool,
        notify: Callable[[str], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("held-row")
        self._bridge, self._workflow_id, self.held_id, self._path, self._replaces, self._on_answered = (
            bridge, workflow_id, held_id, path, replaces, notify,
        )  # fmt: skip
        self.waits = True
        self._choice: bool | None = None
        self.name = control(
            ElidedButton(self, Qt.TextElideMode.ElideMiddle), "held-name", look="quiet", on=self.opened.emit, tip=WHY
        )
        self.keep_button = control(QPushButton(self), "held-keep", N_("Keep"), on=lambda: self._answer(True))
        self.discard = control(QPushButton(self), "held-discard", N_("Discard"), on=lambda: self._answer(False))
        bind_text(self.keep_button, name=lambda: _("Keep {path}", path=path))
        bind_text(self.discard, name=lambda: _("Discard {path}", path=path))
        row = FlowLayout(self, 6)
        for part in (self.name, self.keep_button, self.discard):
            row.addWidget(part)
        bind(self._show)

    def _show(self) -> None:
        words = N_("New version held for review: {path}") if self._replaces else N_("Held for review: {path}")
        if not self.waits:
            answered = N_("Kept: {path}") if self._choice else N_("Discarded: {path}")
            words = N_("No longer held: {path}") if self._choice is None else answered
        text = _(words, path=self._path)
        icon = "triangle-alert" if self.waits else "trash-2" if self._choice is False else "check"
        self.name.setIcon(theme().icon(icon, "warn" if self.waits else "muted", 14))
        self.name.setText(text.replace("&", "&&"))
        self.name.setAccessibleName(text)
        self.name.setEnabled(self.waits)
        bind_text(self.name, tip=lambda: f"{self._path}\n{_(WHY)}" if self.waits else self._path)
        for button in (self.keep_button, self.discard):
            button.setVisible(self.waits and self._bridge is not None)

    def settle(self) -> None:
        """It was kept or discarded: remove the buttons."""
        if self.waits:
            self.waits = False
            self._show()
            self.answered.emit()

    def _answer(self, keeps: bool) -> None:
        if self._bridge is not None and self.waits:
            self._bridge.jobs.start(self._answered(self._bridge, keeps), key=f"held {self.held_id}")

    async def _answered(self, bridge: Bridge, keeps: bool) -> None:
        files = bridge.engine.files
        self._choice = keeps
        try:
            if keeps:
                await files.accept_held(self._workflow_id, self.held_id)
            else:
                await files.discard(self._workflow_id, self.held_id)
        except NotFoundError:
            self._choice = None
        except AtelierError as error:
            self._choice = None
            self._on_answered(call_failure_text.in_words(error))
            return
        self.settle()
