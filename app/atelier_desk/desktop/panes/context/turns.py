"""Which turn of a conversation a pane shows: the newest one, or one picked in a box."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from atelier_desk.desktop.panes.times import clock_time
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.engine.services.team.views import Turn
from atelier_desk.support.i18n import N_, _

_MOST_TEXT = 12
"""Width of the box in wide letters: room for a turn of four digits with its time."""


class _TurnList(QAbstractListModel):
    """The turns, the newest first. Only those in sight are put into words: a workflow can have thousands."""

    def __init__(self, parent: QComboBox) -> None:
        super().__init__(parent)
        self._turns: list[Turn] = []

    def show(self, turns: list[Turn]) -> None:
        self.beginResetModel()
        self._turns = turns
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._turns)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        turn = self._turns[-1 - index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _("Turn {number} · {time}", number=turn.number, time=clock_time(turn.began))
        return turn.run_id if role == Qt.ItemDataRole.UserRole else None


class TurnPicker(ComboBox):
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
        # By its contents would put every turn into words to find the widest.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(_MOST_TEXT)
        self._list = _TurnList(self)
        self.setModel(self._list)
        self.turns: list[Turn] = []
        self.wanted = ""
        bind(self._fill, on="language")
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
            self._fill()

    def want(self, root_run_id: str) -> None:
        """Stay on this turn; empty goes with the newest."""
        self.wanted = root_run_id
        self._choose()

    def _on_activated(self, index: int) -> None:
        run_id = str(self.itemData(index))
        self.wanted = "" if self.turns and run_id == self.turns[-1].run_id else run_id
        self.picked.emit(run_id)

    def _choose(self) -> None:
        run_ids = [turn.run_id for turn in reversed(self.turns)]
        self.setCurrentIndex(run_ids.index(self.root_run_id) if run_ids else -1)

    def _fill(self) -> None:
        self._list.show(self.turns)
        self._choose()
        self.setVisible(len(self.turns) > 1)
