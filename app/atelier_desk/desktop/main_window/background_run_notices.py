"""Notifications about runs that end in the background.

An unread dot in the list until the workflow is opened, and a message in the window or from the desktop. A failed
workflow that was in view is unread once it is left, so that the inbox lists it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from atelier_desk.desktop.system.answerable_notifications import plain
from atelier_desk.desktop.widgets.screen_reader import announce
from atelier_desk.domain.workflow import WorkflowStatus
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.main_window.window_interface import WindowParts
    from atelier_desk.desktop.widgets import Toast

ENDS = {
    "completed": N_("“{name}” is done"),
    "error": N_("“{name}” failed"),
    "abandoned": N_("The agent gave up on “{name}”"),
    "limited": N_("“{name}” reached a limit"),
}
"""Ends that are announced.

Not those a user caused, nor questions and approvals, which have notifications of their own.
"""

FAILED = ("error", "abandoned")
"""Ends that a person has to look at; a workflow is unread until then."""


class BackgroundWatch(QObject):
    """Watches all workflows for runs that end."""

    def __init__(self, window: WindowParts) -> None:
        super().__init__(window)
        self._window = window
        self._toasts: dict[str, Toast] = {}
        self._failed_in_view = ""
        """The workflow in view, if its last turn failed there: unread once the user leaves it as it is."""
        window.bridge.stream.turn_ended.connect(self._on_ended)
        window.sidebar.selected.connect(self._on_selected)
        window.sidebar.workflow_gone.connect(self._withdraw)

    def _on_ended(self, workflow_id: str, status: str) -> None:
        words = ENDS.get(status)
        window = self._window
        in_view = workflow_id == window.chat.workflow_id
        if in_view:
            self._failed_in_view = workflow_id if status in FAILED else ""
        if words is None:
            return
        if (in_view and window.isActiveWindow()) or window.watched_outside(workflow_id):
            if in_view and status not in FAILED:
                window.sidebar.mark_unread(workflow_id, False)  # a failure before may have been unread
            window.bridge.jobs.start(self._announce(workflow_id, words))
            return
        if not in_view or status in FAILED:
            window.sidebar.mark_unread(workflow_id, True)
        window.bridge.jobs.start(self._notify(workflow_id, words, in_view))

    def _on_selected(self, workflow_id: str) -> None:
        left = self._failed_in_view
        if left and left != workflow_id:
            self._failed_in_view = ""
            sidebar = self._window.sidebar
            if any(each.id == left and each.status is WorkflowStatus.ERROR for each in sidebar.model.workflows):
                sidebar.mark_unread(left, True)
        self._withdraw(workflow_id)

    def _withdraw(self, workflow_id: str) -> None:
        """Withdraw the message about a workflow that has been opened."""
        if (toast := self._toasts.get(workflow_id)) is not None:
            toast.dismiss()

    async def _announce(self, workflow_id: str, words: str) -> None:
        """Sighted users need no message about the workflow in view; a screen reader does."""
        workflow = await self._window.bridge.engine.workflows.get(workflow_id)
        announce(QApplication.activeWindow() or self._window, _(words, name=workflow.name))

    async def _notify(self, workflow_id: str, words: str, in_view: bool) -> None:
        workflow = await self._window.bridge.engine.workflows.get(workflow_id)
        text = _(words, name=workflow.name)

        def open_it() -> None:
            self._window.raise_up()
            self._window.chat.open_workflow(workflow_id)

        attention = self._window.presenter.attention
        shown = attention.notify("Atelier", plain(text), open_it)
        if not in_view and not (shown and attention.seen_outside):
            self._show(workflow_id, text, open_it)

    def _show(self, workflow_id: str, text: str, open_it: Callable[[], object]) -> None:
        """Show a message in the window; it stays until seen when the window is not active."""
        self._withdraw(workflow_id)
        toast = self._window.toasts.show(text, _("Open"), open_it, lasting=not self._window.isActiveWindow())
        self._toasts[workflow_id] = toast
        toast.gone.connect(lambda: self._toasts.pop(workflow_id, None))
