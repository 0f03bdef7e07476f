"""A file that a program made and that waits for the person: its name, and Keep and Discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Translated, control, fill, say
from atelier_desk.domain.errors import AtelierError, NotFoundError
from atelier_desk.i18n import N_, _
from atelier_desk.tools import failure_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from atelier_desk.desktop.bridge import Bridge

WHY = N_("Agents obey this file, or programs run it, so it waits outside the folder until you keep or discard it.")


class HeldRow(Translated, QWidget):
    """``held-row``.

    Args:
        told: gets a sentence when it could not be kept or discarded.

    Signals:
        opened: its name was pressed.
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
        told: Callable[[str], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("held-row")
        self._bridge, self._workflow_id, self.held_id, self._path, self._replaces, self._told = (
            bridge, workflow_id, held_id, path, replaces, told,
        )  # fmt: skip
        self.waits = True
        self.name = control(QPushButton(self), "held-name", on=self.opened.emit, tip=WHY)
        mark(self.name, "quiet")
        self.keep = control(QPushButton(self), "held-keep", N_("Keep"), on=lambda: self._answer(True))
        self.discard = control(QPushButton(self), "held-discard", N_("Discard"), on=lambda: self._answer(False))
        say(self.keep, name=lambda: _("Keep {path}", path=path))
        say(self.discard, name=lambda: _("Discard {path}", path=path))
        row = fill(QHBoxLayout(self), self.name, self.keep, self.discard, margins=(0, 0, 0, 0), spacing=6)
        row.addStretch(1)
        theme().changed.connect(self.retranslate)
        self.retranslate()

    def retranslate(self) -> None:
        words = N_("New version held: {path}") if self._replaces else N_("Held: {path}")
        text = _(words, path=self._path) if self.waits else self._path
        self.name.setIcon(theme().icon("triangle-alert", "warn" if self.waits else "muted", 14))
        self.name.setText(text.replace("&", "&&"))
        self.name.setAccessibleName(text)
        for button in (self.keep, self.discard):
            button.setVisible(self.waits and self._bridge is not None)

    def settle(self) -> None:
        """It was kept or discarded: there is nothing to answer any more."""
        if self.waits:
            self.waits = False
            self.retranslate()
            self.answered.emit()

    def _answer(self, keeps: bool) -> None:
        if self._bridge is not None and self.waits:
            self._bridge.jobs.start(self._answered(self._bridge, keeps), key=f"held {self.held_id}")

    async def _answered(self, bridge: Bridge, keeps: bool) -> None:
        files = bridge.engine.files
        try:
            if keeps:
                await files.keep(self._workflow_id, self.held_id)
            else:
                await files.discard(self._workflow_id, self.held_id)
        except NotFoundError:
            pass
        except AtelierError as error:
            self._told(failure_words.in_words(error))
            return
        self.settle()
