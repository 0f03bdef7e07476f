"""Cards of the inbox: a question, a sub-agent waiting for its parent, a run stopped at a limit, a proposed memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.chat.cards.limit_card import LimitCard
from atelier_desk.desktop.chat.cards.proposed_memories_card import RememberedCard
from atelier_desk.desktop.chat.run_controls import RunControls
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.questions.answer_field import AnswerField
from atelier_desk.desktop.questions.approval_card_base import LEAST_WIDTH
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.questions.waiting_runs import WaitingRuns
from atelier_desk.desktop.widgets import (
    Card,
    ElidedButton,
    ElidedLabel,
    FlowLayout,
    Pill,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    label,
)
from atelier_desk.desktop.widgets.enter_key import handle_enter, show_enter
from atelier_desk.desktop.widgets.language_theme_bindings import Text, made
from atelier_desk.domain.memory import Memory
from atelier_desk.domain.question import UserQuestion
from atelier_desk.presentation.rows.waiting_runs import ParentQuestion, StoppedRun
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import shorten, visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

LONGEST_NAME = 24
LONGEST = 240
"""Characters of a question shown in the list; the dialog shows all."""


class _Who(FlowLayout):
    """Who asks, and the kind of request; stacked in a narrow pane."""

    def __init__(self, card: Card, name: Callable[[], str], state: Text) -> None:
        super().__init__(None, 6)
        shown = bind_text(
            label("", "strong", card),
            lambda: shorten(name(), LONGEST_NAME),
            tip=lambda: name() if len(name()) > LONGEST_NAME else "",
        )
        self.pill = bind_text(Pill("", "accent", card), state)
        self.addWidget(shown)
        self.addWidget(self.pill)


class QuestionCard(Card):
    """``inbox-<question id>``: a pending question with Skip and Answer."""

    def __init__(self, question: UserQuestion, presenter: QuestionPresenter, parent: QWidget) -> None:
        super().__init__(parent)
        self._question, self._presenter = question, presenter
        self._workflow = ""
        self.setObjectName(f"inbox-{question.id}")
        self.setAccessibleName(visible(question.spec.question))
        asked = question.spec.question[:80]
        self._who = _Who(self, self._agent, lambda: _("postponed") if self._aside else _("question"))
        self._lineage = control(
            label("", "small", self, wrap=True),
            f"inbox-lineage-{question.id}",
            lambda: wording.lineage(question.lineage, self._agent()),
        )
        self._lineage.setVisible(bool(question.lineage))
        self._where = control(
            ElidedLabel("", self),
            f"inbox-where-{question.id}",
            lambda: _place(self._workflow, question.created_at),
            look="small",
        )
        self._skip = control(
            QPushButton(self),
            f"inbox-skip-{question.id}",
            N_("Skip"),
            name=lambda: _("Skip: {question}", question=asked),
            look="quiet",
            on=lambda: presenter.skip(question.id),
        )
        self._answer = control(
            QPushButton(self),
            f"inbox-open-{question.id}",
            N_("Answer"),
            name=lambda: _("Answer: {question}", question=asked),
            on=lambda: presenter.open(question.id),
        )
        self.setFocusProxy(self._answer)
        buttons = FlowLayout(None, 4)
        buttons.addWidget(self._answer)
        buttons.addWidget(self._skip)
        fill(
            self.body,
            self._who,
            self._lineage,
            label(shorten(question.spec.question, LONGEST), "", self, wrap=True),
            self._where,
            buttons,
        )

    def set_where(self, workflow: str) -> None:
        """Set its workflow; updates the waiting time and whether it was postponed."""
        self._workflow = workflow
        self._who.pill.set_kind("" if self._aside else "accent")
        bind_text(self._who.pill)
        bind_text(self._where)

    @property
    def _aside(self) -> bool:
        return self._presenter.queue.is_aside(self._question.id)

    def _agent(self) -> str:
        return self._question.agent_name or _("The agent")


def _place(workflow: str, when: datetime) -> str:
    """Its age and workflow, whose name may be long."""
    return " · ".join(filter(None, (ago(when), workflow)))


class ParentQuestionCard(Card):
    """``inbox-parent-<run id>``: a sub-agent's question to its parent, and a field to answer it; Enter sends."""

    def __init__(self, asked: ParentQuestion, questions: WaitingRuns, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.asked, self._questions = asked, questions
        self.setObjectName(f"inbox-parent-{asked.run_id}")
        self._workflow = ""
        self._busy = False
        self.body.addLayout(_Who(self, lambda: asked.agent_name, N_("asking its parent agent")))
        self._lineage = label(" → ".join([*asked.lineage, asked.agent_name]), "small", self, wrap=True)
        self._lineage.setVisible(bool(asked.lineage))
        self._question = label(asked.question, "", self, wrap=True)
        self._question.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._where = control(ElidedLabel("", self), "", lambda: _place(self._workflow, asked.created_at), look="small")
        self.field = bind_text(AnswerField(1, self), tip=N_("Answer instead of the parent agent"))
        bind(self.field.set_placeholder, lambda: _("Your answer"))
        bind_text(self.field.editor, name=N_("Answer instead of the parent agent"))
        self.field.editor.setObjectName(f"parent-answer-{asked.run_id}")
        self.setFocusProxy(self.field.editor)
        self.field.changed.connect(self._check)
        self._error = control(label("", "error", self, wrap=True), f"parent-answer-error-{asked.run_id}")
        self._error.hide()
        self.send = control(
            QPushButton(self),
            f"parent-answer-send-{asked.run_id}",
            N_("Answer"),
            name=lambda: _("Answer {agent}", agent=asked.agent_name),
            tip=self._hint,
            on=self.submit,
        )
        show_enter(self.send, "text")
        bind_text(
            self,
            name=lambda: _(
                "{agent} asks its parent agent: {question}", agent=asked.agent_name, question=asked.question
            ),
        )
        row = hbox(None, 1, self.send)
        for widget in (self._lineage, self._question, self._where, self.field, self._error):
            self.body.addWidget(widget)
        self.body.addLayout(row)
        self._check()

    def set_where(self, workflow: str) -> None:
        """Set its workflow; updates the waiting time."""
        self._workflow = workflow
        bind_text(self._where)

    def _hint(self) -> str:
        name = self.asked.parent
        parent = _("The parent agent, {parent}, may answer first.", parent=name) if name else ""
        return " ".join(filter(None, (_("Send the answer (Enter)."), parent)))

    def submit(self) -> None:
        """Send the answer; on an error it remains, with the reason."""
        text = self.field.text().strip()
        if text and not self._busy and not self.field.over_limit():
            self._show_error("")
            self._set_busy(True)
            # The card may disappear as soon as the answer is known.
            self._questions.jobs.once(("answer", self.asked.run_id), lambda: self._send(text))

    async def _send(self, text: str) -> None:
        problem = ""
        try:
            await self._questions.answer(self.asked.run_id, text)
        except Exception as error:
            problem = error_text(error)
        if isValid(self):
            self._show_error(problem)
            self._set_busy(False)
        elif problem:
            self._questions.notice.emit(problem)

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self.field.setEnabled(not busy)
        self._check()

    def _show_error(self, text: str) -> None:
        bind_text(self._error, made(text))
        self._error.setVisible(bool(text))

    def _check(self) -> None:
        self.send.setEnabled(bool(self.field.text().strip()) and not self._busy and not self.field.over_limit())

    def minimumSizeHint(self) -> QSize:
        """It may be as narrow as an approval card, at any text size."""
        return QSize(LEAST_WIDTH, super().minimumSizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not handle_enter(event, self, self.submit):
            super().keyPressEvent(event)


class StoppedCard(LimitCard):
    """``inbox-stopped-<run id>``: the card of a run stopped at a limit, with its workflow."""

    def __init__(self, stopped: StoppedRun, bridge: Bridge, presenter: QuestionPresenter, parent: QWidget) -> None:
        host = TranscriptHost()
        RunControls(bridge, host).attach(host)
        host.price_requested.connect(presenter.price_requested)
        super().__init__(host, parent)
        host.setParent(self)
        self.setObjectName(f"inbox-stopped-{stopped.run_id}")
        self._workflow = ""
        self._where = control(
            ElidedButton(self),
            f"inbox-show-{stopped.run_id}",
            lambda: _place(self._workflow, stopped.created_at).replace("&", "&&"),
            look="link",
            on=lambda: presenter.workflow_requested.emit(stopped.workflow_id),
        )
        self.words.insertWidget(2, self._where)
        self.show_stopped(stopped)

    def show_stopped(self, stopped: StoppedRun) -> None:
        """Show the limit as it is now: a price that was missing may be known."""
        self.show_limit(stopped.run_id, stopped.agent_name, stopped.kind, stopped.value, stopped.cap, stopped.details)
        first = {"unpriced": self.buttons.price, "priced": self.buttons.again}
        self.setFocusProxy(first.get(stopped.kind, self.buttons.raising))

    def set_where(self, workflow: str) -> None:
        """Set its workflow; updates the waiting time."""
        self._workflow = workflow
        bind_text(self._where)


class MemoryCard(RememberedCard):
    """``inbox-memory-<memory id>``: the card of a memory proposed for all workflows, with its workflow."""

    def __init__(self, memory: Memory, bridge: Bridge, presenter: QuestionPresenter, parent: QWidget) -> None:
        host = TranscriptHost()
        host.bridge = bridge
        super().__init__(host, parent)
        host.setParent(self)
        self.setObjectName(f"inbox-memory-{memory.id}")
        self._workflow = ""
        self._where = control(
            ElidedButton(self),
            f"inbox-show-{memory.id}",
            lambda: _place(self._workflow, memory.created_at).replace("&", "&&"),
            look="link",
            on=lambda: presenter.workflow_requested.emit(memory.workflow_id or ""),
        )
        self.words.insertWidget(2, self._where)
        self.show_memory(memory)

    def show_memory(self, memory: Memory) -> None:
        """Show the memory as it is now."""
        self.show_memories([memory])
        self.setFocusProxy(self.rows[0].keep_button)

    def set_where(self, workflow: str) -> None:
        """Set its workflow; updates the waiting time."""
        self._workflow = workflow
        bind_text(self._where)
