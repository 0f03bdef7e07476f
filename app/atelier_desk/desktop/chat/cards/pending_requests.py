"""Requests to the user below a card: approvals, questions of sub-agents, agents stopped at a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.cards.limit_card import LimitCard
from atelier_desk.desktop.chat.cards.questions_and_reasoning import QuestionCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_group import ApprovalGroup
from atelier_desk.desktop.theme import theme
from atelier_desk.presentation.rows.team_state import Member
from atelier_desk.presentation.rows.transcript_entries import QuestionRow

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.approval import ApprovalRequest

    _Card = ApprovalCard | ApprovalGroup | QuestionCard | LimitCard


_AROUND = 48
"""Pixels at 100 % that an approval leaves free in the view: the space below it at the end, and a margin above."""


class PendingRequests(QWidget):
    """A stack of request cards; each disappears when its request is settled.

    Signals:
        height_changed: a card was added, removed or resized.
    """

    height_changed = Signal()

    def __init__(self, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._cards: dict[str, _Card] = {}
        host.view_height_changed.connect(self._view_resized)

    def __len__(self) -> int:
        return len(self._cards)

    def show_all(self, approvals: Iterable[ApprovalRequest], members: Iterable[Member] = ()) -> None:
        """Show cards for these approvals, and for requests of these agents to the user."""
        cards: dict[str, _Card] = {}
        for group in self._host.approvals.together(approvals) if self._host.approvals is not None else ():
            key, shown = self._approval(group)
            cards[key] = shown
        for member in members:
            for question_id, text in member.questions.items():
                key = f"question:{question_id}"
                known = self._cards.get(key)
                cards[key] = (
                    known if known is not None else QuestionCard(QuestionRow(question_id, text), self._host, self)
                )
            if member.at_limit:
                key = f"limit:{member.run_id}:{member.limit}:{member.cap}"
                card = self._cards.get(key) or LimitCard(self._host, self)
                assert isinstance(card, LimitCard)
                card.show_limit(member.run_id, member.name, member.limit, member.value, member.cap, member.left_over)
                cards[key] = card
        for key in [key for key in self._cards if key not in cards]:
            self._drop(self._cards[key])
        added = [card for key, card in cards.items() if key not in self._cards]
        changed = list(cards) != list(self._cards)
        self._cards = cards
        for card in added:
            card.show()
        self.setVisible(bool(cards))  # an empty stack would cover other cards and receive their clicks
        if changed:
            self.height_changed.emit()

    def _approval(self, group: Sequence[ApprovalRequest]) -> tuple[str, ApprovalCard | ApprovalGroup]:
        key = group_key(group)
        known = self._cards.get(key)
        if isinstance(known, ApprovalGroup):
            known.show_requests(group)
        if known is not None:
            return key, known  # type: ignore[return-value]  # the key implies the type
        assert self._host.bridge is not None
        card = card_for(self._host.bridge, group, self)
        card.height_changed.connect(self.height_changed)
        card.unfolded.connect(self._host.unfolded)
        return key, card

    @staticmethod
    def _drop(card: QWidget) -> None:
        card.hide()
        card.setParent(None)
        card.deleteLater()

    def _view_resized(self) -> None:
        if self._cards:
            self.height_changed.emit()

    def fit(self, width: int) -> int:
        """Stack the cards in this width; returns the height, 0 without cards."""
        y = 0
        room = self._host.view_height - theme().px(_AROUND)
        for card in self._cards.values():
            if isinstance(card, ApprovalCard | ApprovalGroup):
                # Sentence, risk and buttons are in sight together; what is between them scrolls.
                card.limit_height(min(card.default_limit(), room) if self._host.view_height else None)
            height = card.fit(width)
            card.setGeometry(0, y, width, height)
            y += height + theme().px(8)
        return y


def card_for(bridge: Bridge, group: Sequence[ApprovalRequest], parent: QWidget) -> ApprovalCard | ApprovalGroup:
    """The card of a group of requests; for a single one an ``ApprovalCard``."""
    return ApprovalCard(bridge, group[0], parent) if len(group) == 1 else ApprovalGroup(bridge, group, parent)


def group_key(group: Sequence[ApprovalRequest]) -> str:
    """A key that is stable while requests join and leave the group."""
    return f"approval:{group[0].id}" if len(group) == 1 else f"approvals:{group[0].run_id}"
