"""Approvals of one run that wait together: a line each, one yes for all of them, or one by one.

Which go together is said by ``policy.approvals.together``: no protected names, no taint, no high risk, nothing else that asks each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QMoveEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QBoxLayout, QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.wording import ago, number
from atelier_desk.desktop.questions import approval_wording as wording
from atelier_desk.desktop.questions.approval_card import LEAST_BODY, LEAST_WIDTH, MOST_HEIGHT, RING, SIDE, ApprovalCard
from atelier_desk.desktop.questions.approval_desk import Draft, approval_desk
from atelier_desk.desktop.questions.approval_header import TITLE, loosen
from atelier_desk.desktop.questions.body import Body
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import ElidedLabel, FlowLayout, IconButton, Pill, bind, control, fill, label, say
from atelier_desk.desktop.widgets.tab_stops import tab_stops
from atelier_desk.desktop.widgets.words import made
from atelier_desk.domain.approval import ApprovalRequest, ApprovalStatus
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _
from atelier_desk.undo_words import undo_words

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge


class GroupLine(QWidget):
    """``approval-line-<request id>``: what one call would do, its risk and what can be undone; ``approval-review-…`` opens its own card."""

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
            name=lambda: f"{_('Close') if self.card is not None else _('Review')}: {self._what.text()}",
        )
        side = fill(QHBoxLayout(), self._risk, self.review, 1, spacing=6)
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        fill(self._top, (self._what, 1), (side, 0), spacing=6)
        self._top.setAlignment(side, Qt.AlignmentFlag.AlignTop)
        self._column = fill(QVBoxLayout(self), self._top, self._undo, margins=(0, 0, 0, 0), spacing=2)
        bind(self._show, on="language")

    def _show(self) -> None:
        self._what.setText(visible(wording.line(self.request)))
        self._risk.show_state(*wording.risk(self.request))
        self._undo.setText(undo := undo_words(self.request))
        self._undo.setVisible(bool(undo))
        say(self.review)

    def arrange(self, width: int) -> None:
        """Risk and button beside the text where ``width`` allows it, else below."""
        side = self._risk.sizeHint().width() + self.review.sizeHint().width()
        across = side + theme().px(TITLE) <= width
        self._top.setDirection(QBoxLayout.Direction.LeftToRight if across else QBoxLayout.Direction.TopToBottom)
        if self.card is not None:
            self.card.fit(width)

    def toggle(self) -> None:
        """Open the card of this call alone, with its arguments, or put it away."""
        if self.card is None:
            self.card = ApprovalCard(self._group.bridge, self.request, self)
            self.card.height_changed.connect(self._group.refit)
            self._column.addWidget(self.card)
            self.card.show()
        else:
            self._column.removeWidget(self.card)
            self.card.hide()
            self.card.deleteLater()
            self.card = None
        self._show()
        self._group.moved()


class ApprovalGroup(QFrame):
    """``approval-group`` for calls of one run that wait together; hosts treat it as an ``ApprovalCard``.

    Signals: ``height_changed`` when it wants another height at the same width, ``show_wanted(workflow_id)``.
    """

    height_changed = Signal()
    show_wanted = Signal(str)

    def __init__(self, bridge: Bridge, requests: Sequence[ApprovalRequest], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approval-group")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        mark(self, "approval")
        self.bridge, self.desk = bridge, approval_desk(bridge)
        self.lines: dict[str, GroupLine] = {}
        self._most: int | None = None
        self._busy = self._fitting = False
        self._where = ""
        self._since = self.desk.monotonic()
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._check)
        self._build()
        self.show_requests(requests)
        self.desk.changed.connect(self._check)
        self.desk.draft_changed.connect(self._check)
        bind(self._show)

    def _build(self) -> None:
        self._icon = QLabel(self)
        self._title = control(label("", "strong", self, wrap=True), "approval-group-title")
        self._lineage = control(label("", "small", self, wrap=True), "approval-group-lineage")
        self._error = control(label("", "error", self, wrap=True), "approval-group-error")
        for text in (self._title, self._lineage, self._error):
            loosen(text)
        self._place = control(ElidedLabel("", self), look="small")
        self.show_button = control(
            IconButton("message-square", N_("Show the workflow"), self, size=13),
            "approval-group-show",
            on=lambda: self.show_wanted.emit(self.workflow_id),
        )
        self._area = control(QScrollArea(self), "approval-group-scroll")
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # as needed, Qt resizes without end
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body = Body(self)
        mark(self.body, "plain")
        self._list = fill(QVBoxLayout(self.body), margins=(0, 0, 0, 0), spacing=10)
        self._area.setWidget(self.body)
        self.body.relaid.connect(self.refit)
        self.allow = control(QPushButton(self), "approval-allow-all", look="primary", on=self._allow_pressed)
        self.allow.setAutoDefault(False)
        self.allow.installEventFilter(self)
        buttons = FlowLayout(None, 8)
        buttons.addWidget(self.allow)
        line = fill(QHBoxLayout(), (self._icon, 0, Qt.AlignmentFlag.AlignTop), (self._title, 1), spacing=8)
        below = fill(QHBoxLayout(), (self._place, 1), self.show_button, spacing=4)
        self._column = fill(
            QVBoxLayout(self), line, self._lineage, below, (self._area, 1), self._error, buttons, margins=(SIDE, 10, SIDE, SIDE), spacing=8
        )
        self._error.hide()

    # what others call -----------------------------------------------------------------------------------------------------------------

    @property
    def requests(self) -> list[ApprovalRequest]:
        """Those that have a line, in the order of the lines: what “Allow all” allows."""
        return [line.request for line in self.lines.values()]

    @property
    def workflow_id(self) -> str:
        return self.requests[0].workflow_id

    def show_requests(self, requests: Sequence[ApprovalRequest]) -> None:
        """These wait together now. What has a line keeps it, with what is open in it."""
        wanted = {each.id: each for each in requests}
        if list(wanted) == list(self.lines):
            return
        for key in [key for key in self.lines if key not in wanted]:
            line = self.lines.pop(key)
            self._list.removeWidget(line)
            line.hide()
            line.deleteLater()
        for place, (key, request) in enumerate(wanted.items()):
            if key not in self.lines:
                self.lines[key] = line = GroupLine(request, self)
                self.desk.watch(self, request)
                self._list.insertWidget(place, line)
                line.show()
        self.lines = {key: self.lines[key] for key in wanted}
        self.moved()
        self._show()

    def set_where(self, workflow: str) -> None:
        """The workflow's name, shown where the card does not stand in its conversation."""
        self._where = workflow
        self._show()

    def limit_height(self, pixels: int | None) -> None:
        """The tallest it may get; None takes the usual."""
        if pixels != self._most:
            self._most = pixels
            self.refit()

    def holds(self, request_id: str) -> bool:
        """Whether it has a line for this request."""
        return request_id in self.lines

    def take_keyboard(self) -> None:
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def stops(self) -> list[QWidget]:
        """The card and what in it takes the keyboard, in the order of Tab."""
        return [self, *tab_stops(self)]

    def fit(self, width: int) -> int:
        """Take the height the content wants at ``width``, no more than allowed; the button always stays in view."""
        self._fitting = True
        edges = self._column.contentsMargins()
        inner = width - edges.left() - edges.right() - 2
        for line in self.lines.values():
            line.arrange(inner)
        wanted = max(self._list.heightForWidth(inner), self._list.minimumHeightForWidth(inner))
        self._area.setFixedHeight(wanted)
        self._column.invalidate()
        total = self._column.totalHeightForWidth(width) if self._column.hasHeightForWidth() else self._column.totalSizeHint().height()
        opened = sum(line.card is not None for line in self.lines.values())
        over = total - (self._most if self._most is not None else theme().px(MOST_HEIGHT * (1 + bool(opened))))
        if over > 0:
            shown = max(min(wanted, theme().px(LEAST_BODY)), wanted - over)
            total -= wanted - shown
            self._area.setFixedHeight(shown)
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn if over > 0 else Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fitting = False
        if total != self.minimumHeight() or total != self.maximumHeight():
            self.setFixedHeight(total)
        return total

    def refit(self) -> None:
        """Fit once the layouts have settled."""
        if not self._fitting:
            QTimer.singleShot(0, self, self._fit_again)

    def moved(self) -> None:
        """Its button stands elsewhere, or says something else: what is pressed at this moment was not meant for it."""
        self._since = self.desk.monotonic()
        self._check()
        self.refit()

    def show_error(self, text: str) -> None:
        """The engine refused or failed: say so in place."""
        say(self._error, made(text))
        self._error.setVisible(bool(text))
        self.refit()

    # deciding -------------------------------------------------------------------------------------------------------------------------

    def _allow_pressed(self) -> None:
        """Allow what is listed, as it was listed long enough to be read and pressed."""
        if self._busy or self._begun() or self.desk.unsettled(self._since):
            return
        listed = [each.id for each in self.requests]
        had_keyboard = self.isAncestorOf(QApplication.focusWidget() or self.window())

        async def job() -> None:
            problem = ""
            try:
                await self.desk.approve_together(listed)
            except Exception as error:
                problem = error_text(error)
            if isValid(self):
                self._busy = False
                self._check()
                self.show_error(problem)
                if problem and had_keyboard:
                    self.take_keyboard()
            elif problem:
                self.desk.notice.emit(problem)

        self.show_error("")
        self._busy = True
        self._check()
        if self.desk.jobs.once(("decide", *listed), job) is None:
            self._busy = False

    def _begun(self) -> bool:
        """Whether something was typed for one of them: other arguments, a reason to reject. “All” would pass over it."""
        return any(self.desk.draft(key) != Draft() for key in self.lines)

    def _check(self, *_args: object) -> None:
        left = self.desk.unsettled(self._since)
        self.body.setEnabled(not self._busy)
        self.allow.setEnabled(not self._busy and not self._begun() and (not left or self.allow.hasFocus()))
        told = _("Decide about the call that you have changed first") if self._begun() else _("Allow these calls, each for this once")
        self.allow.setToolTip(told)
        if left:
            self._settle.start(int(left * 1000) + 1)

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
        self._place.setText(f"{self._where} · {ago(requests[0].created_at)}")
        self._place.setVisible(bool(self._where))
        self.show_button.setVisible(bool(self._where))
        count = len(requests)
        text = _("Allow all {count}", count=number(count))
        self.allow.setText(text)
        self.allow.setAccessibleName(text)
        self.setAccessibleName(visible(title))
        self.setAccessibleDescription(visible(". ".join(map(wording.line, requests))))
        self.refit()

    # Qt -------------------------------------------------------------------------------------------------------------------------------

    def _fit_again(self) -> None:
        before = self.height()
        if self.width() > 0 and self.fit(self.width()) != before:
            self.height_changed.emit()

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, theme().px(LEAST_BODY))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """No key presses the button before it stood long enough."""
        key = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Select)
        return key and self.desk.unsettled(self._since) > 0

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._since = self.desk.monotonic()
        self._check()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.refit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.moved()
        QTimer.singleShot(0, self, self.desk.look)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.desk.look()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme().tokens.accent), RING))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(RING / 2, RING / 2, -RING / 2, -RING / 2), 10, 10)
            painter.end()


def card_for(bridge: Bridge, group: Sequence[ApprovalRequest], parent: QWidget) -> ApprovalCard | ApprovalGroup:
    """The card of requests that are shown together; of one alone its own."""
    return ApprovalCard(bridge, group[0], parent) if len(group) == 1 else ApprovalGroup(bridge, group, parent)


def group_key(group: Sequence[ApprovalRequest]) -> str:
    """What stays the same while requests of a group come and go."""
    return f"approval:{group[0].id}" if len(group) == 1 else f"approvals:{group[0].run_id}"


def waiting_cards(within: QWidget) -> list[ApprovalCard | ApprovalGroup]:
    """The cards of approvals that wait, as far as they are on the screen or can be scrolled to, the oldest first."""
    groups = [each for each in within.findChildren(ApprovalGroup) if each.isVisible() and each.lines]
    alone = [
        each
        for each in within.findChildren(ApprovalCard)
        if each.isVisible() and each.request.status is ApprovalStatus.PENDING and not isinstance(each.parent(), GroupLine)
    ]
    dated = [((each.request.created_at, each.request.id), each) for each in alone]
    dated += [((each.requests[0].created_at, each.requests[0].id), each) for each in groups]  # type: ignore[misc]
    return [card for _when, card in sorted(dated, key=lambda each: each[0])]
