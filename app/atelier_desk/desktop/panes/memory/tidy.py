"""Memories that say the same or cannot both hold, two by two side by side: a person says which holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from atelier_desk.desktop.jobs import Jobs
from atelier_desk.desktop.panes.base import offer_undo
from atelier_desk.desktop.panes.memory.dialog import provenance
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Card, control, fill, label
from atelier_desk.domain.memory import Memory
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.engine.services.common.memory_care import MemoryPair


class TidyDialog(QDialog):
    """``memory-tidy``: a card a pair, with ``tidy-first``, ``tidy-second`` and ``tidy-both`` in each.

    Keeping one forgets the other, which the undo of ``undo_on`` brings back.
    """

    def __init__(self, bridge: Bridge, workflow_id: str, undo_on: QWidget) -> None:
        super().__init__(undo_on.window())
        self.setObjectName("memory-tidy")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(_("Tidy up the memories"))
        self._bridge, self._workflow_id, self._undo_on = bridge, workflow_id, undo_on
        self.jobs = Jobs(self, self._failed)
        self.cards: list[Card] = []
        column = fill(QVBoxLayout(self), label(_("Tidy up the memories"), "title", self), margins=(24, 20, 24, 20), spacing=8)
        self.said = control(label(_("Comparing…"), "muted", self, wrap=True), "tidy-said")
        column.addWidget(self.said)
        self._holder = QWidget(self)
        self._pairs = fill(QVBoxLayout(self._holder), margins=(0, 0, 0, 0), spacing=10)
        self._pairs.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setWidget(self._holder)
        column.addWidget(area, 1)
        self._close = control(QPushButton(_("Close"), self), "tidy-close", on=self.accept)
        fill(column, fill(QHBoxLayout(), 1, self._close))
        self.resize(theme().px(680), theme().px(520))
        self.jobs.start(self._load(), "load")

    def _failed(self, problem: str) -> None:
        self.said.setText(problem)

    async def _load(self) -> None:
        pairs = await self._bridge.engine.memories.pairs(self._workflow_id or None)
        for card in self.cards:
            self._pairs.removeWidget(card)
            card.deleteLater()
        self.cards = [self._card(pair) for pair in pairs]
        for place, card in enumerate(self.cards):
            self._pairs.insertWidget(place, card)
        self.said.setText(
            _("Keep one of two that say the same, or say which holds of two that do not agree.")
            if pairs
            else _("No two memories say the same or contradict one another.")
        )

    def _card(self, pair: MemoryPair) -> Card:
        card = Card(self._holder)
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme().px(16))
        same = pair.kind == "same"
        title = _("They say the same") if same else _("Which holds?")
        card.body.addWidget(label(title, "strong", card))
        for place, (memory, name) in enumerate(((pair.first, "tidy-first"), (pair.second, "tidy-second"))):
            other = pair.second if place == 0 else pair.first
            grid.addWidget(label(memory.content, "", card, wrap=True), 0, place, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label(provenance(memory), "small", card, wrap=True), 1, place, Qt.AlignmentFlag.AlignTop)
            keep = control(QPushButton(_("Keep this one") if same else _("This one holds"), card), name)
            keep.clicked.connect(lambda _on=False, kept=memory, gone=other: self._keep(kept, gone))
            grid.addWidget(keep, 2, place, Qt.AlignmentFlag.AlignLeft)
            grid.setColumnStretch(place, 1)
        card.body.addLayout(grid)
        both = control(QPushButton(_("Keep both"), card), "tidy-both", look="chip-plain")
        both.clicked.connect(lambda _on=False: self._both(pair))
        card.body.addLayout(fill(QHBoxLayout(), 1, both))
        return card

    def _keep(self, kept: Memory, gone: Memory) -> None:
        async def job() -> None:
            await self._bridge.engine.memories.merge(kept.id, gone.id)
            offer_undo(self._undo_on, _("Made one of two memories"), lambda: self._undo(gone.id))
            await self._load()

        self.jobs.once(("keep", gone.id), job)

    def _both(self, pair: MemoryPair) -> None:
        async def job() -> None:
            await self._bridge.engine.memories.keep_both(pair.first.id, pair.second.id)
            await self._load()

        self.jobs.once(("both", pair.first.id, pair.second.id), job)

    def _undo(self, memory_id: str) -> None:
        jobs = getattr(self._undo_on, "jobs", self.jobs)  # the dialog may be closed by then
        memories = self._bridge.engine.memories

        async def job() -> None:
            await memories.undo_delete(memory_id)

        jobs.once(("undo", memory_id), job)
