"""What the card of one approval and that of several share: height, ring of the keyboard, how long they stand, deciding once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFocusEvent, QHideEvent, QMoveEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QVBoxLayout, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.questions.approval_controller import approval_controller
from atelier_desk.desktop.questions.approval_header import loosen
from atelier_desk.desktop.questions.body import Body
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind_text, fill, label
from atelier_desk.desktop.widgets.bindings import made
from atelier_desk.desktop.widgets.tab_stops import tab_stops

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


class ApprovalFrame(QFrame):
    """A head, what is scrolled (``body``), an error and buttons, which a subclass puts into ``column``.

    ``fit(width)`` gives it the height it wants at that width and returns it; one in an ordinary layout fits itself when it is resized.

    Signals: ``height_changed`` when it wants another height at the same width, ``show_requested(workflow_id)`` when the person wants to see
    the conversation it belongs to.
    """

    height_changed = Signal()
    show_requested = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # no click: a letter typed after it must not decide anything
        self.bridge, self.approvals = bridge, approval_controller(bridge)
        self._most: int | None = None
        self._busy = self._fitting = False
        self._since = self.approvals.monotonic()
        """Since when it stands where it does, with what it says."""
        self._where = ""
        self.column = fill(QVBoxLayout(self), margins=(SIDE, 10, SIDE, SIDE), spacing=6)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Never as needed: a bar that comes and goes wraps the text anew each time, and Qt resizes without end, until the stack is full.
        self.area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body = Body(self)
        mark(self.body, "plain")
        self.area.setWidget(self.body)
        self.body.relaid.connect(self.refit)
        self._error = label("", "error", self, wrap=True)
        self._error.hide()
        loosen(self._error)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._check)
        self.approvals.changed.connect(self._check)

    def _check(self, *_args: object) -> None:
        """What can be pressed now."""
        raise NotImplementedError

    def _show(self) -> None:
        """Say all of it as it is now."""
        raise NotImplementedError

    def _arrange(self, width: int) -> None:
        """Lay out what is inside for this width."""
        raise NotImplementedError

    def _tallest(self) -> int:
        """The usual limit, in logical pixels at 100 %."""
        return MOST_HEIGHT

    def set_where(self, workflow: str) -> None:
        """The workflow's name, shown where the card does not stand in its conversation; empty shows none."""
        self._where = workflow
        self._show()

    def limit_height(self, pixels: int | None) -> None:
        """The tallest it may get, for example what its view has; None takes the usual."""
        if pixels != self._most:
            self._most = pixels
            self.refit()

    def fit(self, width: int) -> int:
        """Take the height the content wants at ``width``, no more than allowed; the buttons always stay in view."""
        self._fitting = True
        edges = self.column.contentsMargins()
        inner = width - edges.left() - edges.right() - 2
        self._arrange(inner)
        content = self.body.layout()
        wanted = max(content.heightForWidth(inner), content.minimumHeightForWidth(inner)) if content is not None else 0
        self.area.setFixedHeight(wanted)
        self.column.invalidate()
        total = self.column.totalHeightForWidth(width) if self.column.hasHeightForWidth() else self.column.totalSizeHint().height()
        over = total - (self._most if self._most is not None else theme().px(self._tallest()))
        if over > 0:
            shown = max(min(wanted, theme().px(LEAST_BODY)), wanted - over)
            total -= wanted - shown
            self.area.setFixedHeight(shown)
        self.area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn if over > 0 else Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fitting = False
        if total != self.minimumHeight() or total != self.maximumHeight():
            self.setFixedHeight(total)
        return total

    def refit(self) -> None:
        """Fit once the layouts have settled."""
        if not self._fitting:
            QTimer.singleShot(0, self, self._fit_again)

    def moved(self) -> None:
        """Its buttons stand elsewhere, or say something else: what is pressed at this moment was not meant for them."""
        self._since = self.approvals.monotonic()
        self._check()

    def unsettled(self) -> float:
        """Seconds until a yes is taken; it is looked at again then."""
        left = self.approvals.unsettled(self._since)
        if left:
            self._settle.start(int(left * 1000) + 1)
        return left

    def take_focus(self) -> None:
        """The keyboard is led here: the card itself has it, and its parts follow with Tab."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def stops(self) -> list[QWidget]:
        """The card and what in it takes the keyboard, in the order of Tab."""
        return [self, *tab_stops(self)]

    def show_error(self, text: str) -> None:
        """The engine refused or failed: say so in place; everything entered stays."""
        bind_text(self._error, made(text))
        self._error.setVisible(bool(text))
        self.refit()

    def _send(self, work: Coroutine[object, None, None], *key: str) -> None:
        """Have a decision taken; meanwhile nothing can be changed or sent twice."""
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
                    self.take_focus()
            elif problem:
                self.approvals.notice.emit(problem)

        self.show_error("")
        self._set_busy(True)
        # The card may go as soon as the decision is known, and must not take it along.
        if self.approvals.jobs.once(("decide", *key), job) is None:
            work.close()
            self._set_busy(False)

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self.body.setEnabled(not busy)
        self._check()

    def _fit_again(self) -> None:
        before = self.height()
        if self.width() > 0 and self.fit(self.width()) != before:
            self.height_changed.emit()

    def minimumSizeHint(self) -> QSize:
        """Whatever it holds, it may get narrow: its rows become columns then."""
        return QSize(LEAST_WIDTH, theme().px(LEAST_BODY))

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

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self.moved()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.refit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.moved()
        self.refit()
        QTimer.singleShot(0, self, self.approvals.update_visibility)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.approvals.update_visibility()
