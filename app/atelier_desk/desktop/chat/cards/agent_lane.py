"""A sub-agent as a lane of the card that started it: activity, usage, report, and requests to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.chat.cards.pending_requests import PendingRequests
from atelier_desk.desktop.chat.transcript.reply_body import ReplyBody
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.team.agent_state_labels import doing, figures, spoken, state_icon, state_text, task
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    IconButton,
    bind,
    bind_text,
    control,
    hbox,
    label,
    show_pixmap,
    vbox,
)
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.presentation.rows.team_state import Member
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.domain.approval import ApprovalRequest

HEIGHT = 52
"""Height of a lane without its report, in pixels at 100 %. It never changes, so nothing moves while agents run."""


class Lane(QWidget):
    """``agent-lane``: two lines; a click opens the sub-agent's transcript, the report unfolds in place.

    Signals:
        height_changed: the report was folded or unfolded, or a card appeared or disappeared below.
    """

    height_changed = Signal()

    def __init__(self, run_id: str, host: TranscriptHost, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setObjectName("agent-lane")
        self.run_id, self._host = run_id, host
        self._body: ReplyBody | None = None
        self.concerns = PendingRequests(host, self)
        self.concerns.height_changed.connect(self.height_changed)
        self._build()
        bind(self.redraw)

    def _build(self) -> None:
        self.head = control(QPushButton(self), "lane-open", look="lane", on=self._open)
        self.head.setCursor(Qt.CursorShape.PointingHandCursor)
        self._icon = PlainLabel(parent=self.head)
        self._name = control(ElidedLabel("", self.head), look="strong")
        self._title = control(ElidedLabel("", self.head), look="muted")
        self._figures = control(ElidedLabel("", self.head), look="small")
        self._figures.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._state = label("", "small", self.head)
        self._doing = control(ElidedLabel("", self.head), look="small")
        self.bar = control(QProgressBar(self.head), "lane-progress")
        self.bar.setTextVisible(False)
        self.report = control(QPushButton(self.head), "lane-report", look="link", on=self.toggle_report)
        self.stop = control(
            IconButton(
                "circle-stop", lambda: _("Stop: {agent}", agent=self.member.name or _("Agent")), self.head, size=14
            ),
            "lane-stop",
            on=lambda: self._host.stop_requested.emit(self.run_id),
        )
        self._chevron = PlainLabel(parent=self.head)
        upper, lower = QHBoxLayout(), QHBoxLayout()
        upper.setSpacing(8)
        lower.setSpacing(0)
        for widget, stretch in ((self._name, 2), (self._title, 5), (self._figures, 0)):
            upper.addWidget(widget, stretch)
        lower.addWidget(self._state)
        lower.addWidget(self._doing, 1)
        lower.addSpacing(8)
        lower.addWidget(self.bar)
        lower.addWidget(self.report)
        lines = vbox(None, upper, lower, spacing=0)
        hbox(
            self.head,
            (self._icon, 0, Qt.AlignmentFlag.AlignVCenter),
            (lines, 1),
            self.stop,
            self._chevron,
            margins=(12, 5, 9, 5),
            spacing=10,
        )
        passive = (
            self._icon,
            self._name,
            self._title,
            self._figures,
            self._state,
            self._doing,
            self.bar,
            self._chevron,
        )
        for part in passive:
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    @property
    def member(self) -> Member:
        return self._host.team.get(self.run_id) or Member(self.run_id)

    @property
    def opened(self) -> bool:
        """Whether its report is unfolded."""
        return self.run_id in self._host.state.open_reports

    def toggle_report(self) -> None:
        reports = self._host.state.open_reports
        (reports.discard if self.opened else reports.add)(self.run_id)
        self.refresh()
        self.height_changed.emit()
        self._host.unfolded.emit()

    def _open(self) -> None:
        if self.member.status not in {"planned", "not_run"}:
            self._host.agent_requested.emit(self.run_id)

    def refresh(self) -> None:
        """Update the lane to the agent's current state."""
        member, style, ratio = self.member, theme(), self.devicePixelRatioF()
        self.head.setFixedHeight(style.px(HEIGHT))
        icon, role, kind = state_icon(member)
        show_pixmap(self._icon, style.pixmap(icon, role, style.px(15), ratio))
        show_pixmap(self._chevron, style.pixmap("chevron-right", "muted", style.px(15), ratio))
        started = member.status not in {"planned", "not_run"}
        self._chevron.setEnabled(started)
        self.head.setCursor(Qt.CursorShape.PointingHandCursor if started else Qt.CursorShape.ArrowCursor)
        self._name.setText(member.name or _("Agent"))
        self._fit_name()
        self._title.setText(task(member))
        self._state.setText(state_text(member))
        mark(self._state, {"ok": "small-ok", "warn": "small-warn", "err": "small-err"}.get(kind, "small"))
        below = list(self._host.team.state.walk(self.run_id))[1:]
        words = " · ".join(filter(None, (doing(member), "" if member.over else _below(below))))
        self._doing.setText(f" · {words}" if words else "")
        self._show_progress(member, below)
        self.report.setVisible(bool(member.report))
        self.report.setText(_("Hide report") if self.opened else _("Report"))
        self.report.setAccessibleName(_("Report from {agent}", agent=member.name))
        self.stop.setVisible(not member.over and self._host.bridge is not None)
        self.reserve_width()
        bind_text(self.stop)
        self.tick()
        self._show_report(member)
        self.show_concerns()

    def reserve_width(self) -> None:
        """Align the figures of all lanes while others of the batch can be stopped."""
        member = self.member
        batch = self._host.team.state.of_call(member.parent_run_id or "", member.parent_call_id)
        policy = self.stop.sizePolicy()
        policy.setRetainSizeWhenHidden(self._host.bridge is not None and any(not each.over for each in batch))
        self.stop.setSizePolicy(policy)

    def _fit_name(self) -> None:
        """Elide names longer than a third of the lane."""
        self._name.show_full(self.head.width() // 3)

    def _show_progress(self, member: Member, below: list[Member]) -> None:
        """Show progress: as reported by the agent, or how many of its sub-agents have ended."""
        self.bar.setFixedWidth(theme().px(64))
        if member.over or (len(below) < 2 and member.progress is None):
            self.bar.hide()
            return
        self.bar.setRange(0, 100 if member.progress is not None else len(below))
        self.bar.setValue(member.progress if member.progress is not None else sum(each.over for each in below))
        self.bar.setAccessibleName(_("Progress of {agent}", agent=member.name))
        self.bar.show()

    def tick(self) -> None:
        """Update the elapsed time, once a second."""
        now = self._host.team.now()
        shown = self._host.team.state.shown(self.run_id, now)
        self._figures.setText(figures(shown))
        self.head.setAccessibleName(spoken(self.member, shown))

    def show_concerns(self) -> None:
        """Show cards for requests of this agent and its descendants to the user."""
        members = list(self._host.team.state.walk(self.run_id))
        runs = {member.run_id for member in members}
        asked: list[ApprovalRequest] = []
        if self._host.approvals is not None and self._host.team.workflow_id:
            asked = [each for each in self._host.approvals.pending(self._host.team.workflow_id) if each.run_id in runs]
        self.concerns.show_all(asked, members)

    def _show_report(self, member: Member) -> None:
        if not (self.opened and member.report):
            if self._body is not None:
                self._body.hide()
                self._body.deleteLater()
                self._body = None
            return
        if self._body is None:
            self._body = ReplyBody(self._host.images, self)
            self._body.height_changed.connect(self.height_changed)
            self._body.show()
        self._body.set_text(member.report)

    def redraw(self) -> None:
        """Redraw the report after a change of fonts or colours."""
        self.refresh()
        if self._body is not None:
            self._body.redraw()
            self.height_changed.emit()

    def fit(self, width: int) -> int:
        """Lay out for this width in pixels; returns the height."""
        style = theme()
        inset = style.px(15) + 22
        y = style.px(HEIGHT)
        self.head.setGeometry(0, 0, width, y)
        self._fit_name()
        height = self.concerns.fit(width - inset - 12)
        self.concerns.setGeometry(inset, y, width - inset - 12, height)
        self.concerns.setVisible(height > 0)
        y += height
        if self._body is not None:
            height = self._body.fit(width - inset - 16)
            self._body.setGeometry(inset, y + 4, width - inset - 16, height)
            y += height + 16
        return y


def _below(members: list[Member]) -> str:
    """The states of its own sub-agents in words."""
    if not members:
        return ""
    done = sum(member.over for member in members)
    return ngettext("{done} of {n} sub-agents done", "{done} of {n} sub-agents done", len(members), done=done)
