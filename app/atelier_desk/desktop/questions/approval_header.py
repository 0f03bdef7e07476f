"""The head of an approval card: what is requested, by whom and where, its risk and the time left."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QLabel, QSizePolicy, QWidget

from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Pill, bind, control, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus, OnTimeout
from atelier_desk.presentation.undo_availability_text import undo_text
from atelier_desk.support.i18n import N_

WARN_S = 15
"""Remaining seconds from which the time is shown as a warning."""
TITLE = 200
"""Minimum width of a title beside the pills, in logical pixels at 100 %; with less, they move below."""


def loosen(text: QLabel) -> None:
    """Let a wrapped text shrink with its card: Qt would reserve space for a few words."""
    policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    policy.setHeightForWidth(True)
    text.setSizePolicy(policy)


class ApprovalHeader(QWidget):
    """What is requested, with pills for risk, time and state.

    Its parts are ``approval-title``, ``-undo``, ``-lineage``, ``-show`` and the pills ``approval-risk``, ``-time``
    and ``-state``.

    Signals: ``show_requested`` when the user wants to see the workflow.
    """

    show_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._waits = True
        self._icon = PlainLabel(parent=self)
        self._title = control(label("", "strong", self, wrap=True), "approval-title")
        self._call = control(label("", "muted", self, wrap=True), "approval-summary")
        self._lineage = control(label("", "small", self, wrap=True), "approval-lineage")
        self._undo = control(label("", "muted", self, wrap=True), "approval-undo")
        for text in (self._title, self._call, self._undo, self._lineage):
            loosen(text)
        self._place = control(ElidedLabel("", self), look="small")
        self.show_button = control(
            IconButton("message-square", N_("Show the workflow"), self, size=13),
            "approval-show",
            on=lambda: self.show_requested.emit(),
        )
        self._risk = Pill("", "", self)
        self._time = Pill("", "", self)
        self._state = Pill("", "", self)
        for pill, name in (
            (self._risk, "approval-risk"),
            (self._time, "approval-time"),
            (self._state, "approval-state"),
        ):
            pill.setObjectName(name)
        self._lay_out()
        bind(self._apply_style)

    def _lay_out(self) -> None:
        pills = self._pills = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        pills.setSpacing(6)
        for pill in (self._risk, self._time, self._state):
            pills.addWidget(pill, 0, Qt.AlignmentFlag.AlignLeft)
        pills.addStretch(1)
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._top.setSpacing(6)
        self._top.addWidget(self._title, 1)
        self._top.addLayout(pills)
        self._top.setAlignment(pills, Qt.AlignmentFlag.AlignTop)
        line = hbox(None, (self._icon, 0, Qt.AlignmentFlag.AlignTop), (self._top, 1), spacing=8)
        below = hbox(None, (self._place, 1), self.show_button, spacing=4)
        vbox(self, line, self._call, self._undo, self._lineage, below, spacing=4)

    def show_request(self, request: ApprovalRequest, where: str) -> None:
        """Show everything except the time; ``where`` is the workflow's name, empty inside its own workflow."""
        line = wording.lineage(request.lineage, wording.agent_name(request))
        self._title.setText(wording.title(request))
        values = wording.values(request)
        self._call.setText(values)
        self._call.setVisible(bool(values))
        self._undo.setText(undo := undo_text(request) if request.status is ApprovalStatus.PENDING else "")
        self._undo.setVisible(bool(undo))
        self._lineage.setText(line)
        self._lineage.setVisible(bool(line))
        self._place.setText(f"{ago(request.created_at)} · {where}")
        self._place.setVisible(bool(where))
        self.show_button.setVisible(bool(where))
        self._waits = request.status is ApprovalStatus.PENDING
        self._risk.show_state(*wording.risk(request))
        self._state.show_state(*wording.state(request))
        self._state.setVisible(not self._waits)
        self._apply_style()

    def show_time(self, left: float | None, then: OnTimeout) -> bool:
        """Set the seconds left to decide, None for no timeout; returns True if the pill appeared or disappeared."""
        was = self._time.isHidden()
        self._time.setVisible(left is not None)
        if left is not None:
            text, tip = wording.time_left(left, then)
            self._time.show_state(text, "err" if left <= WARN_S else "")
            self._time.setToolTip(plain_tip(tip))
        return was != self._time.isHidden()

    def arrange(self, width: int) -> None:
        """Put the pills beside the title, or stack them below it if ``width`` is too small."""
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        pills = sum(
            pill.sizeHint().width() + 6 for pill in (self._risk, self._time, self._state) if not pill.isHidden()
        )
        title = min(self._title.fontMetrics().horizontalAdvance(self._title.text()) + 4, theme().px(TITLE))
        icon = theme().px(24)
        self._top.setDirection(across if title + pills + icon <= width else down)
        self._pills.setDirection(across if pills + icon <= width else down)

    def _apply_style(self) -> None:
        colour: Role = "warn" if self._waits else "muted"
        self._icon.setPixmap(theme().pixmap("shield", colour, theme().px(16), self.devicePixelRatioF()))
        self._icon.setFixedSize(theme().px(18), theme().px(18))
