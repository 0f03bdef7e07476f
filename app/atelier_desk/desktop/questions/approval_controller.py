"""The window's only store of pending approvals: order, drafts, decisions, and the time their cards were visible.

Cards come and go, and a request can have two (in transcript and inbox); their shared state is here. There is one
controller per bridge.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.questions.visible_time import VisibleTime
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, ApprovalStatus
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.policy.approval_strictness_and_grouping import together

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

LONGEST_MS = 2_000
"""Maximum milliseconds counted per tick: a suspended machine did not show the card."""
RELOAD_MS = 200
SETTLE_S = 0.5
"""Seconds in which a card accepts no approval and no key after it appeared or the list changed.

Such a press was meant for what was there before.
"""
ENOUGH = 96
"""Pixels of a card's height that must be visible for it to count as seen, or half of a card smaller than twice this."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Unsent user input for a request; ``arguments`` is the edited text, None if not edited."""

    arguments: str | None = None
    note: str = ""


class ApprovalController(QObject):
    """Pending approvals over all workflows, oldest first.

    Signals:
        changed: the list changed.
        asked: a new request (``ApprovalRequest``).
        updated: id of a request whose time, round or state changed.
        draft_changed: id and the widget that changed it; other cards of the request follow.
        notice: a sentence to be shown as a toast.
        decided: id of a request the user decided in this window.
    """

    changed = Signal()
    asked = Signal(object)
    updated = Signal(str)
    draft_changed = Signal(str, object)
    notice = Signal(object)
    decided = Signal(str)

    def __init__(self, bridge: Bridge, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(bridge)
        self._bridge = bridge
        self.monotonic = monotonic
        self.covered: Callable[[QWidget], bool] = lambda _card: False
        """Whether something lies over a widget, such as the shade of a question."""
        self.jobs = Jobs(self, self.notice.emit)
        self.read = False
        """Whether all that waits was read since the start."""
        self._requests: dict[str, ApprovalRequest] = {}
        self._decided: dict[str, ApprovalRequest] = {}
        self._drafts: dict[str, Draft] = {}
        self._announced: set[str] | None = None
        """What somebody was called for, and what waited at the start already; None before that is read. Whether a
        request is new to ``_requests`` says nothing: reading them all may overtake the change of one."""
        self._cards: list[tuple[weakref.ref[QWidget], str]] = []
        self._list: tuple[str, ...] = ()
        self._list_at = 0.0
        """When ``_list``, the ids of what waits, became another one."""
        self._reading = asyncio.Lock()
        self._clock = VisibleTime(self, lambda: self.monotonic(), self._in_sight, self._count, LONGEST_MS)
        self._clock.timeout.connect(self.tick)
        self._reload_timer = Debouncer(self, RELOAD_MS, self.start)
        self.changed.connect(self._note_list)
        self.updated.connect(self._note_list)
        bridge.changed.connect(self._on_changed)

    def start(self) -> None:
        """Load pending approvals, including those from before the program started."""
        self.jobs.start(self._reload(), "reload")

    def pending(self, workflow_id: str | None = None) -> list[ApprovalRequest]:
        """Pending approvals, oldest first; of one workflow or of all."""
        found = [each for each in self._requests.values() if workflow_id in (None, each.workflow_id)]
        return sorted(found, key=lambda each: (each.created_at, each.id))

    def together(self, requests: Iterable[ApprovalRequest] | None = None) -> list[tuple[ApprovalRequest, ...]]:
        """Requests (default: all pending) grouped as displayed: each group can be approved at once in one card."""
        return together(self.pending() if requests is None else requests)

    def get(self, request_id: str) -> ApprovalRequest | None:
        """The latest state of a request that is pending, or was decided while this window was open."""
        return self._requests.get(request_id) or self._decided.get(request_id)

    def __len__(self) -> int:
        return len(self._requests)

    def _on_changed(self, topic: Topic, key: str) -> None:
        """A request was created, repeated or decided, or deleted with its workflow."""
        if topic == "approval" and key:
            self.jobs.start(self._fetch(key))
        elif topic == "approval" or (topic == "workflow" and self._requests):
            self._reload_timer.ask()

    async def _reload(self) -> None:
        async with self._reading:
            found = await self._bridge.engine.approvals.pending()
            waiting = {each.id: each for each in found or ()}
            removed = [key for key in self._requests if key not in waiting]
            before = list(self._requests)
            self._requests = waiting
            first = not self.read
            if self._announced is None:
                self._announced = set(waiting)
            self.read = True
            for key in removed:
                await self._load_request(key)
        for key in waiting:
            self.updated.emit(key)
        if first or before != list(waiting):
            self.changed.emit()
        self._time()

    async def _fetch(self, request_id: str) -> None:
        async with self._reading:
            request = await self._load_request(request_id)
        announced = self._announced = self._announced or set()
        if request is not None and request.status is ApprovalStatus.PENDING and request_id not in announced:
            announced.add(request_id)
            self.asked.emit(request)
        self.changed.emit()
        self._time()

    async def _load_request(self, request_id: str) -> ApprovalRequest | None:
        """Load a request and insert or update it; drop it if it was deleted with its workflow."""
        try:
            request: ApprovalRequest | None = await self._bridge.engine.approvals.get(request_id)
        except NotFoundError:
            self._requests.pop(request_id, None)
            self.updated.emit(request_id)
            return None
        if request is not None:
            self._put(request)
        return request

    def _put(self, request: ApprovalRequest) -> None:
        if request.status is ApprovalStatus.PENDING:
            self._requests[request.id] = request
        else:
            self._requests.pop(request.id, None)
            self._drafts.pop(request.id, None)
            if self._has_card(request.id):
                self._decided[request.id] = request
        self.updated.emit(request.id)

    async def approve(
        self,
        request_id: str,
        arguments: dict[str, object] | None = None,
        scope: ApprovalScope = ApprovalScope.ONCE,
        rules: Sequence[str] = (),
    ) -> None:
        """Approve; errors of the engine are raised, and the request is unchanged then."""
        approvals = self._bridge.engine.approvals
        await self._settle([await approvals.approve(request_id, arguments=arguments, scope=scope, rules=rules)])

    async def reject(self, request_id: str, note: str = "") -> None:
        """Reject, with a reason for the agent."""
        await self._settle([await self._bridge.engine.approvals.reject(request_id, note=note)])

    async def approve_together(self, request_ids: Sequence[str]) -> None:
        """Approve exactly these calls of one run, each once; see ``approve``."""
        await self._settle(await self._bridge.engine.approvals.approve_together(list(request_ids)))

    async def reject_together(self, request_ids: Sequence[str]) -> None:
        """Reject exactly these calls of one run, without a reason; see ``reject``."""
        await self._settle(await self._bridge.engine.approvals.reject_together(list(request_ids)))

    async def _settle(self, decided: Sequence[ApprovalRequest]) -> None:
        """Show what the user decided, without reading it again."""
        async with self._reading:
            for request in decided:
                self._put(request)
        self.changed.emit()
        self._time()
        for request in decided:
            self.decided.emit(request.id)

    def unsettled(self, since: float) -> float:
        """Seconds until a card visible since this time of ``monotonic`` accepts an approval; 0 if it does."""
        return max(0.0, max(since, self._list_at) + SETTLE_S - self.monotonic())

    def _note_list(self, *_args: object) -> None:
        """Cards move when one is added or removed, here or elsewhere."""
        now = tuple(self._requests)
        if now != self._list:
            self._list, self._list_at = now, self.monotonic()

    def draft(self, request_id: str) -> Draft:
        return self._drafts.get(request_id, Draft())

    def save_draft(self, request_id: str, draft: Draft, source: QWidget) -> None:
        """Store user input for all cards of the request."""
        if draft != self.draft(request_id):
            self._drafts[request_id] = draft
            self.draft_changed.emit(request_id, source)

    def watch(self, card: QWidget, request: ApprovalRequest) -> None:
        """Track the visibility of a card of this request."""
        self._cards = [*self._live_cards(), (weakref.ref(card), request.id)]
        card.destroyed.connect(self._card_gone)
        if (
            request.status is ApprovalStatus.PENDING
            and request.id not in self._requests
            and request.id not in self._decided
        ):
            self._requests[request.id] = request
            self.changed.emit()
        self._time()

    def remaining(self, request: ApprovalRequest) -> float | None:
        """Seconds left to decide; None without a timeout."""
        return request.timeout_s - request.seen_ms / 1000 if request.timeout_s > 0 else None

    def update_visibility(self) -> None:
        """A card was shown or hidden: start or stop counting its time."""
        self._clock.update_visibility()

    def tick(self) -> None:
        """Once a second: report to the engine how long each request was visible, in however many cards."""
        self._clock.count()

    def _time(self) -> None:
        """Run the timer only while there is something to count."""
        if self._cards and any(each.timeout_s > 0 for each in self._requests.values()):
            self.update_visibility()
            if not self._clock.isActive():
                self._clock.start()
        else:
            self._clock.halt()

    def _in_sight(self) -> list[str]:
        """Requests with a timeout of which a card is visible, without duplicates."""
        found: dict[str, None] = {}
        for reference, request_id in self._live_cards():
            request, card = self._requests.get(request_id), reference()
            if (
                request is not None
                and request.timeout_s > 0
                and card is not None
                and seen(card)
                and not self.covered(card)
            ):
                found[request_id] = None
        return list(found)

    def _count(self, request_id: str, ms: int) -> None:
        request = self._requests[request_id]
        self._requests[request_id] = request.model_copy(update={"seen_ms": request.seen_ms + ms})
        self.updated.emit(request_id)
        self.jobs.start(self._report(request_id, ms))

    async def _report(self, request_id: str, ms: int) -> None:
        left = await self._bridge.engine.approvals.seen(request_id, ms)
        if not left:  # it timed out, or was decided elsewhere
            await self._fetch(request_id)

    def _has_card(self, request_id: str) -> bool:
        return any(of == request_id for _card, of in self._live_cards())

    def _live_cards(self) -> list[tuple[weakref.ref[QWidget], str]]:
        return [each for each in self._cards if (card := each[0]()) is not None and isValid(card)]

    def _card_gone(self, *_args: object) -> None:
        """A card is being deleted; clean up afterwards."""
        QTimer.singleShot(0, self, self._prune)

    def _prune(self) -> None:
        self._cards = self._live_cards()
        self._decided = {key: request for key, request in self._decided.items() if self._has_card(key)}
        self._time()


def seen(card: QWidget) -> bool:
    """Whether the user can see this card: in an active window, and enough of it inside its scroll areas."""
    window = card.window()
    if not card.isVisible() or window.isMinimized() or not window.isActiveWindow():
        return False
    return card.visibleRegion().boundingRect().height() >= min(ENOUGH, card.height() / 2)


def approval_controller(bridge: Bridge) -> ApprovalController:
    """The bridge's controller, created on first use."""
    found = bridge.findChild(ApprovalController)
    return found if isinstance(found, ApprovalController) else ApprovalController(bridge)
