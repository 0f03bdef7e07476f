"""The inbox: every question that waits for its person, over all workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.desktop.panes.base import Pane
from app.desktop.panes.empty import PaneEmpty
from app.desktop.panes.wording import ago, number
from app.desktop.questions.presenter import QuestionPresenter
from app.desktop.theme import mark
from app.desktop.widgets import Card, ElidedLabel, Pill, label
from app.domain.question import UserQuestion
from app.domain.workflow import Workflow
from app.i18n import _, ngettext

if TYPE_CHECKING:
    from app.desktop.bridge import Bridge


class QuestionCard(Card):
    """One waiting question with Skip and Answer."""

    def __init__(self, question: UserQuestion, workflow: str, aside: bool, presenter: QuestionPresenter, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(f"inbox-{question.id}")
        self.setAccessibleName(question.spec.question)
        top = QHBoxLayout()
        who = ElidedLabel(question.agent_name or _("The agent"), self)
        mark(who, "strong")
        top.addWidget(who, 1)
        if aside:
            top.addWidget(Pill(_("later"), "", self))
        self.body.addLayout(top)
        text = question.spec.question
        self.body.addWidget(label(text if len(text) <= 240 else text[:239] + "…", parent=self, wrap=True))
        where = ElidedLabel(f"{workflow} · {ago(question.created_at)}", self)
        mark(where, "small")
        self.body.addWidget(where)
        row = QHBoxLayout()
        row.addStretch(1)
        skip, answer = QPushButton(_("Skip"), self), QPushButton(_("Answer"), self)
        skip.setObjectName(f"inbox-skip-{question.id}")
        answer.setObjectName(f"inbox-open-{question.id}")
        mark(skip, "quiet")
        skip.setAccessibleName(_("Skip: {question}", question=text[:80]))
        answer.setAccessibleName(_("Answer: {question}", question=text[:80]))
        skip.clicked.connect(lambda *_: presenter.skip(question.id))
        answer.clicked.connect(lambda *_: presenter.open(question.id))
        row.addWidget(skip)
        row.addWidget(answer)
        self.body.addLayout(row)


class InboxPane(Pane):
    """``question-inbox`` with ``pending-count``. The presenter owns the questions; this pane lists them."""

    topics = ("workflow",)

    def __init__(self, bridge: Bridge, presenter: QuestionPresenter, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("question-inbox")
        self._presenter = presenter
        self._names: dict[str, str] = {}
        self.count = Pill("0", "", self)
        self.count.setObjectName("pending-count")
        self.tools.addWidget(self.count)
        self.empty = PaneEmpty("inbox", self)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._area)
        self.column.addWidget(self._stack, 1)
        presenter.pending_changed.connect(lambda _count: self._pending_changed())
        self.retranslate()

    def title(self) -> str:
        return _("Questions")

    def set_workflow(self, workflow_id: str) -> None:
        """The inbox is the same for every workflow."""
        self.workflow_id = workflow_id

    def _on_changed(self, topic: str, _id: str) -> None:
        """Only names of workflows come from here, so nothing is read while nothing waits."""
        if topic in self.topics and self._presenter.pending():
            self.reload_soon()

    def reload(self) -> None:
        self.jobs.start(self._load_names(), "load")

    async def _load_names(self) -> None:
        workflows: list[Workflow] = await self.bridge.call(lambda a: a.workflows.list())
        self._names = {workflow.id: workflow.name for workflow in workflows}
        self._show()

    def _pending_changed(self) -> None:
        if any(question.workflow_id not in self._names for question in self._presenter.pending()):
            self.reload()
        self._show()

    def _show(self) -> None:
        questions = self._presenter.pending()
        content = QWidget(self._area)
        mark(content, "plain")
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for question in questions:
            name = self._names.get(question.workflow_id, "…")
            column.addWidget(QuestionCard(question, name, self._presenter.queue.is_aside(question.id), self._presenter, content))
        column.addStretch(1)
        self._area.setWidget(content)
        self._stack.setCurrentWidget(self._area if questions else self.empty)
        self.count.show_state(number(len(questions)), "warn" if questions else "")
        self.count.setAccessibleName(ngettext("{n} question waits", "{n} questions wait", len(questions)))

    def retranslate(self) -> None:
        self.heading.setText(_("QUESTIONS"))
        self.empty.set_texts(_("No open questions"), _("When an agent needs you, its question waits here."))
        self._show()
