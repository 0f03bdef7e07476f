"""Cards of the inbox for workflows that ended in the background: finished, failed or interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.sidebar.list_model import state_text
from atelier_desk.desktop.widgets import Card, ElidedLabel, FlowLayout, Pill, bind_text, control, fill
from atelier_desk.desktop.widgets.cards_buttons_labels import PillKind
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

LISTED = 50
"""Maximum number of workflows per section, newest first."""
_KINDS: dict[WorkflowStatus, PillKind] = {WorkflowStatus.COMPLETED: "ok", WorkflowStatus.ERROR: "err"}
_UNDER_WAY = (WorkflowStatus.RUNNING, WorkflowStatus.WAITING, WorkflowStatus.IDLE)


def news_of(workflows: Sequence[Workflow]) -> tuple[list[Workflow], list[Workflow]]:
    """Failed or interrupted workflows, and finished ones, that the user has not seen; newest first.

    Interrupted ones remain until they are continued.
    """
    ended = [
        each
        for each in workflows
        if each.status not in _UNDER_WAY and (each.unread or each.status is WorkflowStatus.INTERRUPTED)
    ]
    ended.sort(key=lambda each: (each.updated_at, each.id), reverse=True)
    done = [each for each in ended if each.status is WorkflowStatus.COMPLETED]
    return [each for each in ended if each.status is not WorkflowStatus.COMPLETED][:LISTED], done[:LISTED]


class NewsCard(Card):
    """``inbox-ended-<workflow id>``: a workflow and how it ended, with Open and Dismiss."""

    def __init__(self, workflow: Workflow, bridge: Bridge, presenter: QuestionPresenter, parent: QWidget) -> None:
        super().__init__(parent)
        self.workflow = workflow
        self.setObjectName(f"inbox-ended-{workflow.id}")
        name = control(ElidedLabel("", self), "", lambda: self.workflow.name, look="strong")
        self._pill = Pill("", "", self)
        self._when = control(ElidedLabel("", self), "", lambda: ago(self.workflow.updated_at), look="small")
        self._open = control(
            QPushButton(self),
            f"inbox-show-{workflow.id}",
            N_("Open"),
            name=lambda: _("Open: {name}", name=self.workflow.name),
            on=lambda: presenter.workflow_requested.emit(workflow.id),
        )
        self._dismiss = control(
            QPushButton(self),
            f"inbox-dismiss-{workflow.id}",
            N_("Dismiss"),
            name=lambda: _("Dismiss: {name}", name=self.workflow.name),
            look="quiet",
            on=lambda: bridge.jobs.start(bridge.engine.workflows.set_unread(workflow.id, False)),
        )
        bind_text(self, name=lambda: ", ".join((self.workflow.name, state_text(self.workflow))))
        self.setFocusProxy(self._open)
        buttons = FlowLayout(None, 4)
        for each in (self._pill, self._open, self._dismiss):
            buttons.addWidget(each)
        fill(self.body, name, self._when, buttons)
        self.show_workflow(workflow)

    def show_workflow(self, workflow: Workflow) -> None:
        """Update the workflow and the age."""
        self.workflow = workflow
        self._pill.show_state(state_text(workflow), _KINDS.get(workflow.status, "warn"))
        self._dismiss.setVisible(workflow.unread)
        for each in (self, self._when):
            bind_text(each)
