"""Base of the panes: heading with buttons, jobs, toasts and undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpacerItem, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    EmptyState,
    IconButton,
    Toast,
    ToastHost,
    bind,
    bind_text,
    control,
    hbox,
    label,
    vbox,
)
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.hover_freeze import HoverGate
from atelier_desk.desktop.widgets.tab_stops import entrance
from atelier_desk.domain.stream.event import StreamEvent, Topic

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

LEAST = (180, 90)
"""Minimum size of a pane in pixels: three stacked ones must fit a small screen."""
_NO_LIMIT = 16_777_215
"""Qt's QWIDGETSIZE_MAX: no limit of the height."""
RELOAD_MS = 120
"""Milliseconds; changes within this time cause a single reload."""


def toast(widget: QWidget, text: str, action: str = "", on_action: Callable[[], object] | None = None) -> Toast:
    """Show a toast over the widget's window."""
    return toasts_of(widget).show(text, action, on_action)


def offer_undo(widget: QWidget, text: str, undo: Callable[[], object]) -> Toast:
    """Announce a deletion over the widget's window; its button and the undo shortcut restore the item."""
    return toasts_of(widget).offer_undo(text, undo)


def toasts_of(widget: QWidget) -> ToastHost:
    """The toasts of a widget's window, shared by all its widgets."""
    window = widget.window()
    host = getattr(window, "toasts", None)
    if not isinstance(host, ToastHost):
        host = ToastHost(window)
        window.toasts = host  # type: ignore[attr-defined]
        QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), window, host.undo.undo)
    return host


class Pane(QWidget):
    """Base of the panes. The window calls ``set_workflow`` and ``on_stream``; changes of ``topics`` reload it.

    A pane shows nothing before the first ``set_workflow``: ``workflow_id`` is empty until then.

    Attributes:
        column: the layout below the heading.

    Signals:
        filled: an empty pane got content, or lost its last item.
        counted: the number of items in it.
        waiting: the number of items waiting for the user.
    """

    topics: tuple[Topic, ...] = ()
    filled = Signal()
    counted = Signal(int)
    waiting = Signal(int)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        self.workflow_id = ""
        self.jobs = Jobs(self, self.show_error)
        self._reload_timer = Debouncer(self, RELOAD_MS, self.reload)
        bridge.changed.connect(self._on_changed)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.frame = vbox(self, margins=(12, 12, 12, 12), spacing=8)
        self.heading = label("", "heading", self)
        self.why = control(ElidedLabel("", self), "pane-why", look="small")
        self.why.setContentsMargins(12, 0, 0, 0)
        self.tools = QHBoxLayout()
        self.tools.setSpacing(0)
        top = hbox(None, self.heading, (self.why, 1), self.tools, spacing=0)
        self._strut = QSpacerItem(0, 0)
        top.addItem(self._strut)
        self._top = top
        self._body = QWidget(self)
        self.column = vbox(self._body, spacing=8)
        self.frame.addLayout(top)
        self.frame.addWidget(self._body, 1)
        self._empty: EmptyState | None = None
        self._folds = False
        bind(self._size_heading)

    def reload(self) -> None:
        """Load everything; called when the workflow or one of ``topics`` changed."""
        raise NotImplementedError

    def on_stream(self, event: StreamEvent) -> None:
        """Handle an event of its workflow; most panes use only a few."""

    def set_workflow(self, workflow_id: str) -> None:
        """Show this workflow; empty for none."""
        if workflow_id != self.workflow_id:
            self.workflow_id = workflow_id
            self.open_gates()
            self.reload()
        if not workflow_id:
            self.was_read()  # without a workflow there is nothing to load

    def open_gates(self) -> None:
        """Show another workflow at once, even under the pointer."""
        for gate in self.findChildren(HoverGate):
            gate.own()

    def wait_with(self, empty: EmptyState) -> None:
        """Show ``empty`` as loading until ``was_read``."""
        self._empty = empty
        empty.wait(True)

    def was_read(self) -> None:
        """The content was loaded, for the first time or again."""
        if self._empty is not None:
            self._empty.wait(False)
        QTimer.singleShot(0, self, self._focus_content)  # once it is shown

    def _focus_content(self) -> None:
        """Focus what arrived after the pane had been opened, unless a person has gone on."""
        if self.hasFocus():
            entrance(self).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def fold_when(self, empty: EmptyState) -> None:
        """Let the pane fold while it shows ``empty``."""
        self._folds = True
        self.wait_with(empty)
        empty.installEventFilter(self)
        empty.text_changed.connect(self._update_reason)

    @property
    def vacant(self) -> bool:
        """Whether the pane has nothing to show."""
        return self._folds and self._empty is not None and not self._empty.isHidden()

    @property
    def notable(self) -> bool:
        """Whether its content opens a closed column."""
        return not self.vacant

    @property
    def folded(self) -> bool:
        return self._body.isHidden()

    def set_folded(self, on: bool) -> None:
        """Show only the heading with the reason why the pane is empty, or everything."""
        self._body.setVisible(not on)
        self.frame.setContentsMargins(12, 12, 12, 4 if on else 12)
        self._update_reason()
        self._limit()

    def _limit(self) -> None:
        self.setMinimumSize(LEAST[0], 0 if self.folded else LEAST[1])
        self.setMaximumHeight(self.frame.sizeHint().height() if self.folded else _NO_LIMIT)

    def _update_reason(self) -> None:
        bind_text(self.why, lambda: self._empty.title if self.folded and self._empty is not None else "")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._empty and event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.filled.emit()
        return super().eventFilter(watched, event)

    def schedule_reload(self) -> None:
        """Reload after ``RELOAD_MS``, once for many calls."""
        self._reload_timer.ask()

    def add_tool(self, icon: str, action: Callable[[], object]) -> IconButton:
        """Add a small button beside the heading."""
        button = control(IconButton(icon, parent=self), on=lambda: action())
        self.tools.addWidget(button)
        return button

    def add_key(
        self, key: str | QKeySequence.StandardKey, action: Callable[[], object], widget: QWidget | None = None
    ) -> None:
        """Add a shortcut that works while ``widget`` (default: the pane) or a child has the focus."""
        shortcut = QShortcut(QKeySequence(key), widget or self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(lambda: action())

    def show_error(self, text: str) -> None:
        toast(self, text)

    def _size_heading(self) -> None:
        """Give the heading the height of its buttons, even when there are none.

        Not through the label's minimum height, which would remain in its size hint when the text shrinks.
        """
        self._strut.changeSize(0, theme().px(28), QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._top.invalidate()
        if self.folded:
            self._limit()

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic in self.topics and self.workflow_id:
            self.schedule_reload()
