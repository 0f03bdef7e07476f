"""The inbox's cards: a waiting question, and a sub-agent that waits for its parent's answer."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget
from shiboken6 import isValid

from app.desktop.panes.jobs import error_text
from app.desktop.panes.wording import ago
from app.desktop.questions import approval_wording as wording
from app.desktop.questions.answer_field import AnswerField
from app.desktop.questions.approval_card import LEAST_WIDTH
from app.desktop.questions.parent_questions import ParentQuestion, ParentQuestions
from app.desktop.questions.presenter import QuestionPresenter
from app.desktop.theme import mark
from app.desktop.widgets import Card, ElidedLabel, FlowLayout, Pill, Translated, label
from app.domain.question import UserQuestion
from app.i18n import _

LONGEST_NAME = 24
LONGEST = 240
"""Characters of a question the list shows; the dialog shows them all."""


def _who(card: Card, name: str, pill: Pill) -> FlowLayout:
    """Who asks, and what it is; one under the other where a pane is narrow."""
    top = FlowLayout(None, 6)
    who = label(name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…", "strong", card)
    who.setToolTip(name if len(name) > LONGEST_NAME else "")
    top.addWidget(who)
    top.addWidget(pill)
    return top


class QuestionCard(Card):
    """One waiting question with Skip and Answer."""

    def __init__(self, question: UserQuestion, workflow: str, aside: bool, presenter: QuestionPresenter, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(f"inbox-{question.id}")
        self.setAccessibleName(question.spec.question)
        agent = question.agent_name or _("The agent")
        self.body.addLayout(_who(self, agent, Pill(_("later") if aside else _("question"), "" if aside else "accent", self)))
        line = wording.lineage(question.lineage, agent)
        if line:
            above = label(line, "small", self, wrap=True)
            above.setObjectName(f"inbox-lineage-{question.id}")
            self.body.addWidget(above)
        text = question.spec.question
        self.body.addWidget(label(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…", parent=self, wrap=True))
        where = ElidedLabel(f"{workflow} · {ago(question.created_at)}", self)
        mark(where, "small")
        self.body.addWidget(where)
        row = FlowLayout(None, 4)
        skip, answer = QPushButton(_("Skip"), self), QPushButton(_("Answer"), self)
        skip.setObjectName(f"inbox-skip-{question.id}")
        answer.setObjectName(f"inbox-open-{question.id}")
        mark(skip, "quiet")
        skip.setAccessibleName(_("Skip: {question}", question=text[:80]))
        answer.setAccessibleName(_("Answer: {question}", question=text[:80]))
        skip.clicked.connect(lambda *_: presenter.skip(question.id))
        answer.clicked.connect(lambda *_: presenter.open(question.id))
        row.addWidget(answer)
        row.addWidget(skip)
        self.body.addLayout(row)


class ParentQuestionCard(Translated, Card):
    """``inbox-parent-<run id>``: what a sub-agent asked its parent, and a field to answer in its place; Ctrl+Enter sends."""

    def __init__(self, asked: ParentQuestion, questions: ParentQuestions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.asked, self._questions = asked, questions
        self.setObjectName(f"inbox-parent-{asked.run_id}")
        self._workflow = ""
        self._busy = False
        self._pill = Pill("", "accent", self)
        self.body.addLayout(_who(self, asked.agent_name, self._pill))
        self._lineage = label("", "small", self, wrap=True)
        self._lineage.setVisible(bool(asked.lineage))
        self._question = label(asked.question, "", self, wrap=True)
        self._question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._where = ElidedLabel("", self)
        mark(self._where, "small")
        self.field = AnswerField(1, self)
        self.field.editor.setObjectName(f"parent-answer-{asked.run_id}")
        self.field.changed.connect(self._check)
        self._error = label("", "error", self, wrap=True)
        self._error.setObjectName(f"parent-answer-error-{asked.run_id}")
        self._error.hide()
        self.send = QPushButton(self)
        self.send.setObjectName(f"parent-answer-send-{asked.run_id}")
        self.send.clicked.connect(lambda *_: self.submit())
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.send)
        for widget in (self._lineage, self._question, self._where, self.field, self._error):
            self.body.addWidget(widget)
        self.body.addLayout(row)
        self.retranslate()

    def set_where(self, workflow: str) -> None:
        """The workflow it works in."""
        self._workflow = workflow
        self.retranslate()

    def submit(self) -> None:
        """Send the answer; on an error it stays, with the reason."""
        text = self.field.text().strip()
        if text and not self._busy and not self.field.over_limit():
            self._say("")
            self._set_busy(True)
            self._questions.jobs.start(self._send(text))  # the card may go as soon as the answer is known

    async def _send(self, text: str) -> None:
        problem = ""
        try:
            await self._questions.answer(self.asked.run_id, text)
        except Exception as error:
            problem = error_text(error)
        if isValid(self):
            self._say(problem)
            self._set_busy(False)
        elif problem:
            self._questions.notice.emit(problem)

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self.field.setEnabled(not busy)
        self._check()

    def _say(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))

    def _check(self) -> None:
        self.send.setEnabled(bool(self.field.text().strip()) and not self._busy and not self.field.over_limit())

    def minimumSizeHint(self) -> QSize:
        """It may be as narrow as an approval, whatever the size of text."""
        return QSize(LEAST_WIDTH, super().minimumSizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.submit()
        else:
            super().keyPressEvent(event)

    def retranslate(self) -> None:
        asked = self.asked
        self._pill.setText(_("asks its parent"))
        self._lineage.setText(" → ".join([*asked.lineage, asked.agent_name]))
        self._where.setText(f"{self._workflow} · {ago(asked.created_at)}" if self._workflow else ago(asked.created_at))
        self.setAccessibleName(_("{agent} asks its parent: {question}", agent=asked.agent_name, question=asked.question))
        self.field.editor.setPlaceholderText(_("Your answer"))
        self.field.setToolTip(_("Answer in its parent's place"))
        self.field.editor.setAccessibleName(_("Answer in its parent's place"))
        self.send.setText(_("Answer"))
        self.send.setAccessibleName(_("Answer {agent}", agent=asked.agent_name))
        hint = _("Its parent {parent} may answer first.", parent=asked.parent) if asked.parent else ""
        self.send.setToolTip(" ".join(filter(None, (_("Send the answer (Ctrl+Enter)."), hint))))
        self._check()
