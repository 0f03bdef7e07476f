"""Keyboard navigation to pending items: questions and approvals of the workflow in view first, then of others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from atelier_desk.desktop.panes.inbox.pane import InboxPane
from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_group import ApprovalGroup, waiting_cards
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from datetime import datetime

    from atelier_desk.desktop.main_window.window_interface import WindowParts
    from atelier_desk.desktop.questions.dialog import QuestionDialog
    from atelier_desk.domain.approval import ApprovalRequest

_Item = tuple[bool, "datetime", str, str, str]
"""Sort key: whether in another workflow, time, kind, id, workflow."""


class WaitingGuide(QObject):
    """Moves from one pending item to the next, wherever it is shown."""

    def __init__(self, window: WindowParts) -> None:
        super().__init__(window)
        self._window = window
        self._last = ""

    def focus_next(self) -> None:
        """Focus the first pending item; if it has the focus, the next one."""
        found = self._waiting()
        if not found:
            self._window.toasts.show(_("Nothing is waiting for you."))
            return
        here = next((place for place, each in enumerate(found) if self._is_here(each)), -1)
        _other, _when, kind, key, workflow_id = found[(here + 1) % len(found)]
        self._last = key
        presenter = self._window.presenter
        if kind in ("question", "approval"):
            self._window.rail.drawer.shut()  # it would cover the item
        if kind == "question":
            if presenter.dialog is None or presenter.dialog.question.id != key:
                presenter.open(key)
            else:
                presenter.dialog.focus_first()
        elif kind == "approval":
            self._window.bridge.jobs.start(self._to_approval(key, workflow_id), "go to what waits")
        else:
            self._in_inbox(f"{kind}:{key}")

    def _waiting(self) -> list[_Item]:
        presenter, here = self._window.presenter, self._window.chat.workflow_id
        found = [
            (each.workflow_id != here, each.created_at, "question", each.id, each.workflow_id)
            for each in presenter.queue.pending()
        ]
        found += [
            (first.workflow_id != here, first.created_at, "approval", first.id, first.workflow_id)
            for first, *_rest in presenter.approvals.together()
        ]
        found += [
            (each.workflow_id != here, each.created_at, "parent", each.run_id, each.workflow_id)
            for each in presenter.waiting_runs.pending()
        ]
        found += [
            (each.workflow_id != here, each.created_at, "stopped", each.run_id, each.workflow_id)
            for each in presenter.waiting_runs.stopped()
        ]
        return sorted(found)

    def _is_here(self, item: _Item) -> bool:
        """Whether the focus is in it."""
        _other, _when, kind, key, _workflow_id = item
        above = QApplication.focusWidget()
        while above is not None:
            if kind == "approval" and isinstance(above, ApprovalCard | ApprovalGroup) and above.holds(key):
                return True
            if kind in ("parent", "stopped") and above.objectName() == f"inbox-{kind}-{key}":
                return True
            dialog: QuestionDialog | None = self._window.presenter.dialog
            if kind == "question" and dialog is not None and above is dialog:
                return dialog.question.id == key
            above = above.parentWidget()
        return False

    async def _to_approval(self, request_id: str, workflow_id: str) -> None:
        chat = self._window.chat
        request = self._window.presenter.approvals.get(request_id)
        if request is None:
            return
        if chat.workflow_id != workflow_id or chat.pages.current is None:
            shown = asyncio.Event()
            connection = chat.workflow_shown.connect(lambda *_: shown.set())
            try:
                chat.open_workflow(workflow_id)
                await shown.wait()
            finally:
                chat.workflow_shown.disconnect(connection)
            await asyncio.sleep(0)  # the composer takes the focus first
        if self._last == request_id:
            self._show(request)

    def _show(self, request: ApprovalRequest) -> None:
        card = self._card(request) or self._brought_into_view(request)
        if card is not None:
            card.take_focus()
        else:
            self._in_inbox(f"approval:{request.id}")

    def _card(self, request: ApprovalRequest) -> ApprovalCard | ApprovalGroup | None:
        return next((card for card in waiting_cards(self._window.chat) if card.holds(request.id)), None)

    def _brought_into_view(self, request: ApprovalRequest) -> ApprovalCard | ApprovalGroup | None:
        """Whether its card exists in the transcript, under its call or an ancestor's, and was scrolled into view."""
        chat = self._window.chat
        chat.leave_agent()
        runs = {request.run_id, *(each.run_id for each in request.lineage)}
        for entry in reversed(chat.view.entries):
            if entry.run_id in runs and entry.calls:
                chat.view.reveal(entry)
                if (card := self._card(request)) is not None:
                    return card
        return None

    def _in_inbox(self, key: str) -> None:
        self._window.rail.show_pane("questions")
        pane = self._window.rail.panes.get("questions")
        if isinstance(pane, InboxPane):
            pane.lead_to(key)
