"""Approvals of one run that wait together: a line each, to be decided at once or one by one.

``policy.approval_strictness_and_grouping.together`` decides what is grouped: no protected files, no taint, no high
risk, nothing else that asks each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QBoxLayout, QPushButton, QWidget

from atelier_desk.desktop.panes.time_format import ago, number
from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_card_base import MOST_HEIGHT, SIDE, ApprovalFrame
from atelier_desk.desktop.questions.approval_controller import Draft
from atelier_desk.desktop.questions.approval_header import TITLE, loosen
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    FlowLayout,
    IconButton,
    Pill,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    label,
    vbox,
)
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.presentation.undo_availability_text import undo_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

REVIEWED_HEIGHT = 2 * MOST_HEIGHT
"""Maximum height of a call's own card, in logical pixels at 100 %: its group scrolls, so it rarely scrolls as well."""


class GroupLine(QWidget):
    """``approval-line-<request id>``: a call with its risk and undo; ``approval-review-…`` opens its own card."""

    def __init__(self, request: ApprovalRequest, group: ApprovalGroup) -> None:
        super().__init__(group.body)
        self.setObjectName(f"approval-line-{request.id}")
        self.request, self._group = request, group
        self.card: ApprovalCard | None = None
        self._what = label("", "", self, wrap=True)
        self._undo = label("", "small", self, wrap=True)
        for text in (self._what, self._undo):
            loosen(text)
        self._risk = Pill("", "", self)
        self.review = control(
            QPushButton(self),
            f"approval-review-{request.id}",
            lambda: _("Close") if self.card is not None else _("Review"),
            look="quiet",
            on=self.toggle,
            name=lambda: _(
                "{name}: {text}", name=_("Close") if self.card is not None else _("Review"), text=self._what.text()
            ),
        )
        side = hbox(None, self._risk, self.review, 1, spacing=6)
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        fill(self._top, (self._what, 1), (side, 0), spacing=6)
        self._top.setAlignment(side, Qt.AlignmentFlag.AlignTop)
        self._column = vbox(self, self._top, self._undo, spacing=2)
        bind(self._show, on="language")

    def _show(self) -> None:
        self._what.setText(visible(wording.line(self.request)))
        self._risk.show_state(*wording.risk(self.request))
        self._undo.setText(undo := undo_text(self.request))
        self._undo.setVisible(bool(undo) and self.card is None)  # the card says it as well
        bind_text(self.review)

    def arrange(self, width: int) -> None:
        """Put risk and button beside the text, or below it if ``width`` is too small."""
        side = self._risk.sizeHint().width() + self.review.sizeHint().width()
        across = side + theme().px(TITLE) <= width
        self._top.setDirection(QBoxLayout.Direction.LeftToRight if across else QBoxLayout.Direction.TopToBottom)
        if self.card is not None:
            self.card.limit_height(theme().px(REVIEWED_HEIGHT))
            self.card.fit(width)

    def toggle(self) -> None:
        """Show or hide the card of this call, with its arguments."""
        if self.card is None:
            self.card = ApprovalCard(self._group.bridge, self.request, self)
            self.card.height_changed.connect(self._group.refit)
            self.card.previewed.connect(self._show_buttons)
            self._column.addWidget(self.card)
            self.card.show()
            if self.review.hasFocus():
                self.card.take_focus()
        else:
            had_keyboard = self.card.isAncestorOf(QApplication.focusWidget() or self.window())
            self._column.removeWidget(self.card)
            self.card.hide()
            self.card.deleteLater()
            self.card = None
            if had_keyboard:
                self.review.setFocus(Qt.FocusReason.OtherFocusReason)
        self._show()
        self.updateGeometry()  # Qt would do so later, and the group is laid out now
        self._group.moved()
        self._group.height_changed.emit()
        self._group.unfolded.emit()
        QTimer.singleShot(0, self, self._show_buttons)  # laid out by then

    def _show_buttons(self) -> None:
        """Scroll what surrounds the opened card until its buttons are in view."""
        if self.card is None or self.card.arguments.editing:
            return
        self._group.moved()
        self._group.height_changed.emit()
        self._group.unfolded.emit()  # lays out now
        above: QWidget | None = self
        while above is not None:
            if isinstance(above, QAbstractScrollArea):
                buttons, view = self.card.buttons, above.viewport()
                over = buttons.mapTo(view, buttons.rect().bottomLeft()).y() + theme().px(SIDE) - view.height()
                bar = above.verticalScrollBar()
                bar.setValue(bar.value() + max(0, over))
            above = above.parentWidget()


class ApprovalGroup(ApprovalFrame):
    """``approval-group`` for calls of one run that wait together; used by hosts like an ``ApprovalCard``."""

    def __init__(self, bridge: Bridge, requests: Sequence[ApprovalRequest], parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent, "approval-group")
        mark(self, "approval")
        self.lines: dict[str, GroupLine] = {}
        self._build()
        self.show_requests(requests)
        self.approvals.draft_changed.connect(self._check)
        bind(self._show)

    def _make_head(self) -> QWidget:
        head = QWidget(self)
        self._icon = PlainLabel(parent=head)
        self._title = control(label("", "strong", head, wrap=True), "approval-group-title")
        self._lineage = control(label("", "small", head, wrap=True), "approval-group-lineage")
        for text in (self._title, self._lineage):
            loosen(text)
        self._place = control(ElidedLabel("", head), look="small")
        self.show_button = control(
            IconButton("message-square", N_("Show the workflow"), head, size=13),
            "approval-group-show",
            on=lambda: self.show_requested.emit(self.workflow_id),
        )
        line = hbox(None, (self._icon, 0, Qt.AlignmentFlag.AlignTop), (self._title, 1), spacing=8)
        below = hbox(None, (self._place, 1), self.show_button, spacing=4)
        vbox(head, line, self._lineage, below, spacing=4)
        return head

    def _build(self) -> None:
        self.area.setObjectName("approval-group-scroll")
        self._error.setObjectName("approval-group-error")
        self.details.setSpacing(10)
        self.allow = control(QPushButton(self), "approval-allow-all", look="primary", on=self._allow_pressed)
        self.reject = control(QPushButton(self), "approval-reject-all", on=self._reject_pressed)
        buttons = FlowLayout(None, 8)
        for button in (self.allow, self.reject):
            button.setAutoDefault(False)
            button.installEventFilter(self)
            buttons.addWidget(button)
        fill(self.column, self._error, buttons)

    @property
    def requests(self) -> list[ApprovalRequest]:
        """The requests with a line, in order: what “Allow all” approves."""
        return [line.request for line in self.lines.values()]

    @property
    def workflow_id(self) -> str:
        return self.requests[0].workflow_id

    def show_requests(self, requests: Sequence[ApprovalRequest]) -> None:
        """Set the group's requests. Existing lines stay, including opened cards."""
        current = {each.id: each for each in requests}
        if list(current) == list(self.lines):
            return
        for key in [key for key in self.lines if key not in current]:
            line = self.lines.pop(key)
            self.details.removeWidget(line)
            line.hide()
            line.deleteLater()
        for place, (key, request) in enumerate(current.items()):
            if key not in self.lines:
                self.lines[key] = line = GroupLine(request, self)
                self.approvals.watch(self, request)
                self.details.insertWidget(place, line)
                line.show()
        self.lines = {key: self.lines[key] for key in current}
        self.moved()
        self._show()

    def holds(self, request_id: str) -> bool:
        """Whether it has a line for this request."""
        return request_id in self.lines

    def _arrange(self, width: int) -> None:
        for line in self.lines.values():
            line.arrange(width)

    def default_limit(self) -> int:
        return super().default_limit() * (1 + any(line.card is not None for line in self.lines.values()))

    def moved(self) -> None:
        super().moved()
        self.refit()

    def _allow_pressed(self) -> None:
        """Approve the listed requests, as they were listed long enough."""
        if not (self._busy or self._begun() or self.unsettled()):
            listed = [each.id for each in self.requests]
            self._send(self.approvals.approve_together(listed), *listed)

    def _reject_pressed(self) -> None:
        """Reject the listed requests, as they were listed long enough."""
        if not (self._busy or self._begun() or self.unsettled()):
            listed = [each.id for each in self.requests]
            self._send(self.approvals.reject_together(listed), *listed)

    def _begun(self) -> bool:
        """Whether there is input for one of them (edited arguments, a reason), which deciding at once would ignore."""
        return any(self.approvals.draft(key) != Draft() for key in self.lines)

    def _check(self, *_args: object) -> None:
        left = self.unsettled()
        begun = self._begun()
        tips = {self.allow: _("Allow each of these calls once"), self.reject: _("Do not let the agent do any of these")}
        for button, tip in tips.items():
            button.setEnabled(not self._busy and not begun and (not left or button.hasFocus()))
            button.setToolTip(plain_tip(_("First decide on the call you edited") if begun else tip))

    def _show(self) -> None:
        requests = self.requests
        if not requests:
            return
        title = wording.group_title(requests)
        line = wording.lineage(requests[0].lineage, wording.agent_name(requests[0]))
        self._icon.setPixmap(theme().pixmap("shield", "warn", theme().px(16), self.devicePixelRatioF()))
        self._icon.setFixedSize(theme().px(18), theme().px(18))
        self._title.setText(title)
        self._lineage.setText(line)
        self._lineage.setVisible(bool(line))
        self._place.setText(f"{ago(requests[0].created_at)} · {self._where}")
        self._place.setVisible(bool(self._where))
        self.show_button.setVisible(bool(self._where))
        count = len(requests)
        texts = {
            self.allow: _("Allow all {count}", count=number(count)),
            self.reject: _("Reject all {count}", count=number(count)),
        }
        for button, text in texts.items():
            button.setText(text)
            button.setAccessibleName(text)
        self.setAccessibleName(visible(title))
        self.setAccessibleDescription(visible(". ".join(map(wording.line, requests))))
        self.refit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore keys on the buttons until they have been visible long enough."""
        key = (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Select)
        )
        return key and self.unsettled() > 0


def waiting_cards(within: QWidget) -> list[ApprovalCard | ApprovalGroup]:
    """The visible or reachable cards of pending approvals, oldest first."""
    groups = [each for each in within.findChildren(ApprovalGroup) if each.isVisible() and each.lines]
    alone = [
        each
        for each in within.findChildren(ApprovalCard)
        if each.isVisible()
        and each.request.status is ApprovalStatus.PENDING
        and not isinstance(each.parent(), GroupLine)
    ]
    dated = [((each.request.created_at, each.request.id), each) for each in alone]
    dated += [((each.requests[0].created_at, each.requests[0].id), each) for each in groups]  # type: ignore[misc]
    return [card for _when, card in sorted(dated, key=lambda each: each[0])]
