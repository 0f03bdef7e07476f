"""The buttons of an approval card: approve, wider approvals, reject with a reason, and permanent rules."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QIcon, QKeyEvent
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from atelier_desk.desktop.questions import approval_text as wording
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import FlowLayout, bind, control
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

PADDING = 34
"""Pixels at 100 % beside the text of a button."""


class ApprovalButtons(QWidget):
    """The buttons of a pending request.

    They are ``approval-approve``, ``approval-run``, ``approval-reject``, ``approval-back`` and ``approval-scope``,
    the menu of rules.

    Signals: ``allowed`` (a ``wording.ApprovalChoice``), ``rejected``, ``back``, once per press.
    """

    allowed = Signal(object)
    rejected = Signal()
    back = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._texts: dict[QPushButton, str] = {}
        self._run: wording.ApprovalChoice | None = None
        self._always: list[wording.ApprovalChoice] = []
        self._menu: QMenu | None = None
        self.approve = control(QPushButton(self), "approval-approve", look="primary")
        self.run = control(QPushButton(self), "approval-run")
        self.reject = control(
            QPushButton(self), "approval-reject", N_("Reject"), tip=N_("Do not let the agent do this (R)")
        )
        self.back_button = control(QPushButton(self), "approval-back", N_("Back"), look="quiet", on=self.back.emit)
        self.scope = control(
            QPushButton(self), "approval-scope", N_("Always…"), look="quiet", tip=N_("Allow this from now on")
        )
        self.approve.clicked.connect(lambda: self.allowed.emit(wording.ApprovalChoice("once", "", ApprovalScope.ONCE)))
        self.run.clicked.connect(lambda: self.allowed.emit(self._run))
        self.reject.clicked.connect(self.rejected)
        self.scope.clicked.connect(self._open_menu)
        self._row = FlowLayout(self, 6)
        for button in (self.approve, self.reject, self.back_button, self.run, self.scope):
            button.setAutoDefault(False)
            button.installEventFilter(self)
            self._row.addWidget(button)
        self.unsettled = 0.0
        self._width = 0
        self._rejecting = False
        self.reject.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the sign of the key after the text
        bind(self._elide, on="look")
        bind(self._show_enter, on="look")

    def show_request(self, request: ApprovalRequest, *, waits: bool, rejecting: bool) -> None:
        """Show the possible decisions; none if the request is not pending."""
        self._run, *self._always = wording.choices(request)
        self._rejecting = rejecting
        self._show_enter()
        mark(self.approve, "" if wording.is_high(request) else "primary")
        mark(self.reject, "danger" if rejecting else "")
        self._texts[self.run] = self._run.text
        self.run.setAccessibleName(visible(self._run.text))
        for button in (self.approve, self.run):
            button.setVisible(waits and not rejecting)
        self.scope.setVisible(waits and not rejecting and bool(self._always))
        self.reject.setVisible(waits)
        self.back_button.setVisible(waits and rejecting)
        self.setVisible(waits)
        self._elide()

    def allow(self, text: str, tip: str, *, can_allow: bool, can_reject: bool, unsettled: float) -> None:
        """Enable what can be pressed now; approving is enabled after ``unsettled`` seconds."""
        self._texts[self.approve] = text
        self.approve.setAccessibleName(visible(text))
        self.approve.setToolTip(plain_tip(tip))
        self.unsettled = unsettled
        for button in (self.approve, self.run, self.scope):
            # A focused button keeps the focus: its presses are ignored meanwhile.
            button.setEnabled(can_allow and (unsettled <= 0 or button.hasFocus()))
        self.reject.setEnabled(can_reject)
        self._elide()

    def arrange(self, width: int) -> None:
        """Choose texts that fit into ``width`` pixels."""
        self._width = width
        self._elide()

    def scope_menu(self) -> QMenu:
        """The menu of rules: ``approval-scope-always``, ``-tool``, ``-section`` and ``-server``."""
        if self._menu is not None:
            self._menu.deleteLater()
        menu = self._menu = QMenu(self)
        for choice in self._always:
            entry = menu.addAction(visible(choice.text))
            entry.setObjectName(f"approval-scope-{choice.name}")
            entry.triggered.connect(lambda _on=False, choice=choice: self.allowed.emit(choice))
        return menu

    def _show_enter(self) -> None:
        """Show the sign of the Enter key, which rejects once the reason can be typed."""
        self.reject.setIcon(theme().icon("corner-down-left", "err", 14) if self._rejecting else QIcon())

    def _open_menu(self) -> None:
        menu = self.scope_menu()
        popup_from(self.scope, menu, self.scope.mapToGlobal(QPoint(0, self.scope.height() + 2)))

    def _elide(self) -> None:
        full = self._width - theme().px(PADDING)
        for button, text in self._texts.items():
            shown = visible(text)
            # What is allowed for how long stays readable: a row of its own, then two lines, then shortened lines.
            cut = _fitted(shown, button.fontMetrics(), full) if full > 0 else shown
            if button.text() != cut:
                button.setText(cut)
            if button is self.run:
                button.setToolTip(plain_tip(shown if cut != shown else _("Allow further calls too, not just this one")))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore keys until the card has been visible long enough."""
        return (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and self.unsettled > 0
            and _presses(event)
        )


def _fitted(text: str, metrics: QFontMetrics, width: int) -> str:
    """A text in one line of ``width`` pixels, or in two balanced ones, each shortened in the middle if needed."""
    lines = [text]
    words = text.split(" ")
    if metrics.horizontalAdvance(text) > width and len(words) > 1:
        halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
        lines = list(min(halves, key=lambda pair: max(map(metrics.horizontalAdvance, pair))))
    return "\n".join(metrics.elidedText(line, Qt.TextElideMode.ElideMiddle, width) for line in lines)


def _presses(event: QKeyEvent) -> bool:
    return bool(event.text()) and event.text() not in "\t\x1b"
