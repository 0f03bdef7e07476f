"""The picker of the turn a pane shows: the newest, or a selected one."""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from atelier_desk.desktop.panes.time_format import clock_time
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import Turn
from atelier_desk.support.i18n import N_, _

_MOST_TEXT = 12
"""Width of the box in wide letters: room for a four-digit turn with its time."""


class _TurnList(QAbstractListModel):
    """The turns, newest first. Texts are created for visible ones only: a workflow can have thousands."""

    def __init__(self, parent: QComboBox) -> None:
        super().__init__(parent)
        self._turns: list[Turn] = []

    def show(self, turns: list[Turn]) -> None:
        self.beginResetModel()
        self._turns = turns
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._turns)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        turn = self._turns[-1 - index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _("Turn {number} · {time}", number=turn.number, time=clock_time(turn.began))
        return turn.run_id if role == Qt.ItemDataRole.UserRole else None


class TurnPicker(ComboBox):
    """Lists the turns, newest first; hidden if there is only one. Follows the newest until another is selected.

    Attributes:
        turns: oldest first.
        wanted: the root run of the selected turn; empty follows the newest.

    Signals:
        picked: the root run of the turn the user selected.
    """

    picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        control(self, look="chip-plain", name=N_("Turn"), tip=N_("Choose a turn of the workflow"))
        # Sizing by contents would create the text of every turn.
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
        """The turn to show; empty if there is none."""
        known = {turn.run_id for turn in self.turns}
        return self.wanted if self.wanted in known else self.turns[-1].run_id if self.turns else ""

    def set_turns(self, turns: list[Turn]) -> None:
        """Set the turns of the workflow in view, oldest first; an open list stays open if they are unchanged."""
        if turns != self.turns:
            self.turns = turns
            self._fill()

    def want(self, root_run_id: str) -> None:
        """Select this turn; empty follows the newest."""
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
