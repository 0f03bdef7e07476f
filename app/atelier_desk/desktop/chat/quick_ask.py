"""Quick ask: a small window for one question.

The question becomes a workflow of its own that runs in the background; the answer is shown in the small window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.desktop.questions.markdown_view import MarkdownView
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.icons import app_icon
from atelier_desk.desktop.widgets import ElidedLabel, bind, bind_text, control, hbox, label, tint, vbox
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.domain import limits
from atelier_desk.presentation.rows.team_state import FOR_A_PERSON
from atelier_desk.presentation.rows.transcript import Transcript
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.compose.agent_model_choices import WorkflowChoices
    from atelier_desk.domain.agent import Choices
    from atelier_desk.domain.stream.event import StreamEvent

WIDTH, ANSWER = 560, 220
"""Width of the window and height of the answer, in pixels at 100 %."""
DRAW_MS = 100
"""Milliseconds between two redraws of a streaming answer."""
ENDS = {
    "completed": "",
    "error": N_("The agent failed. Open the workflow for details."),
    "cancelled": N_("Stopped."),
    "abandoned": N_("The agent gave up. Open the workflow for details."),
    "limited": N_("A limit was reached. Open the workflow to continue."),
    "interrupted": N_("Interrupted. Open the workflow to continue."),
}


class QuickAsk(QWidget):
    """``quick-ask``: the window of quick ask. Esc closes it.

    Its parts are ``quick-field``, ``quick-answer``, ``quick-status``, ``quick-stop`` and ``quick-open``.

    Signals:
        open_requested: show the question's workflow in the main window.

    Attributes:
        workflow_id: of the current question; empty before.
    """

    open_requested = Signal(str)

    def __init__(self, bridge: Bridge, choices: WorkflowChoices, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window | Qt.WindowType.WindowStaysOnTopHint)
        self.setObjectName("quick-ask")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowIcon(app_icon())
        self._bridge, self._choices = bridge, choices
        self.jobs = Jobs(self, self._failed)
        self.workflow_id = ""
        self._text = ""
        self._over = True
        self.field = control(
            QLineEdit(self), "quick-field", hint=N_("Ask something… (Enter to send)"), name=N_("Your question")
        )
        self.field.setMaxLength(limits.MESSAGE)
        self.field.returnPressed.connect(self.send)
        self.who = control(ElidedLabel("", self), "", self._answering, look="small")
        self.answer = control(MarkdownView(self), "quick-answer", name=N_("Reply"))
        self.status = control(label("", "small", self, wrap=True), "quick-status")
        self.stop = control(QPushButton(self), "quick-stop", N_("Stop"), on=self.cancel)
        tint(self.stop, "circle-stop", "text", 16)
        self.open = control(QPushButton(self), "quick-open", N_("Open the workflow"), on=self._open)
        row = hbox(None, (self.status, 1), self.stop, self.open, spacing=8)
        vbox(self, self.field, self.who, (self.answer, 1), row, margins=(16, 16, 16, 16), spacing=8)
        self._draw = Debouncer(self, DRAW_MS, lambda: self.answer.set_text(self._text))
        self._transcript = Transcript("")
        stream = StreamRouter(bridge.stream_event, self, lambda: self.workflow_id)
        stream.received.connect(self._on_stream)
        stream.run_changed.connect(self._on_run)
        stream.turn_ended.connect(lambda _id, status: self._show_status(ENDS.get(status, ""), over=True))
        bind_text(self, title=N_("Quick ask"))
        self._rest()
        bind(self._fit, on="look")

    def popup(self) -> None:
        """Bring the window to the front, with the focus in its field; at first with room below it for the answer."""
        if not self.testAttribute(Qt.WidgetAttribute.WA_Moved):
            area = (QGuiApplication.screenAt(QCursor.pos()) or self.screen()).availableGeometry()
            self.move(max(area.left(), area.center().x() - self.width() // 2), area.top() + area.height() // 5)
        self.show()
        self.raise_()
        self.activateWindow()
        self.field.setFocus()
        self.field.selectAll()

    def _rest(self) -> None:
        """Show only the field: no question was asked yet."""
        for part in (self.answer, self.status, self.stop, self.open):
            part.hide()
        self._fit()

    def _fit(self) -> None:
        self.answer.setMinimumHeight(theme().px(ANSWER))
        self.setMinimumWidth(theme().px(WIDTH))
        self.adjustSize()
        area, frame = self.screen().availableGeometry(), self.frameGeometry()
        if self.isVisible() and frame.bottom() > area.bottom():  # it grew out of the screen
            self.move(frame.x(), max(area.top(), area.bottom() + 1 - frame.height()))

    def send(self) -> None:
        """Create a workflow with the field's text. A previous question continues in the background."""
        text = self.field.text().strip()
        if text:
            agent, choices = self._choices.fresh
            self.workflow_id = self._text = ""
            self.answer.set_text("")
            self.open.hide()
            self.stop.hide()
            self._show_status(N_("Sending…"))
            self.jobs.start(self._send(text, agent.id if agent is not None else "", choices), "send")

    async def _send(self, text: str, agent_id: str, choices: Choices) -> None:
        engine = self._bridge.engine
        workflow_id = (await engine.workflows.create(agent_id=agent_id, choices=choices)).id
        self.workflow_id, self._transcript = workflow_id, Transcript(workflow_id)
        self.field.clear()
        self._show_status(N_("Thinking…"))
        self.open.show()
        try:
            await engine.runs.send(workflow_id, text, agent_id=agent_id)
        except Exception:
            self.field.setText(text)  # no typed text is lost
            raise
        if self.workflow_id == workflow_id:  # no other question was asked meanwhile
            self.stop.setVisible(not self._over)

    def cancel(self) -> None:
        """Stop the agent; its answer so far remains in the workflow."""
        if self.workflow_id:
            self.jobs.start(self._bridge.engine.workflows.stop(self.workflow_id))

    def _open(self) -> None:
        if self.workflow_id:
            self.hide()
            self.open_requested.emit(self.workflow_id)

    def _on_stream(self, event: StreamEvent) -> None:
        for _kind, entry in self._transcript.apply(event):
            if entry.kind == "assistant" and entry.content:
                self._text = entry.content
                self.answer.show()
                self._draw.ask()
                self._fit()

    def _on_run(self, _run_id: str, status: str) -> None:
        if status in FOR_A_PERSON:
            self._show_status(N_("The agent is waiting for you: open the workflow."))

    def _show_status(self, text: str, *, over: bool = False) -> None:
        bind_text(self.status, text)
        self._over = over
        self.status.show()
        if over:
            self.stop.hide()
        self._fit()

    def _failed(self, text: str) -> None:
        self._show_status(N_("The message could not be sent."), over=True)
        self.status.setText(text)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        bind_text(self.who)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _answering(self) -> str:
        agent, choices = self._choices.fresh
        if agent is None:
            return ""
        answers = (choices.provider, choices.model) if choices.model else (agent.config.provider, agent.config.model)
        return _("{agent} · {model}", agent=agent.config.name, model=self._choices.label_of(*answers))
