"""Which turn of a conversation a pane shows: the newest one, or one picked in a box."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from atelier_desk.desktop.panes.wording import clock_time
from atelier_desk.desktop.widgets import Translated, control
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.engine.services.team.views import Turn
from atelier_desk.i18n import N_, _


class TurnPicker(Translated, ComboBox):
    """Lists the turns, the newest first; hidden while there is only one. It stays on the newest unless another one was picked.

    Attributes:
        turns: oldest first.
        wanted: the root run of the picked turn; empty goes with the newest.

    Signals:
        picked: the root run of the turn a person chose.
    """

    picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        control(self, look="chip-plain", name=N_("Turn"), tip=N_("Turn of the workflow"))
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.turns: list[Turn] = []
        self.wanted = ""
        self.hide()
        self.activated.connect(self._on_activated)

    @property
    def root_run_id(self) -> str:
        """The turn to show; empty when there is none."""
        known = {turn.run_id for turn in self.turns}
        return self.wanted if self.wanted in known else self.turns[-1].run_id if self.turns else ""

    def set_turns(self, turns: list[Turn]) -> None:
        """The turns of the workflow in view, oldest first; a list that is open stays open while they are the same."""
        if turns != self.turns:
            self.turns = turns
            self.retranslate()

    def want(self, root_run_id: str) -> None:
        """Stay on this turn; empty goes with the newest."""
        self.wanted = root_run_id
        self._choose()

    def _on_activated(self, index: int) -> None:
        run_id = str(self.itemData(index))
        self.wanted = "" if self.turns and run_id == self.turns[-1].run_id else run_id
        self.picked.emit(run_id)

    def _choose(self) -> None:
        self.setCurrentIndex(max(0, self.findData(self.root_run_id)))

    def retranslate(self) -> None:
        self.clear()
        for turn in reversed(self.turns):
            self.addItem(_("Turn {number} · {time}", number=turn.number, time=clock_time(turn.began)), turn.run_id)
        self._choose()
        self.setVisible(len(self.turns) > 1)
