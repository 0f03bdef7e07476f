"""Base of the cards of one and of several approvals: height, focus ring, delay before deciding, deciding once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHideEvent,
    QMoveEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QFrame, QLayout, QScrollArea, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.questions.approval_controller import approval_controller
from atelier_desk.desktop.questions.approval_header import loosen
from atelier_desk.desktop.questions.scroll_content import ScrollContent
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import bind_text, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import made
from atelier_desk.desktop.widgets.tab_stops import tab_stops

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

MOST_HEIGHT = 460
"""Maximum height of a card, in logical pixels at 100 %; the part above the buttons scrolls."""
LEAST_CARD = 220
"""A card may always be this high, in logical pixels at 100 %: in a lower view the surroundings scroll."""
LEAST_BODY = 20
"""Minimum height of the scrolled part, in logical pixels at 100 %: in a low pane the buttons take precedence."""
LINES = 6
"""Lines of details below which the head scrolls with them, so that they have its room."""
LEAST_WIDTH = 120
"""Minimum width in pixels, regardless of text size: panes may be narrow."""
SIDE = 12
RING = 2.5
"""Width in pixels of the focus ring."""


class ApprovalFrame(QFrame):
    """A head, a scrolled part (``body``), an error and buttons.

    Subclasses fill ``head`` and ``details``, and add error and buttons to ``column``.

    ``fit(width)`` sets and returns the height for that width; in an ordinary layout the card does so when it is
    resized.

    Signals: ``height_changed`` when its height at the same width changes, ``unfolded`` after that if the user opened or
    closed a part of it, ``show_requested(workflow_id)`` when the user wants to see its workflow.
    """

    height_changed = Signal()
    unfolded = Signal()
    show_requested = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # not by click: a letter typed afterwards must not decide anything
        self.bridge, self.approvals = bridge, approval_controller(bridge)
        self._most: int | None = None
        self._busy = self._fitting = False
        self._since = self.approvals.monotonic()
        """Since when it stands where it does, with what it says."""
        self._where = ""
        self.column = vbox(self, margins=(SIDE, 10, SIDE, SIDE), spacing=6)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Never on demand: a scroll bar that comes and goes rewraps the text, and Qt resizes until the stack
        # overflows.
        self.area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body = ScrollContent(self)
        mark(self.body, "plain")
        self.area.setWidget(self.body)
        self.body.relaid.connect(self.refit)
        self.head = self._make_head()
        self.details = vbox(None, spacing=8)
        self._scrolled = vbox(self.body, self.details, spacing=self.column.spacing())
        self.column.addWidget(self.head)
        self.column.addWidget(self.area, 1)
        self._error = label("", "error", self, wrap=True)
        self._error.hide()
        loosen(self._error)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._check)
        self.approvals.changed.connect(self._check)

    def _make_head(self) -> QWidget:
        """Create the head: what is requested."""
        raise NotImplementedError

    def _check(self, *_args: object) -> None:
        """Enable or disable the buttons."""
        raise NotImplementedError

    def _show(self) -> None:
        """Show the current state."""
        raise NotImplementedError

    def _arrange(self, width: int) -> None:
        """Lay out the content for this width."""
        raise NotImplementedError

    def default_limit(self) -> int:
        """The default maximum height, in pixels."""
        return theme().px(MOST_HEIGHT)

    def set_where(self, workflow: str) -> None:
        """Set the workflow's name, shown if the card is outside its workflow; empty for none."""
        self._where = workflow
        self._show()

    def limit_height(self, pixels: int | None) -> None:
        """Set the maximum height, for example that of the view; None for the default."""
        if pixels != self._most:
            self._most = pixels
            self.refit()

    def fit(self, width: int) -> int:
        """Set the height for ``width``, within the maximum; the buttons are always visible."""
        self._fitting = True
        bar = self.area.verticalScrollBar()
        scrolled = bar.value()  # measuring makes the area as high as its content, which scrolls it to the top
        edges = self.column.contentsMargins()
        inner = width - edges.left() - edges.right() - 2
        self._arrange(inner)
        total, needed = self._measure(width, inner)
        most = self.default_limit() if self._most is None else max(self._most, theme().px(LEAST_CARD))
        over = total - most
        details = self._height(self.details, inner)
        room = most - (total - details)
        scrolls = over > 0 and room < min(details, LINES * self.fontMetrics().lineSpacing())
        if scrolls != (self.head.parentWidget() is self.body):
            (self._scrolled if scrolls else self.column).insertWidget(0, self.head)
            total, needed = self._measure(width, inner)
            over = total - most
        if over > 0:
            shown = max(min(needed, theme().px(LEAST_BODY)), needed - over)
            total -= needed - shown
            self.area.setFixedHeight(shown)
            bar.setValue(scrolled)
        self.area.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAlwaysOn if over > 0 else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )
        self._fitting = False
        if total != self.minimumHeight() or total != self.maximumHeight():
            self.setFixedHeight(total)
        return total

    def _measure(self, width: int, inner: int) -> tuple[int, int]:
        """The heights of the whole card and of its scrolled part if nothing is cut."""
        needed = self._height(self._scrolled, inner)
        self.area.setFixedHeight(needed)
        for index in range(self.column.count()):
            # Arranged for another width, a part keeps its height for this one until Qt lays it out again.
            if (item := self.column.itemAt(index)) is not None and (part := item.widget()) is not None:
                part.updateGeometry()
        self.column.invalidate()
        total = (
            self.column.totalHeightForWidth(width)
            if self.column.hasHeightForWidth()
            else self.column.totalSizeHint().height()
        )
        return total, needed

    @staticmethod
    def _height(content: QLayout, width: int) -> int:
        return max(content.heightForWidth(width), content.minimumHeightForWidth(width))

    def refit(self) -> None:
        """Fit after the layouts have settled."""
        if not self._fitting:
            QTimer.singleShot(0, self, self._fit_again)

    def moved(self) -> None:
        """Its buttons moved or changed their text: ignore presses at this moment."""
        self._since = self.approvals.monotonic()
        self._check()

    def unsettled(self) -> float:
        """Seconds until approving is possible; checked again then."""
        left = self.approvals.unsettled(self._since)
        if left:
            self._settle.start(int(left * 1000) + 1)
        return left

    def take_focus(self) -> None:
        """Focus the card itself, from where Tab leads to its parts."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def stops(self) -> list[QWidget]:
        """The card and its focusable children, in tab order."""
        return [self, *tab_stops(self)]

    def show_error(self, text: str) -> None:
        """Show an error of the engine; input is preserved."""
        bind_text(self._error, made(text))
        self._error.setVisible(bool(text))
        self.refit()

    def _send(self, work: Coroutine[object, None, None], *key: str) -> None:
        """Send a decision; meanwhile the card is disabled, so it cannot be sent twice."""
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
                if problem and had_keyboard:  # its buttons were disabled meanwhile and lost the focus
                    self.take_focus()
            elif problem:
                self.approvals.notice.emit(problem)

        self.show_error("")
        self._set_busy(True)
        # The card may be deleted when the decision is known, and must not cancel it.
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
        """A small minimum: with little width, rows become columns."""
        return QSize(LEAST_WIDTH, theme().px(LEAST_BODY))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the border, or the focus ring while the card itself has the focus."""
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
