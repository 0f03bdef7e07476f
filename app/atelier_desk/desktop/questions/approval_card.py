"""The approval card: what an agent wants to do, why it must ask, the exact arguments, and the ways to say yes or no.

The same card stands under a tool call in the transcript and in the inbox. It only shows and asks; ``ApprovalDesk`` decides with the engine.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFocusEvent, QHideEvent, QKeyEvent, QMoveEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QScrollArea, QVBoxLayout, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.questions import approval_wording as wording
from atelier_desk.desktop.questions.answer_field import AnswerField
from atelier_desk.desktop.questions.approval_buttons import ApprovalButtons
from atelier_desk.desktop.questions.approval_changes import ApprovalChanges
from atelier_desk.desktop.questions.approval_desk import Draft, approval_desk
from atelier_desk.desktop.questions.approval_details import ApprovalDetails
from atelier_desk.desktop.questions.approval_header import ApprovalHeader, loosen
from atelier_desk.desktop.questions.argument_check import refusal
from atelier_desk.desktop.questions.arguments_view import ArgumentsView
from atelier_desk.desktop.questions.body import Body
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, control, fill, label, say
from atelier_desk.desktop.widgets.enter import sends
from atelier_desk.desktop.widgets.tab_stops import tab_stops
from atelier_desk.desktop.widgets.words import made
from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, ApprovalStatus
from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _
from atelier_desk.tools import failure_words

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

MOST_HEIGHT = 460
"""Tallest a card gets, in logical pixels at 100 %; what does not fit is scrolled inside, above the buttons."""
LEAST_BODY = 20
"""A line of what is scrolled, in logical pixels at 100 %: in a low pane the buttons go before it."""
LEAST_WIDTH = 120
"""Pixels, whatever the size of text: panes may be narrow."""
SIDE = 12
RING = 2.5
"""Pixels of the line around a card that has the keyboard."""
PREVIEW_MS = 300
"""After a change of the arguments the diff is asked for anew, once."""


class ApprovalCard(QFrame):
    """``approval-card`` for one request; a plain widget.

    ``fit(width)`` gives it the height it wants at that width and returns it; a card in an ordinary layout fits itself when it is resized.

    Signals: ``height_changed`` when it wants another height at the same width, ``decided`` (an ``ApprovalStatus`` value) once,
    ``show_wanted(workflow_id)`` when the person wants to see the conversation it belongs to.
    """

    height_changed = Signal()
    decided = Signal(str)
    show_wanted = Signal(str)

    def __init__(self, bridge: Bridge, request: ApprovalRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approval-card")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # no click: a letter typed after it must not decide anything
        self._bridge, self.desk = bridge, approval_desk(bridge)
        self.request = self.desk.get(request.id) or request
        mark(self, "approval" if self._open else "card")
        self._most: int | None = None
        self._busy = self._fitting = self._taking = self._rejecting = False
        self._since = self.desk.monotonic()
        """Since when it stands where it does."""
        self._where = ""
        self._build()
        for button in (self.arguments.fold, self.arguments.copy, self.arguments.edit, self.head.show_button):
            button.installEventFilter(self)
        self._take_draft()
        bind(self._show, on="language")
        self.desk.updated.connect(self._updated)
        self.desk.changed.connect(self._check)
        self.desk.draft_changed.connect(self._draft_changed)
        bind(self._dress)
        self.desk.watch(self, self.request)
        self._look_at_changes()

    # building -----------------------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._column = fill(QVBoxLayout(self), margins=(SIDE, 10, SIDE, SIDE), spacing=6)
        self.head = ApprovalHeader(self)
        self.head.show_wanted.connect(lambda: self.show_wanted.emit(self.request.workflow_id))
        self._column.addWidget(self.head)
        self._area = control(QScrollArea(self), "approval-scroll")
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Never as needed: a bar that comes and goes wraps the text anew each time, and Qt resizes without end, until the stack is full.
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(self._make_body())
        self._column.addWidget(self._area, 1)
        self._error = control(label("", "error", self, wrap=True), "approval-error")
        self._error.hide()
        loosen(self._error)
        self._column.addWidget(self._error)
        self.reason = AnswerField(1, self, limit=limits.APPROVAL_NOTE, most=3)
        control(
            self.reason.editor,
            "approval-reason",
            name=N_("Reason for rejecting; the agent sees it"),
            about=N_("Enter rejects with this reason, Shift+Enter breaks the line"),
        )
        bind(self.reason.set_placeholder, lambda: _("Reason for rejecting (optional)"))
        self.reason.changed.connect(self._note_changed)
        self.reason.editor.installEventFilter(self)
        self._column.addWidget(self.reason)
        self.buttons = ApprovalButtons(self)
        self.buttons.allowed.connect(lambda choice: self._allow_pressed(choice.scope, choice.rules))
        self.buttons.rejected.connect(self._reject_pressed)
        self.buttons.back.connect(lambda: self._set_rejecting(False))
        self.buttons.settled.connect(self._check)
        self._column.addWidget(self.buttons)

    def _make_body(self) -> Body:
        body = self._body = Body(self)
        mark(body, "plain")
        body.relaid.connect(self._refit)
        self._why = control(label("", "muted", body, wrap=True), "approval-why")
        self._decision = control(label("", "", body, wrap=True), "approval-decision")
        self._details = ApprovalDetails(self.request, body)
        self._details.setVisible(self._details.there)
        self._changes = ApprovalChanges(body)
        self._preview = Soon(self, PREVIEW_MS, self._look_at_changes)
        shown = self.request.arguments if self.request.edited is None else self.request.edited
        self.arguments = ArgumentsView(shown, self._refusal, body, opened=not self._details.there)
        self.arguments.edited.connect(self._arguments_changed)
        self.arguments.height_changed.connect(self._refit)
        self.arguments.caret_moved.connect(self._follow_caret)
        fill(QVBoxLayout(body), self._decision, self._why, self._changes, self._details, self.arguments, 1, margins=(0, 0, 0, 0), spacing=8)
        return body

    # what others call ---------------------------------------------------------------------------------------------------------------

    def show_request(self, request: ApprovalRequest) -> None:
        """The same request as it is now; nothing that was typed is lost while it waits."""
        was = self.request.status
        self.request = request
        mark(self, "approval" if self._open else "card")
        if request.status is not ApprovalStatus.PENDING and self.arguments.editing:
            self.arguments.undo()
        self._show()
        self._refit()
        if was is ApprovalStatus.PENDING and request.status is not was:
            self.decided.emit(request.status.value)

    def set_where(self, workflow: str) -> None:
        """The workflow's name, shown where the card does not stand in its conversation; empty shows none."""
        self._where = workflow
        self._show()

    def limit_height(self, pixels: int | None) -> None:
        """The tallest it may get, for example what its view has; None takes the usual."""
        if pixels != self._most:
            self._most = pixels
            self._refit()

    def fit(self, width: int) -> int:
        """Take the height the content wants at ``width``, no more than allowed; the buttons always stay in view."""
        self._fitting = True
        edges = self._column.contentsMargins()
        inner = width - edges.left() - edges.right() - 2
        self._arrange(inner)
        self._changes.fit(inner)
        content = self._body.layout()
        wanted = max(content.heightForWidth(inner), content.minimumHeightForWidth(inner)) if content is not None else 0
        self._area.setFixedHeight(wanted)
        self._column.invalidate()
        total = self._column.totalHeightForWidth(width) if self._column.hasHeightForWidth() else self._column.totalSizeHint().height()
        over = total - (self._most if self._most is not None else theme().px(MOST_HEIGHT))
        if over > 0:
            shown = max(min(wanted, theme().px(LEAST_BODY)), wanted - over)
            total -= wanted - shown
            self._area.setFixedHeight(shown)
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn if over > 0 else Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fitting = False
        if total != self.minimumHeight() or total != self.maximumHeight():
            self.setFixedHeight(total)
        return total

    def take_keyboard(self) -> None:
        """The keyboard is led here: the card itself has it, for A and R, and its parts follow with Tab."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def stops(self) -> list[QWidget]:
        """The card and what in it takes the keyboard, in the order of Tab."""
        return [self, *tab_stops(self)]

    def approve(self, scope: ApprovalScope = ApprovalScope.ONCE, rules: Sequence[str] = ()) -> None:
        """Allow, with the arguments as they are edited; wrong ones are shown and nothing is sent."""
        if self._can_allow():
            self._send(self._allow(scope, rules))

    def reject(self) -> None:
        """Refuse, with what is written as the reason."""
        if self._open and not self._busy and not self.reason.over_limit():
            self._send(self.desk.reject(self.request.id, self.reason.text().strip()))

    def scope_menu(self) -> QMenu:
        """See ``ApprovalButtons``."""
        return self.buttons.scope_menu()

    def holds(self, request_id: str) -> bool:
        """Whether it is about this request."""
        return self.request.id == request_id

    def show_error(self, text: str) -> None:
        """The engine refused or failed: say so in place; everything entered stays."""
        say(self._error, made(text))
        self._error.setVisible(bool(text))
        self._refit()

    # deciding -----------------------------------------------------------------------------------------------------------------------

    @property
    def _open(self) -> bool:
        return self.request.status is ApprovalStatus.PENDING

    def _can_allow(self) -> bool:
        return self._open and not self._busy and not self._rejecting and not self.arguments.problem

    def _unsettled(self) -> float:
        return self.desk.unsettled(self._since)

    def _allow_pressed(self, scope: ApprovalScope = ApprovalScope.ONCE, rules: Sequence[str] = ()) -> None:
        """A person pressed it. What was pressed when the card had just come, or come to this place, was not meant for it."""
        if not self._unsettled():
            self.approve(scope, rules)

    def _reject_pressed(self) -> None:
        """The first press asks for the reason, the second one rejects."""
        if self._rejecting:
            self.reject()
        elif self._open and not self._busy:
            self._set_rejecting(True)
            self.reason.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_rejecting(self, on: bool) -> None:
        """Show the field for the reason, or put it away with what was written there."""
        if on == self._rejecting:
            return
        self._rejecting = on
        self._since = self.desk.monotonic()  # the buttons change places
        if not on:
            had_keyboard = self.isAncestorOf(QApplication.focusWidget() or self.window())
            self.reason.set_text("")
            if had_keyboard:
                self.take_keyboard()
        self._show()
        self._refit()

    async def _allow(self, scope: ApprovalScope, rules: Sequence[str]) -> None:
        if self.arguments.editing and not await self.arguments.checked():
            return
        await self.desk.approve(self.request.id, self.arguments.changed_arguments(), scope, rules)

    def _send(self, work: Coroutine[Any, Any, None]) -> None:
        had_keyboard = self.isAncestorOf(QApplication.focusWidget() or self.window())

        async def job() -> None:
            problem = ""
            try:
                await work
            except Exception as error:
                problem = error_text(error)
            if isValid(self):
                self._set_busy(False)
                self.show_error(problem)
                if problem and had_keyboard:  # its buttons were disabled meanwhile, and lost it
                    self.take_keyboard()
            elif problem:
                self.desk.notice.emit(problem)

        self.show_error("")
        self._set_busy(True)
        # The card may go as soon as the decision is known, and must not take it along.
        if self.desk.jobs.once(("decide", self.request.id), job) is None:
            work.close()
            self._set_busy(False)

    def _set_busy(self, busy: bool) -> None:
        """While the engine takes the decision nothing can be changed or sent twice."""
        self._busy = busy
        self._body.setEnabled(not busy)
        self.reason.setEnabled(not busy)
        self._check()

    async def _refusal(self, arguments: dict[str, Any]) -> str:
        try:
            await self._bridge.engine.tools.check(self.request.tool, arguments)
        except ToolError as error:
            return refusal(error)
        return ""

    def _look_at_changes(self) -> None:
        """Ask the engine what the call would do to files, as its arguments stand."""
        if self._open and self.request.effect in ("write", "network") and not self.arguments.problem:
            self.desk.jobs.start(self._show_changes(self.arguments.changed_arguments()), f"preview {id(self)}")

    async def _show_changes(self, arguments: dict[str, Any] | None) -> None:
        problem, changes = "", []
        try:
            changes = await self._bridge.engine.approvals.preview(self.request.id, arguments)
        except AtelierError as error:
            problem = _("This call would fail: {problem}", problem=failure_words.in_words(error))
        if isValid(self) and arguments == self.arguments.changed_arguments():
            if changes and self._changes.isHidden() and not self.arguments.editing:
                self.arguments.set_opened(False)  # the diff says it better
            self._changes.show_changes(changes, problem)
            self._since = self.desk.monotonic()  # it grows, and the buttons go elsewhere
            self._check()
            self._refit()

    # drafts -------------------------------------------------------------------------------------------------------------------------

    def _note_changed(self) -> None:
        self._check()
        self._keep_draft()
        self._refit()

    def _arguments_changed(self) -> None:
        self._check()
        self._preview.start()
        self._keep_draft()

    def _keep_draft(self) -> None:
        if self._open and not self._taking:
            self.desk.keep_draft(self.request.id, Draft(self.arguments.draft(), self.reason.text()), self)

    def _draft_changed(self, request_id: str, source: object) -> None:
        if request_id == self.request.id and source is not self:
            self._take_draft()

    def _take_draft(self) -> None:
        """What was typed in another card of this request, or before this one was made."""
        draft, self._taking = self.desk.draft(self.request.id), True
        if draft.note != self.reason.text():
            self.reason.set_text(draft.note)
        if draft.note and not self._rejecting:
            self._set_rejecting(True)
        if draft.arguments is None and self.arguments.editing:
            self.arguments.undo()
        elif draft.arguments is not None and draft.arguments != self.arguments.draft():
            self.arguments.begin(draft.arguments)
        self._taking = False

    def _updated(self, request_id: str) -> None:
        newer = self.desk.get(request_id) if request_id == self.request.id else None
        if newer is None:
            return
        if newer.model_copy(update={"seen_ms": 0}) != self.request.model_copy(update={"seen_ms": 0}):
            self.show_request(newer)
        else:
            self.request = newer
            self._show_time()

    # looks --------------------------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """What can be pressed now, and why not."""
        changed = self.arguments.editing and self.arguments.changed_arguments() is not None
        text, tip = wording.yes(self.request, changed)
        self.buttons.allow(
            text,
            self.arguments.problem or tip,
            can_allow=self._can_allow(),
            can_reject=self._open and not self._busy and not self.reason.over_limit(),
            unsettled=self._unsettled() if self._open else 0.0,
        )

    def _show_time(self) -> None:
        if self.head.show_time(self.desk.remaining(self.request) if self._open else None, self.request.on_timeout):
            self._refit()

    def _dress(self) -> None:
        self._refit()

    def _arrange(self, width: int) -> None:
        """Pills beside the title and texts of buttons as ``width`` allows it."""
        self.head.arrange(width)
        self.buttons.arrange(width)

    def _refit(self) -> None:
        """Fit once the layouts have settled."""
        if not self._fitting:
            QTimer.singleShot(0, self, self._fit_again)

    def _fit_again(self) -> None:
        before = self.height()
        if self.width() > 0 and self.fit(self.width()) != before:
            self.height_changed.emit()

    def _follow_caret(self) -> None:
        """Keep the line that is typed in inside the scrolled part."""
        editor = self.arguments.text
        at = editor.mapTo(self._body, editor.cursorRect().center())
        self._area.ensureVisible(at.x(), at.y(), 0, theme().px(24))

    def _show(self) -> None:
        request = self.request
        self.head.show_request(request, self._where)
        why = wording.why(request)
        self._why.setText(why)
        self._decision.setText(wording.decision(request))
        self._decision.setVisible(not self._open)
        line = wording.lineage(request.lineage, wording.agent_name(request))
        self.setAccessibleName(visible(wording.title(request)))
        self.setAccessibleDescription(visible(". ".join(filter(None, (wording.risk(request)[0], why, line)))))
        self.buttons.show_request(request, waits=self._open, rejecting=self._rejecting)
        self.reason.setVisible(self._open and self._rejecting)
        self.arguments.edit.setVisible(self._open)
        self._show_time()
        self._check()

    # Qt -----------------------------------------------------------------------------------------------------------------------------

    def minimumSizeHint(self) -> QSize:
        """Whatever it holds, it may get narrow: its rows become columns then."""
        return QSize(LEAST_WIDTH, theme().px(LEAST_BODY))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A allows and R asks for the reason to reject, while the card itself or one of its deciding buttons has the keyboard; Esc leaves
        the reason."""
        key = event.key()
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier and not event.isAutoRepeat()
        if key == Qt.Key.Key_Escape and self._rejecting and not self._busy:
            self._set_rejecting(False)
        elif not plain or not self._open or self._unsettled() or key not in (Qt.Key.Key_A, Qt.Key.Key_R):
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_A:
            self._allow_pressed()
        elif not self._rejecting:
            self._reject_pressed()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Letters pressed on what does not decide, such as Copy, stop there. Enter in the reason rejects."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        if watched is not self.reason.editor:
            return event.key() in (Qt.Key.Key_A, Qt.Key.Key_R)
        if sends(event):
            self.reject()
            return True
        return False

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Its border is a line; while it has the keyboard itself, a ring that is seen from afar."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme().tokens.accent), RING))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(RING / 2, RING / 2, -RING / 2, -RING / 2), 10, 10)
            painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._refit()

    def moveEvent(self, event: QMoveEvent) -> None:
        """Something above it came or went: what is pressed at this moment was meant for that."""
        super().moveEvent(event)
        self._since = self.desk.monotonic()
        self._check()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._since = self.desk.monotonic()
        self._check()
        self._refit()
        QTimer.singleShot(0, self, self.desk.look)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.desk.look()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._refit()
