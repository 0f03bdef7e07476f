"""Presents questions: one dialog at a time over each workflow's view, the inbox, and notifications.

Approvals and sub-agents' questions to their parents use the same inbox and notifications; they open no dialog.

The window sets the workflow in view with ``set_view``. The dialog belongs to that view: switching workflows hides it
with its input, switching back shows it again. Nothing blocks: dialogs are ``open()``ed, answers are jobs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.file_dialogs.opening import show_not_opened
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.questions.approval_controller import approval_controller
from atelier_desk.desktop.questions.attention import Attention
from atelier_desk.desktop.questions.dialog import QuestionDialog
from atelier_desk.desktop.questions.queue import QuestionQueue
from atelier_desk.desktop.questions.reminder import Reminder
from atelier_desk.desktop.questions.visible_time import VisibleTime
from atelier_desk.desktop.questions.waiting_runs import WaitingRuns
from atelier_desk.desktop.system.answerable_notifications import approval_notice, plain, question_notice
from atelier_desk.desktop.system.notification import Notice, Notifier
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.scrim import Scrim
from atelier_desk.desktop.widgets.untrusted_links import open_address
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.question import ACCEPT, QuestionAnswer, QuestionStatus, UserQuestion
from atelier_desk.presentation.rows.waiting_runs import ParentQuestion, StoppedRun
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

REPORT_MS = 5_000
"""Milliseconds of visible time collected before reporting to the engine.

Also reported when the dialog closes or time runs out.
"""
RELOAD_MS = 200
ANYTHING = "*"
"""The subject of a reminder, which is obsolete when nothing is pending."""


class QuestionPresenter(QObject):
    """Owns the pending questions on the screen; ``approvals`` and ``parents`` own other pending items.

    Signals:
        pending_changed: the number of all pending items, also when a question is opened or postponed.
        workflow_requested: the user wants to see a question of another workflow; its id.
        opened: the user's question is about to be shown: nothing may cover it.
        notice: a sentence to be shown as a toast (timeout, loading failed).
        inbox_requested: the user wants to see all pending items.
        price_requested: open the settings at the prices of the model of this run.
        presented: the dialog of a question is about to open.
    """

    pending_changed = Signal(int)
    workflow_requested = Signal(str)
    opened = Signal()
    notice = Signal(object)
    inbox_requested = Signal()
    price_requested = Signal(str)
    presented = Signal(object)

    def __init__(self, bridge: Bridge, window: QWidget, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__(window)
        self._bridge = bridge
        self._window = window
        self.reminder = Reminder(self, self.remind)
        self.queue = QuestionQueue()
        self.jobs = Jobs(self, self.notice.emit)
        self.attention = Attention(window)
        self.attention.activated.connect(self._show_oldest)
        self.approvals = approval_controller(bridge)
        self.approvals.covered = self._covers
        self.waiting_runs = WaitingRuns(bridge, self)
        for other in (self.approvals, self.waiting_runs):
            other.changed.connect(self._update_count)
            other.notice.connect(self.notice)
        self.approvals.asked.connect(self._approval_asked)
        self.waiting_runs.asked.connect(self._parent_asked)
        self._workflow_id = ""
        self._wanted = ""
        self._scrim: Scrim | None = None
        self.dialog: QuestionDialog | None = None
        self._unreported_ms: dict[str, int] = {}
        self._clock = VisibleTime(self, monotonic, self._in_sight, self._count, 2 * REPORT_MS)
        self._clock.timeout.connect(self.tick)
        self._announced: set[str] | None = None
        """Questions somebody was called for, and those that waited at the start already; None before these are read.
        Whether one is new to the queue says nothing: reading all that is pending may overtake the change of one."""
        self._reading = asyncio.Lock()
        """Answers of the engine are taken in the order they were asked for: two questions asked at once keep their
        order.
        """
        self._reload_timer = Debouncer(self, RELOAD_MS, self._read)
        bridge.changed.connect(self._on_changed)

    def start(self) -> None:
        """Load pending questions, including those from before the program started."""
        self._read()
        self.approvals.start()
        self.waiting_runs.start()

    @property
    def read(self) -> bool:
        """Whether everything pending was loaded since the start; before that, an empty list means nothing."""
        return self._announced is not None and self.approvals.read and self.waiting_runs.read

    def _read(self) -> None:
        self.jobs.start(self._reload(), "reload")

    def set_view(self, workflow_id: str, view: QWidget | None) -> None:
        """Set the view of the workflow in front; None for none."""
        if workflow_id == self._workflow_id and self._scrim is not None and self._scrim.parentWidget() is view:
            return
        self._put_away()
        if self._scrim is not None:
            self._scrim.leave()
            self._scrim = None
        self._workflow_id = workflow_id
        if view is not None:
            self._scrim = Scrim(view)
        self._show_next()

    def open(self, question_id: str) -> None:
        """Open this question, from inbox or transcript, even if it was postponed."""
        question = self.queue.bring_back(question_id)
        if question is None:
            self.notice.emit(_("This question is no longer open."))
        elif question.workflow_id != self._workflow_id or self._scrim is None:
            self._wanted = question_id
            self.workflow_requested.emit(question.workflow_id)
        else:
            self._put_away()
            self._present(question, chosen=True)

    def put_off(self) -> None:
        """Postpone the open question, if any, like "Later", to reveal what is under the dialog."""
        if self.dialog is not None:
            self.dialog.reject()

    def skip(self, question_id: str) -> None:
        """Skip a question without opening it."""
        self.jobs.once(("answer", question_id), lambda: self._send(question_id, None))

    def answer(self, question_id: str, answer: QuestionAnswer) -> None:
        """Answer a question without opening it; the user is told if it was answered elsewhere."""
        self.jobs.once(("answer", question_id), lambda: self._send(question_id, answer))

    def use_notifier(self, notifier: Notifier) -> None:
        """Use the desktop's own notifications, if available."""
        notifier.wanted = self._waits
        self.attention.notifier = notifier

    def listed(self) -> list[UserQuestion]:
        """Questions for the inbox: all except the one open in its dialog."""
        return [
            question
            for question in self.queue.pending()
            if self.dialog is None or question.id != self.dialog.question.id
        ]

    def set_notifications(self, on: bool, remind_minutes: int = 0, answers: bool = True) -> None:
        """Apply the settings of notifications.

        Args:
            on: show notifications and task bar alerts.
            remind_minutes: minutes between reminders, 0 for never.
            answers: notifications have buttons.
        """
        self.attention.enabled, self.attention.answers = on, answers
        self.reminder.set_minutes(remind_minutes if on else 0)

    def remind(self) -> None:
        """Remind of pending items: outside the window, or inside if it shows something else."""
        count = self._waiting()
        text = ngettext("{n} decision is still waiting for you", "{n} decisions are still waiting for you", count)
        if count and not self.attention.notify("Atelier", text, about=ANYTHING) and self.dialog is None:
            self.notice.emit(text)

    def _on_changed(self, topic: Topic, key: str) -> None:
        """A question was asked or closed, or deleted with its workflow; many changed workflows cause one reload."""
        if topic == "question" and key:
            self.jobs.start(self._fetch(key))
        elif topic in ("question", "workflow"):
            self._reload_timer.ask()

    async def _reload(self) -> None:
        async with self._reading:
            pending = await self._bridge.engine.questions.pending()
            self.queue.replace(pending)
            if self._announced is None:
                self._announced = {each.id for each in pending}
        if self.dialog is not None and self.queue.get(self.dialog.question.id) is None:
            self._put_away()
        self._refresh()

    async def _fetch(self, question_id: str) -> None:
        async with self._reading:
            try:
                question = await self._bridge.engine.questions.get(question_id)
            except NotFoundError:
                question = None
            if question is not None and question.status is QuestionStatus.PENDING:
                self.queue.add(question)
        if question is None or question.status is not QuestionStatus.PENDING:
            self._closed(question_id, question.status if question is not None else "")
            return
        announced = self._announced = self._announced or set()
        if question_id not in announced:
            announced.add(question_id)
            self.attention.show(
                question_notice(question, partial(self._open_outside, question_id), partial(self.answer, question_id))
            )
        self._refresh()

    def _closed(self, question_id: str, status: str) -> None:
        was_open = self.dialog is not None and self.dialog.question.id == question_id
        if was_open:
            self._put_away()
        if self.queue.close(question_id) is not None and status == QuestionStatus.TIMEOUT:
            self.notice.emit(_("A question was not answered in time."))
        self._unreported_ms.pop(question_id, None)
        self._refresh()

    def _refresh(self) -> None:
        if self.dialog is not None:
            self.dialog.set_place(self.queue.place(self.dialog.question.id))
        self._update_count()
        self._show_next()

    def _waiting(self) -> int:
        return len(self.queue) + len(self.approvals) + len(self.waiting_runs)

    def _update_count(self) -> None:
        total = self._waiting()
        self.attention.set_count(total)
        self.attention.tidy()
        self.reminder.set_waiting(total)
        self.pending_changed.emit(total)

    def _approval_asked(self, request: ApprovalRequest) -> None:
        decide = partial(self.approvals.jobs.once, ("decide", request.id))
        allow, reject = partial(self.approvals.approve, request.id), partial(self.approvals.reject, request.id)
        show = partial(self._show_workflow, request.workflow_id)
        self.attention.show(approval_notice(request, show, partial(decide, allow), partial(decide, reject)))

    def _parent_asked(self, asked: ParentQuestion) -> None:
        title = _("{agent} has a question", agent=asked.agent_name or _("The agent"))
        show = partial(self._show_workflow, asked.workflow_id)
        self.attention.show(Notice(title, plain(asked.question), show, asked.run_id))

    def _waits(self, about: str) -> bool:
        """Whether a notification's subject is still pending."""
        asked = {each.id for each in self.queue.pending()} | {each.id for each in self.approvals.pending()}
        runs = self.waiting_runs
        ids = asked | {each.run_id for each in runs.pending()} | {each.run_id for each in runs.stopped()}
        return about in ids or (about == ANYTHING and bool(ids))

    def _covers(self, widget: QWidget) -> bool:
        """Whether the scrim of an open question covers a widget."""
        view = self._scrim.parentWidget() if self._scrim is not None else None
        return self.dialog is not None and view is not None and view.isAncestorOf(widget)

    def _show_next(self) -> None:
        if self.dialog is None and self._scrim is not None:
            requested, self._wanted = self.queue.get(self._wanted), ""
            here = requested is not None and requested.workflow_id == self._workflow_id
            question = requested if here else self.queue.next_for(self._workflow_id)
            if question is not None:
                self._present(question, chosen=here)

    def _show_oldest(self) -> None:
        """A general notification was clicked: open the only pending item, or the inbox if there are several."""
        self._to_front()
        if self.dialog is not None:
            return
        if self._waiting() > 1:
            self.inbox_requested.emit()
            return
        waiting = self.queue.pending()
        others: list[ApprovalRequest | ParentQuestion | StoppedRun] = [
            *self.approvals.pending(),
            *self.waiting_runs.pending(),
            *self.waiting_runs.stopped(),
        ]
        oldest = min((each.created_at for each in others), default=None)
        if waiting and (oldest is None or waiting[0].created_at <= oldest):
            self.open(waiting[0].id)
        elif others:
            self.workflow_requested.emit(min(others, key=lambda each: each.created_at).workflow_id)

    def _to_front(self) -> None:
        window = self._window.window()
        window.show()
        window.raise_()
        window.activateWindow()

    def _open_outside(self, question_id: str) -> None:
        """The notification of a question was clicked."""
        self._to_front()
        self.open(question_id)

    def _show_workflow(self, workflow_id: str) -> None:
        """The notification of a workflow's pending items was clicked."""
        self._to_front()
        self.workflow_requested.emit(workflow_id)

    def _present(self, question: UserQuestion, *, chosen: bool) -> None:
        """Open the dialog of a question; if the user requested it, focus it."""
        if self._scrim is None:
            return
        if chosen:
            self.opened.emit()
        dialog = QuestionDialog(question, self.queue.place(question.id), self.queue.draft(question.id), self._scrim)
        dialog.submitted.connect(partial(self.answer, question.id))
        dialog.skipped.connect(partial(self.skip, question.id))
        dialog.postponed.connect(lambda draft: self._postponed(question.id, draft))
        self.dialog = dialog
        self.pending_changed.emit(self._waiting())
        dialog.set_remaining(self._remaining(question))
        self.presented.emit(dialog)
        self._scrim.hold(dialog)
        if chosen:
            self._scrim.give_keyboard()
        self._clock.update_visibility()
        self._clock.start()

    def _put_away(self) -> None:
        """Hide the dialog, store its input, count its visible time."""
        if self.dialog is None:
            return
        self._clock.count()
        self._report(self.dialog.question.id)
        self.queue.save_draft(self.dialog.question.id, self.dialog.entered())
        self.dialog.close_quietly()
        self._discard_dialog()

    def _discard_dialog(self) -> None:
        self._clock.halt()
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None
            self.pending_changed.emit(self._waiting())
        if self._scrim is not None:
            self._scrim.hold(None)

    def _postponed(self, question_id: str, draft: QuestionAnswer) -> None:
        self._clock.count()
        self._report(question_id)
        self.queue.put_aside(question_id, draft)
        self._discard_dialog()
        self._refresh()

    async def _send(self, question_id: str, answer: QuestionAnswer | None) -> None:
        """Answer, or skip if ``answer`` is None. On an error the dialog stays with its input."""
        questions, asked = self._bridge.engine.questions, self.queue.get(question_id)
        try:
            await (questions.skip(question_id) if answer is None else questions.answer(question_id, answer))
        except Exception as error:
            if self.dialog is not None and self.dialog.question.id == question_id:
                self.dialog.show_error(error_text(error))
            else:
                self.notice.emit(error_text(error))
            return
        self._closed(question_id, "answered" if answer is not None else "skipped")
        accepted = answer is not None and ACCEPT in answer.selected_options
        # The user has seen the host and wants the page opened; the program never reads it.
        if accepted and asked is not None and asked.spec.url and not open_address(asked.spec.url):
            show_not_opened(toasts_of(self._window), asked.spec.url)

    def tick(self) -> None:
        """Once a second while a dialog is open: count visible time and show the time left."""
        if self.dialog is None:
            return
        self._clock.count()
        question = self.dialog.question
        remaining = self._remaining(question)
        self.dialog.set_remaining(remaining)
        gathered = self._unreported_ms.get(question.id, 0)
        if gathered >= REPORT_MS or (remaining is not None and remaining <= 0):
            self._report(question.id)

    def _in_sight(self) -> list[str]:
        shown = self.dialog is not None and self.dialog.isVisible() and not self._window.window().isMinimized()
        return [self.dialog.question.id] if self.dialog is not None and shown else []

    def _count(self, question_id: str, ms: int) -> None:
        self._unreported_ms[question_id] = self._unreported_ms.get(question_id, 0) + ms

    def _remaining(self, question: UserQuestion) -> float | None:
        """Seconds left, None without a timeout."""
        if question.timeout_s <= 0:
            return None
        return question.timeout_s - (question.seen_ms + self._unreported_ms.get(question.id, 0)) / 1000

    def _report(self, question_id: str) -> None:
        gathered = self._unreported_ms.pop(question_id, 0)
        question = self.queue.get(question_id)
        if gathered <= 0 or question is None:
            return
        counted = question.model_copy(update={"seen_ms": question.seen_ms + gathered})
        self.queue.add(counted)
        if self.dialog is not None and self.dialog.question.id == question_id:
            self.dialog.question = counted
        self.jobs.start(self._bridge.engine.questions.seen(question_id, gathered))
