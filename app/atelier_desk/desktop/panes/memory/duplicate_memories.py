"""Resolving duplicate or contradicting memories: pairs side by side, from which the user selects one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QPushButton, QScrollArea, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.panes.memory.dialog import provenance
from atelier_desk.desktop.panes.pane_base import offer_undo
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import Card, control, fill, fit_window, hbox, label, vbox
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.common.memory_maintenance import MemoryPair

Undo = Callable[[], Awaitable[object]]


class PairCard(Card):
    """Two memories with ``tidy-first``, ``tidy-second`` and ``tidy-both``.

    Once resolved, the result and ``tidy-undo``.

    Attributes:
        pair: the memories when the card was created.
        undo: reverts the decision; None while there is none.
        buttons: in tab order.
    """

    def __init__(self, pair: MemoryPair, dialog: TidyDialog, parent: QWidget) -> None:
        super().__init__(parent)
        self.pair = pair
        self.undo: Undo | None = None
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme().px(16))
        same = pair.kind == "same"
        self.body.addWidget(label(_("Duplicates") if same else _("Which is correct?"), "strong", self))
        self._texts: dict[str, QLabel] = {}
        self._buttons: list[QPushButton] = []
        for place, (memory, name) in enumerate(((pair.first, "tidy-first"), (pair.second, "tidy-second"))):
            other = pair.second if place == 0 else pair.first
            text = self._texts[memory.id] = label(memory.content, "", self, wrap=True)
            grid.addWidget(text, 0, place, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label(provenance(memory), "small", self, wrap=True), 1, place, Qt.AlignmentFlag.AlignTop)
            keep_button = control(QPushButton(_("Keep this one") if same else _("This one is correct"), self), name)
            keep_button.setAccessibleName(
                visible(_("{name}: {text}", name=keep_button.text(), text=" ".join(memory.content.split())[:80]))
            )
            keep_button.clicked.connect(
                lambda _on=False, kept=memory, deleted=other: dialog.keep_one(self, kept.id, deleted.id)
            )
            grid.addWidget(keep_button, 2, place, Qt.AlignmentFlag.AlignLeft)
            grid.setColumnStretch(place, 1)
            self._buttons.append(keep_button)
        self.body.addLayout(grid)
        both = control(QPushButton(_("Keep both"), self), "tidy-both", look="chip-plain")
        both.clicked.connect(lambda _on=False: dialog.keep_both(self))
        self._buttons.append(both)
        self.status = label("", "muted", self)
        self._back = control(QPushButton(_("Undo"), self), "tidy-undo", look="link")
        self._back.clicked.connect(lambda _on=False: dialog.undo_answer(self))
        self.body.addLayout(hbox(None, self.status, self._back, 1, both, spacing=8))
        self.buttons = (*self._buttons, self._back)
        self.show_open()

    def show_open(self) -> None:
        """Show the buttons that resolve the pair."""
        self._show(None, "", "")

    def show_answered(self, message: str, undo: Undo, deleted_id: str = "") -> None:
        """Show the result and Undo; the deleted memory's text is dimmed."""
        self._show(undo, message, deleted_id)

    def _show(self, undo: Undo | None, message: str, deleted_id: str) -> None:
        focused = self.isAncestorOf(self.focusWidget()) if self.focusWidget() is not None else False
        self.undo = undo
        self.status.setText(message)
        for memory_id, text in self._texts.items():
            mark(text, "muted" if memory_id == deleted_id else "")
        for button in self._buttons:
            button.setVisible(undo is None)
        for widget in (self.status, self._back):
            widget.setVisible(undo is not None)
        if focused:
            (self._buttons[0] if undo is None else self._back).setFocus()


class TidyDialog(QDialog):
    """``memory-tidy``: a card per pair.

    A resolved card remains until the dialog is closed and can be undone. Afterwards, ``undo_on`` offers to undo the
    decisions.
    """

    def __init__(self, bridge: Bridge, workflow_id: str, undo_on: QWidget) -> None:
        super().__init__(undo_on.window())
        self.setObjectName("memory-tidy")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(_("Clean up memories"))
        self._bridge, self._workflow_id, self._undo_on = bridge, workflow_id, undo_on
        self.jobs = Jobs(self, self._failed)
        self.cards: list[PairCard] = []
        column = vbox(self, label(_("Clean up memories"), "title", self), margins=(24, 20, 24, 20), spacing=8)
        self.status = control(label(_("Comparing…"), "muted", self, wrap=True), "tidy-said")
        column.addWidget(self.status)
        self._holder = QWidget(self)
        self._pairs = vbox(self._holder, spacing=10)
        self._pairs.addStretch(1)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setWidget(self._holder)
        column.addWidget(self._area, 1)
        self._close = control(QPushButton(_("Close"), self), "tidy-close", on=self.accept)
        fill(column, hbox(None, 1, self._close))
        fit_window(self, QSize(680, 520))
        self.finished.connect(lambda _result: self._offer_undo())
        self.jobs.start(self._load(), "load")

    def _failed(self, problem: str) -> None:
        self.status.setText(problem)

    async def _load(self) -> None:
        pairs = await self._bridge.engine.memories.pairs(self._workflow_id or None)
        now = {(pair.first.id, pair.second.id): pair for pair in pairs}
        for card in [each for each in self.cards if each.undo is None]:
            pair = now.get((card.pair.first.id, card.pair.second.id))
            if pair != card.pair:
                self._replace(card, pair)
        shown = {(card.pair.first.id, card.pair.second.id) for card in self.cards}
        for key, pair in now.items():
            if key not in shown:
                self._insert(len(self.cards), pair)
        self._order_tabs()
        self.status.setText(
            _("Keep one of two duplicates, or choose which of two contradictory memories is correct.")
            if pairs
            else _("No duplicates or contradictions found.")
        )

    def _order_tabs(self) -> None:
        """Set the tab order: the cards as shown, then Close, which was created first."""
        before: QWidget = self._area
        for button in (*(each for card in self.cards for each in card.buttons), self._close):
            self.setTabOrder(before, button)
            before = button

    def _insert(self, place: int, pair: MemoryPair) -> None:
        card = PairCard(pair, self, self._holder)
        self.cards.insert(place, card)
        self._pairs.insertWidget(place, card)

    def _replace(self, card: PairCard, pair: MemoryPair | None) -> None:
        """Update a pair affected by another decision: one of its memories was deleted or replaced."""
        place = self.cards.index(card)
        self.cards.remove(card)
        self._pairs.removeWidget(card)
        card.hide()
        card.deleteLater()
        if pair is not None:
            self._insert(place, pair)

    def keep_one(self, card: PairCard, kept_id: str, deleted_id: str) -> None:
        """Keep one memory of a pair and delete the other."""
        memories = self._bridge.engine.memories

        async def job() -> None:
            await memories.merge(kept_id, deleted_id)
            card.show_answered(_("Memories merged"), lambda: memories.undo_delete(deleted_id), deleted_id)
            await self._load()

        self.jobs.once(card, job)

    def keep_both(self, card: PairCard) -> None:
        """Keep both memories."""
        memories, ids = self._bridge.engine.memories, (card.pair.first.id, card.pair.second.id)

        async def job() -> None:
            await memories.keep_both(*ids)
            card.show_answered(_("Both kept"), lambda: memories.keep_both(*ids, False))
            await self._load()

        self.jobs.once(card, job)

    def undo_answer(self, card: PairCard) -> None:
        """Undo a decision."""

        async def job() -> None:
            if card.undo is not None:
                await card.undo()
                card.show_open()
                await self._load()

        self.jobs.once(card, job)

    def _offer_undo(self) -> None:
        """Pass the decisions to the window's undo: a toast under this modal dialog could not be clicked."""
        jobs: Jobs = getattr(self._undo_on, "jobs", self.jobs)

        async def job(undo: Undo) -> None:
            await undo()

        for card in self.cards:
            if card.undo is not None:
                offer_undo(
                    self._undo_on,
                    card.status.text(),
                    partial(jobs.once, ("undo", id(card.undo)), partial(job, card.undo)),
                )
