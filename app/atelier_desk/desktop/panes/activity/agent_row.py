"""An agent in the tree of the activity pane: two lines, buttons, and a message field."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from atelier_desk.desktop.chat.transcript.actions_row import ActionsRow
from atelier_desk.desktop.team.agent_state_labels import doing, figures, spoken, state_icon, state_text, task
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, bind_text, control, hbox, label, show_pixmap, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.presentation.rows.team_state import AgentUsage, Member
from atelier_desk.support.i18n import _


class _Buttons(ActionsRow):
    """The row's buttons, shown over the end of its text on hover and focus."""

    def __init__(self, row: AgentRow) -> None:
        super().__init__(row)
        self.agent_row = row
        self._row.setContentsMargins(6, 0, 0, 0)
        self._row.takeAt(self._row.count() - 1)

    def repaint_buttons(self) -> None:
        super().repaint_buttons()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.revealed:
            painter = QPainter(self)
            painter.fillRect(self.rect(), theme().colour("accent_soft" if self.agent_row.chosen else "bg"))
            painter.end()


class AgentRow(QWidget):
    """An agent with its buttons and message field.

    The buttons are ``agent-pause``, ``agent-stop``, ``agent-message`` and ``agent-open``, the field
    ``agent-message-field``.

    Signals:
        asked: an action (pause, resume, cancel, open) on the run.
        said: a message to the agent.
        grown: the field was opened or closed.
    """

    asked = Signal(str, str)
    message_sent = Signal(str, str)
    grown = Signal()

    def __init__(self, run_id: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.run_id = run_id
        self.chosen = False
        self._paused = False
        self._member = Member(run_id)
        self._icon = PlainLabel(parent=self)
        self._name = control(ElidedLabel("", self), look="strong-small")
        self._doing = control(ElidedLabel("", self), look="small")
        self._state = label("", "small", self)
        self._figures = control(ElidedLabel("", self), look="small")
        upper, lower = QHBoxLayout(), QHBoxLayout()
        upper.setSpacing(6)
        lower.setSpacing(0)
        upper.addWidget(self._name, 2)
        upper.addWidget(self._doing, 3)
        lower.addWidget(self._state)
        lower.addWidget(self._figures, 1)
        self.field: QLineEdit | None = None
        self._lines = vbox(None, upper, lower, spacing=0)
        hbox(
            self,
            (self._icon, 0, Qt.AlignmentFlag.AlignTop),
            (self._lines, 1),
            margins=(2, 2, 2, 2),
            spacing=7,
        )
        self.buttons = _Buttons(self)
        self.message = self.buttons.add(
            "message-square", lambda: _("Write to {agent}", agent=self.name), self.write, "agent-message"
        )
        self.opener = self.buttons.add(
            "external-link",
            lambda: _("Open {agent}", agent=self.name),
            lambda: self.asked.emit("open", run_id),
            "agent-open",
        )
        self.pause = self.buttons.add("pause", self._pause_words, self._toggle, "agent-pause")
        self.stop = self.buttons.add(
            "circle-stop",
            lambda: _("Stop: {agent}", agent=self.name),
            lambda: self.asked.emit("cancel", run_id),
            "agent-stop",
        )
        self.set_chosen(False)

    @property
    def name(self) -> str:
        return self._member.name or _("Agent")

    def _pause_words(self) -> str:
        return _("Continue: {agent}", agent=self.name) if self._paused else _("Pause: {agent}", agent=self.name)

    def _toggle(self) -> None:
        self.asked.emit("resume" if self._paused else "pause", self.run_id)

    def show_member(self, member: Member, shown: AgentUsage) -> None:
        """Show the agent's current state; ``shown`` includes its descendants."""
        previous = self.name, self._paused
        self._member = member
        icon, role, kind = state_icon(member)
        side = theme().px(14)
        show_pixmap(self._icon, theme().pixmap(icon, role, side, self.devicePixelRatioF()))
        self._icon.setContentsMargins(0, theme().px(2), 0, 0)
        self._name.setText(self.name)
        # The reason of a failure is shown where it happened: in its card, and in the list below.
        self._doing.setText(("" if member.over else doing(member)) or task(member))
        self._state.setText(state_text(member))
        mark(
            self._state,
            {"ok": "small-ok", "warn": "small-warn", "err": "small-err"}.get(
                kind, "small-chosen" if self.chosen else "small"
            ),
        )
        self._paused = member.held
        self.pause.set_icon("play" if self._paused else "pause")
        running = not member.over and member.status != "planned"
        if not running:
            self._close()
        for button in (self.pause, self.stop, self.message):
            button.setVisible(running)
        self.opener.setVisible(bool(member.depth) and member.status not in {"planned", "not_run"})
        if previous != (self.name, self._paused):
            for button in (self.message, self.opener, self.pause, self.stop):
                bind_text(button)
        self.tick(shown)
        self._place()

    def tick(self, shown: AgentUsage) -> None:
        """Update the elapsed time, once a second."""
        text = figures(shown)
        self._figures.setText(f" · {text}" if text else "")
        self.setAccessibleName(spoken(self._member, shown))

    def set_chosen(self, chosen: bool) -> None:
        """Set whether this is the tree's current row, whose buttons are in the tab order."""
        self.chosen = chosen
        policy = Qt.FocusPolicy.StrongFocus if chosen else Qt.FocusPolicy.ClickFocus
        for button in (self.message, self.opener, self.pause, self.stop):
            button.setFocusPolicy(policy)
        for shown in (self._doing, self._figures):
            mark(shown, "small-chosen" if chosen else "small")
        self.buttons.update()

    def write(self) -> None:
        """Open or close the message field."""
        if self.field is not None:
            self._close()
            return
        self.field = control(
            QLineEdit(self),
            "agent-message-field",
            hint=lambda: _("Message {agent}…", agent=self.name),
            name=lambda: _("Write to {agent}", agent=self.name),
        )
        self.field.setMaxLength(100_000)
        self.field.returnPressed.connect(self._send)
        self._lines.addSpacing(4)
        self._lines.addWidget(self.field)
        self.field.show()
        self.grown.emit()
        self.field.setFocus()

    def _send(self) -> None:
        text = self.field.text().strip() if self.field is not None else ""
        if text:
            self._close()
            self.message_sent.emit(self.run_id, text)

    def _close(self) -> None:
        if self.field is not None:
            self._lines.removeWidget(self.field)
            self._lines.takeAt(self._lines.count() - 1)
            self.field.deleteLater()
            self.field = None
            self.grown.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.field is not None:
            self._close()
        else:
            super().keyPressEvent(event)

    def _place(self) -> None:
        self._name.show_full(self.width() // 2)
        hint = self.buttons.sizeHint()
        high = min(self.height(), super().sizeHint().height()) if self.field is None else hint.height() + theme().px(8)
        self.buttons.setGeometry(
            self.width() - hint.width(), max(0, (high - hint.height()) // 2), hint.width(), hint.height()
        )
        self.buttons.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())
