"""The inbox over all workflows: what waits for the user, oldest first, then unseen failed and finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.cards.pending_requests import card_for, group_key
from atelier_desk.desktop.panes.inbox.ended_workflow_cards import LISTED, NewsCard, news_of
from atelier_desk.desktop.panes.inbox.request_cards import MemoryCard, ParentQuestionCard, QuestionCard, StoppedCard
from atelier_desk.desktop.panes.pane_base import Pane
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_group import ApprovalGroup
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.widgets import EmptyState, Pill, bind, bind_text, control, label, vbox
from atelier_desk.desktop.widgets.hover_freeze import HoverGate, moved
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.support.i18n import N_, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.approval import ApprovalRequest
    from atelier_desk.domain.memory import Memory
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.workflow import Workflow

_Card = QuestionCard | ApprovalCard | ApprovalGroup | ParentQuestionCard | StoppedCard | MemoryCard
_Waits = tuple[datetime, str, str]
_News = tuple[Sequence["Workflow"], ...]
NOTHING = (
    N_("Nothing is waiting for you"),
    N_("Questions, approvals, and workflows that finished or failed appear here."),
)
SECTIONS = (N_("Waiting for you"), N_("Failed or interrupted"), N_("Finished"))
NEWEST = 200
"""Number of most recently changed workflows searched for unseen ends."""


class InboxPane(Pane):
    """``question-inbox`` with ``pending-count``.

    The presenter and its parts own the items, except proposed memories; this pane lists those that are not open.

    A card lives as long as its item and preserves typed text and focus.
    """

    topics = ("workflow", "memory")

    def __init__(self, bridge: Bridge, presenter: QuestionPresenter, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("question-inbox")
        self._presenter = presenter
        self._names: dict[str, str] = {}
        self._begun = False
        self._cards: dict[str, _Card] = {}
        self._memories: dict[str, Memory] = {}
        """Those that agents propose for all workflows, by key of their cards."""
        self._news: _News = ([], [])
        self._ended: dict[str, NewsCard] = {}
        self._places: list[object] = []
        self.count = control(Pill("0", "", self), "pending-count")
        self.tools.addWidget(self.count)
        self.empty = EmptyState("inbox", *NOTHING, parent=self)
        self.fold_when(self.empty)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.viewport().installEventFilter(self)
        self._gate = HoverGate(self._area, self._show)
        content = self._content = control(QWidget(self._area), look="plain")
        self._headings = [
            control(label("", "heading", content), f"inbox-section-{number}", text)
            for number, text in enumerate(SECTIONS)
        ]
        self._list = vbox(content, 1, spacing=8)
        self._area.setWidget(content)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._area)
        self.column.addWidget(self._stack, 1)
        presenter.pending_changed.connect(lambda _count: self._pending_changed())
        bind_text(self.heading, N_("Inbox"))
        MinuteClock(self, self._show)  # the cards show waiting times
        bind(self._show, on="language")

    def set_workflow(self, workflow_id: str) -> None:
        """Load with the first workflow; the inbox is the same for all."""
        self.workflow_id = workflow_id
        if not self._begun:
            self._begun = True
            self.reload()

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic in self.topics:
            self.schedule_reload()

    def reload(self) -> None:
        self.jobs.start(self._load_names(), "load")

    async def _load_names(self) -> None:
        workflows = await self.bridge.engine.workflows.list(limit=NEWEST)
        memories = await self.bridge.engine.memories.proposed(limit=LISTED)
        self._memories = {f"memory:{each.id}": each for each in memories}
        self._names |= {workflow.id: workflow.name for workflow in workflows}
        if self._unnamed():
            self._names = {each.id: each.name for each in await self.bridge.engine.workflows.list(limit=None)}
        self._news = news_of(workflows)
        self._show()

    def _unnamed(self) -> bool:
        return any(workflow_id not in self._names for _when, _key, workflow_id in self._waiting())

    def _pending_changed(self) -> None:
        if self._unnamed():
            self.reload()
        self._show()

    def _waiting(self) -> list[_Waits]:
        """Everything that waits, oldest first: time, key, workflow."""
        presenter = self._presenter
        found = [(each.created_at, f"question:{each.id}", each.workflow_id) for each in presenter.listed()]
        found += [(group[0].created_at, key, group[0].workflow_id) for key, group in self._groups().items()]
        found += [
            (each.created_at, f"parent:{each.run_id}", each.workflow_id) for each in presenter.waiting_runs.pending()
        ]
        found += [
            (each.created_at, f"stopped:{each.run_id}", each.workflow_id) for each in presenter.waiting_runs.stopped()
        ]
        found += [(each.created_at, key, each.workflow_id or "") for key, each in self._memories.items()]
        return sorted(found)

    def _groups(self) -> dict[str, tuple[ApprovalRequest, ...]]:
        """The approvals as grouped on the screen, by key."""
        return {group_key(group): group for group in self._presenter.approvals.together()}

    def _show(self) -> None:
        if self._presenter.read:
            self.was_read()
        at_limit = {
            each.workflow_id for each in self._presenter.waiting_runs.stopped()
        }  # their cards say how they ended
        unlisted = tuple([each for each in found if each.id not in at_limit] for found in self._news)
        waiting, news = self._still(self._waiting(), unlisted)
        keys = [key for _when, key, _workflow in waiting]
        for key in [key for key in self._cards if key not in keys]:
            _drop(self._list, self._cards.pop(key))
        stopped = {f"stopped:{each.run_id}": each for each in self._presenter.waiting_runs.stopped()}
        for _when, key, workflow_id in waiting:
            card = self._cards.get(key) or self._make(key)
            self._cards[key] = card
            if isinstance(card, ApprovalGroup):
                card.show_requests(self._groups()[key])
            elif isinstance(card, MemoryCard):
                card.show_memory(self._memories[key])
            elif isinstance(card, StoppedCard):
                card.show_stopped(stopped[key])
            card.set_where(self._names.get(workflow_id, "…"))
        shown = self._arrange([[self._cards[key] for key in keys], *self._ended_cards(news)])
        self._limit_cards()
        self.setFocusProxy(shown[0] if shown else None)  # type: ignore[arg-type]  # the stubs do not allow None
        self._stack.setCurrentWidget(self._area if shown else self.empty)
        if self._presenter.dialog is not None:
            self.empty.set_texts(
                N_("Nothing else is waiting for you"),
                N_("The current question is open in its workflow. Choose “Later” there to move it here."),
            )
        else:
            self.empty.set_texts(*NOTHING)
        together_with = sum(len(card.lines) - 1 for card in self._cards.values() if isinstance(card, ApprovalGroup))
        total = len(self._waiting()) + together_with + (self._presenter.dialog is not None)  # the open one waits too
        self.count.show_state(number(total), "warn" if total else "")
        self.waiting.emit(total)
        self.count.setAccessibleName(ngettext("{n} item is waiting for you", "{n} items are waiting for you", total))

    def _still(self, waiting: list[_Waits], news: _News) -> tuple[list[_Waits], _News]:
        """What to show: everything, except new cards above the one under the pointer.

        Answered ones disappear at once.
        """
        # An approval joined by others gets another key, but its time stays.
        after: list[object] = [
            *((when, workflow) for when, _key, workflow in waiting),
            *(each.id for each in chain(*news)),
        ]
        before = [each for each in self._places if each in after]
        if moved(before, after) and self._gate.holds():
            waiting = [each for each in waiting if (each[0], each[2]) in before]
            news = tuple(
                sorted((each for each in found if each.id in before), key=lambda each: before.index(each.id))
                for found in news
            )
            after = before
        self._places = after
        return waiting, news

    def _ended_cards(self, news: _News) -> list[list[NewsCard]]:
        """Cards of failed and of finished workflows."""
        listed = {each.id for each in chain(*news)}
        for key in [each for each in self._ended if each not in listed]:
            _drop(self._list, self._ended.pop(key))
        for each in chain(*news):
            if (card := self._ended.get(each.id)) is None:
                self._ended[each.id] = NewsCard(each, self.bridge, self._presenter, self._content)
            else:
                card.show_workflow(each)
        return [[self._ended[each.id] for each in found] for found in news]

    def _arrange(self, sections: Sequence[Sequence[QWidget]]) -> list[QWidget]:
        """Order the cards under a heading per section of ended workflows; returns the cards."""
        headed = any(sections[1:])
        place = 0
        for heading, cards in zip(self._headings, sections, strict=True):
            heading.setVisible(headed and bool(cards))
            for widget in (heading, *cards):
                if self._list.indexOf(widget) != place:
                    self._list.insertWidget(place, widget)
                place += 1
        return [card for cards in sections for card in cards]

    def lead_to(self, key: str) -> None:
        """Focus the card of ``question:ID``, ``approval:ID``, ``parent:ID`` or ``stopped:ID``, and scroll to it."""
        self._gate.own()
        asked = key.removeprefix("approval:")
        found = (each for each in self._cards.values() if isinstance(each, ApprovalGroup) and each.holds(asked))
        if (card := self._cards.get(key) or next(found, None)) is not None:
            card.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self._area.ensureWidgetVisible(card)

    def _make(self, key: str) -> _Card:
        kind, _sep, item_id = key.partition(":")
        presenter, content = self._presenter, self._content
        if kind in ("approval", "approvals"):
            card = card_for(self.bridge, self._groups()[key], content)
            card.show_requested.connect(presenter.workflow_requested)
            return card
        if kind == "memory":
            return MemoryCard(self._memories[key], self.bridge, presenter, content)
        if kind == "parent":
            asked = next(each for each in presenter.waiting_runs.pending() if each.run_id == item_id)
            return ParentQuestionCard(asked, presenter.waiting_runs, content)
        if kind == "stopped":
            stopped = next(each for each in presenter.waiting_runs.stopped() if each.run_id == item_id)
            return StoppedCard(stopped, self.bridge, presenter, content)
        question = presenter.queue.get(item_id)
        assert question is not None
        return QuestionCard(question, presenter, content)

    def _limit_cards(self) -> None:
        """Limit approvals to the pane's height, so that their buttons are visible."""
        for card in self._cards.values():
            if isinstance(card, ApprovalCard | ApprovalGroup):
                card.limit_height(self._area.viewport().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._limit_cards()
        return False


def _drop(layout: QVBoxLayout, card: QWidget) -> None:
    layout.removeWidget(card)
    card.hide()
    card.deleteLater()
