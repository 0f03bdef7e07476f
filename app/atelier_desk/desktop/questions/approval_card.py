"""The approval card: what an agent wants to do, why it must ask, the exact arguments, and the decisions.

The same card is used under a tool call in the transcript and in the inbox. It only shows and asks;
``ApprovalController`` decides with the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.questions.answer_field import AnswerField
from atelier_desk.desktop.questions.approval_buttons import ApprovalButtons
from atelier_desk.desktop.questions.approval_card_base import ApprovalFrame
from atelier_desk.desktop.questions.approval_controller import Draft
from atelier_desk.desktop.questions.approval_details import ApprovalDetails
from atelier_desk.desktop.questions.approval_diff import ApprovalChanges
from atelier_desk.desktop.questions.approval_header import ApprovalHeader
from atelier_desk.desktop.questions.argument_check import refusal
from atelier_desk.desktop.questions.arguments_view import ArgumentsView
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind, control, fill, label
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.enter_key import sends
from atelier_desk.domain import limits
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, ApprovalStatus
from atelier_desk.domain.errors import AtelierError, ToolError
from atelier_desk.presentation import call_failure_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

PREVIEW_MS = 300
"""Milliseconds after a change of the arguments before the diff is requested again."""


class ApprovalCard(ApprovalFrame):
    """``approval-card`` for one request.

    Besides the signals of its base: ``decided`` (an ``ApprovalStatus`` value), once, and ``previewed`` when the diff
    is there, which moves the buttons.
    """

    decided = Signal(str)
    previewed = Signal()
    head: ApprovalHeader

    def __init__(self, bridge: Bridge, request: ApprovalRequest, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent, "approval-card")
        self.request = self.approvals.get(request.id) or request
        mark(self, "approval" if self._open else "card")
        self._restoring = self._rejecting = False
        self._build()
        for button in (self.arguments.fold, self.arguments.copy, self.arguments.edit, self.head.show_button):
            button.installEventFilter(self)
        self._restore_draft()
        bind(self._show, on="language")
        self.approvals.updated.connect(self._updated)
        self.approvals.draft_changed.connect(self._draft_changed)
        bind(self.refit)
        self.approvals.watch(self, self.request)
        self._preview_changes()

    def _make_head(self) -> ApprovalHeader:
        head = ApprovalHeader(self)
        head.show_requested.connect(lambda: self.show_requested.emit(self.request.workflow_id))
        return head

    def _build(self) -> None:
        self.area.setObjectName("approval-scroll")
        self._error.setObjectName("approval-error")
        self._make_body(self.body)
        self.column.addWidget(self._error)
        self.reason = AnswerField(1, self, limit=limits.APPROVAL_NOTE, most=3)
        control(
            self.reason.editor,
            "approval-reason",
            name=N_("Reason for rejecting; the agent sees it"),
            about=N_("Enter to reject with this reason, Shift+Enter for a new line"),
        )
        bind(self.reason.set_placeholder, lambda: _("Reason for rejecting (optional)"))
        self.reason.changed.connect(self._note_changed)
        self.reason.editor.installEventFilter(self)
        self.column.addWidget(self.reason)
        self.buttons = ApprovalButtons(self)
        self.buttons.allowed.connect(lambda choice: self._allow_pressed(choice.scope, choice.rules))
        self.buttons.rejected.connect(self._reject_pressed)
        self.buttons.back.connect(lambda: self._set_rejecting(False))
        self.column.addWidget(self.buttons)

    def _make_body(self, body: QWidget) -> None:
        self._why = control(label("", "muted", body, wrap=True), "approval-why")
        self._decision = control(label("", "", body, wrap=True), "approval-decision")
        self._details = ApprovalDetails(self.request, body)
        self._details.setVisible(self._details.there)
        self._changes = ApprovalChanges(body)
        self._preview = Debouncer(self, PREVIEW_MS, self._preview_changes)
        shown = self.request.arguments if self.request.edited is None else self.request.edited
        self.arguments = ArgumentsView(shown, self._refusal, body, opened=not self._details.there)
        self.arguments.edited.connect(self._arguments_changed)
        self.arguments.height_changed.connect(self.refit)
        self.arguments.caret_moved.connect(self._follow_caret)
        fill(self.details, self._decision, self._why, self._changes, self._details, self.arguments, 1)

    def show_request(self, request: ApprovalRequest) -> None:
        """Update the request; typed text is preserved while it is pending."""
        was = self.request.status
        self.request = request
        mark(self, "approval" if self._open else "card")
        if request.status is not ApprovalStatus.PENDING and self.arguments.editing:
            self.arguments.undo()
        self._show()
        self.refit()
        if was is ApprovalStatus.PENDING and request.status is not was:
            self.decided.emit(request.status.value)

    def approve(self, scope: ApprovalScope = ApprovalScope.ONCE, rules: Sequence[str] = ()) -> None:
        """Approve with the arguments as edited; if invalid, show why and send nothing."""
        if self._can_allow():
            self._send(self._allow(scope, rules), self.request.id)

    def reject(self) -> None:
        """Reject with the reason entered."""
        if self._open and not self._busy and not self.reason.over_limit():
            self._send(self.approvals.reject(self.request.id, self.reason.text().strip()), self.request.id)

    def holds(self, request_id: str) -> bool:
        """Whether the card shows this request."""
        return self.request.id == request_id

    @property
    def _open(self) -> bool:
        return self.request.status is ApprovalStatus.PENDING

    def _can_allow(self) -> bool:
        return self._open and not self._busy and not self._rejecting and not self.arguments.problem

    def _allow_pressed(self, scope: ApprovalScope = ApprovalScope.ONCE, rules: Sequence[str] = ()) -> None:
        """Approve was pressed. Presses just after the card appeared or moved are ignored as unintended."""
        if not self.unsettled():
            self.approve(scope, rules)

    def _reject_pressed(self) -> None:
        """The first press asks for the reason, the second rejects."""
        if self._rejecting:
            self.reject()
        elif self._open and not self._busy:
            self._set_rejecting(True)
            self.reason.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_rejecting(self, on: bool) -> None:
        """Show the field for the reason, or hide it, keeping its text."""
        if on == self._rejecting:
            return
        self._rejecting = on
        self._since = self.approvals.monotonic()  # the buttons change places
        if not on:
            had_keyboard = self.isAncestorOf(QApplication.focusWidget() or self.window())
            self.reason.set_text("")
            if had_keyboard:
                self.take_focus()
        self._show()
        self.refit()

    async def _allow(self, scope: ApprovalScope, rules: Sequence[str]) -> None:
        if self.arguments.editing and not await self.arguments.checked():
            return
        await self.approvals.approve(self.request.id, self.arguments.changed_arguments(), scope, rules)

    def _set_busy(self, busy: bool) -> None:
        self.reason.setEnabled(not busy)
        super()._set_busy(busy)

    async def _refusal(self, arguments: dict[str, object]) -> str:
        try:
            await self.bridge.engine.tools.check(self.request.tool, arguments)
        except ToolError as error:
            return refusal(error)
        return ""

    def _preview_changes(self) -> None:
        """Ask the engine how the call would change files, with the arguments as edited."""
        if self._open and self.request.effect in ("write", "network") and not self.arguments.problem:
            self.approvals.jobs.start(self._show_changes(self.arguments.changed_arguments()), f"preview {id(self)}")

    async def _show_changes(self, arguments: dict[str, object] | None) -> None:
        problem, changes = "", []
        try:
            changes = await self.bridge.engine.approvals.preview(self.request.id, arguments)
        except AtelierError as error:
            problem = _("This call would fail. {problem}", problem=call_failure_text.in_words(error))
        if isValid(self) and arguments == self.arguments.changed_arguments():
            if changes and self._changes.isHidden() and not self.arguments.editing:
                self.arguments.set_opened(False)  # the diff shows it better
            self._changes.show_changes(changes, problem)
            self.moved()  # it grows, which moves the buttons
            self.refit()
            self.previewed.emit()

    def _note_changed(self) -> None:
        self._check()
        self._save_draft()
        self.refit()

    def _arguments_changed(self) -> None:
        self._check()
        self._preview.start()
        self._save_draft()

    def _save_draft(self) -> None:
        if self._open and not self._restoring:
            self.approvals.save_draft(self.request.id, Draft(self.arguments.draft(), self.reason.text()), self)

    def _draft_changed(self, request_id: str, source: object) -> None:
        if request_id == self.request.id and source is not self:
            self._restore_draft()

    def _restore_draft(self) -> None:
        """Restore text typed in another card of this request, or before this one was created."""
        draft, self._restoring = self.approvals.draft(self.request.id), True
        if draft.note != self.reason.text():
            self.reason.set_text(draft.note)
        if draft.note and not self._rejecting:
            self._set_rejecting(True)
        if draft.arguments is None and self.arguments.editing:
            self.arguments.undo()
        elif draft.arguments is not None and draft.arguments != self.arguments.draft():
            self.arguments.begin(draft.arguments)
        self._restoring = False

    def _updated(self, request_id: str) -> None:
        newer = self.approvals.get(request_id) if request_id == self.request.id else None
        if newer is None:
            return
        if newer.model_copy(update={"seen_ms": 0}) != self.request.model_copy(update={"seen_ms": 0}):
            self.show_request(newer)
        else:
            self.request = newer
            self._show_time()

    def _check(self, *_args: object) -> None:
        """Enable or disable the buttons, and show the reason."""
        changed = self.arguments.editing and self.arguments.changed_arguments() is not None
        text, tip = wording.yes(self.request, changed)
        self.buttons.allow(
            text,
            self.arguments.problem or tip,
            can_allow=self._can_allow(),
            can_reject=self._open and not self._busy and not self.reason.over_limit(),
            unsettled=self.unsettled() if self._open else 0.0,
        )

    def _show_time(self) -> None:
        if self.head.show_time(self.approvals.remaining(self.request) if self._open else None, self.request.on_timeout):
            self.refit()

    def _arrange(self, width: int) -> None:
        """Fit pills beside the title, and button texts, into ``width`` pixels."""
        self.head.arrange(width)
        self.buttons.arrange(width)
        self._changes.fit(width)

    def _follow_caret(self) -> None:
        """Keep the text cursor's line visible while typing."""
        editor = self.arguments.text
        at = editor.mapTo(self.body, editor.cursorRect().center())
        self.area.ensureVisible(at.x(), at.y(), 0, theme().px(24))

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

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A approves and R asks for the reason to reject, while the card or a decision button has the focus.

        Esc leaves the reason.
        """
        key = event.key()
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier and not event.isAutoRepeat()
        if key == Qt.Key.Key_Escape and self._rejecting and not self._busy:
            self._set_rejecting(False)
        elif not plain or not self._open or self.unsettled() or key not in (Qt.Key.Key_A, Qt.Key.Key_R):
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_A:
            self._allow_pressed()
        elif not self._rejecting:
            self._reject_pressed()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stop letters typed on other buttons, such as Copy. Enter in the reason rejects."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        if watched is not self.reason.editor:
            return event.key() in (Qt.Key.Key_A, Qt.Key.Key_R)
        if sends(event) and not event.isAutoRepeat():
            self.reject()
        return sends(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.refit()
