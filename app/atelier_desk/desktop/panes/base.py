"""What the panes of the right rail share: a heading with its buttons, jobs, short messages and undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpacerItem, QVBoxLayout, QWidget

from atelier_desk.desktop.debouncer import Debouncer
from atelier_desk.desktop.jobs import Jobs
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, EmptyState, IconButton, Toast, ToastHost, bind, bind_text, control, fill, label
from atelier_desk.desktop.widgets.hover_gate import HoverGate
from atelier_desk.domain.stream.event import StreamEvent, Topic

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

LEAST = (180, 90)
"""Smallest a pane may be made, in pixels: three stacked ones must fit a small screen."""
_NO_LIMIT = 16_777_215
"""The largest height of a widget, Qt's QWIDGETSIZE_MAX."""
RELOAD_MS = 120
"""Changes that come close together make one reload."""


def toast(widget: QWidget, text: str, action: str = "", on_action: Callable[[], object] | None = None) -> Toast:
    """A short message over the widget's window."""
    return toasts_of(widget).show(text, action, on_action)


def offer_undo(widget: QWidget, text: str, undo: Callable[[], object]) -> Toast:
    """Say over the widget's window that something was deleted; its button and the undo key bring it back."""
    return toasts_of(widget).offer_undo(text, undo)


def toasts_of(widget: QWidget) -> ToastHost:
    """One a window, shared by everything in it."""
    window = widget.window()
    host = getattr(window, "toasts", None)
    if not isinstance(host, ToastHost):
        host = ToastHost(window)
        window.toasts = host  # type: ignore[attr-defined]
        QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), window, host.undo.undo)
    return host


class Pane(QWidget):
    """Base of the panes. ``set_workflow`` and ``on_stream`` are called by the window; ``topics`` are the changes that reload it.

    A pane shows nothing of another workflow: ``workflow_id`` is empty until the first ``set_workflow``.

    Attributes:
        column: what stands below the heading.

    Signals:
        filled: something came into an empty pane, or the last went.
        counted: how many things are in it now.
        waiting: how many things in it wait for the person now.
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
        self.frame = fill(QVBoxLayout(self), margins=(12, 12, 12, 12), spacing=8)
        self.heading = label("", "heading", self)
        self.why = control(ElidedLabel("", self), "pane-why", look="small")
        self.why.setContentsMargins(12, 0, 0, 0)
        self.tools = QHBoxLayout()
        self.tools.setSpacing(0)
        top = fill(QHBoxLayout(), self.heading, (self.why, 1), self.tools, spacing=0)
        self._strut = QSpacerItem(0, 0)
        top.addItem(self._strut)
        self._top = top
        self._body = QWidget(self)
        self.column = fill(QVBoxLayout(self._body), margins=(0, 0, 0, 0), spacing=8)
        self.frame.addLayout(top)
        self.frame.addWidget(self._body, 1)
        self._empty: EmptyState | None = None
        self._folds = False
        bind(self._size_heading)

    def reload(self) -> None:
        """Read everything again; called when the workflow or one of ``topics`` changed."""
        raise NotImplementedError

    def on_stream(self, event: StreamEvent) -> None:
        """An event of any workflow; most panes only care for a few of their own workflow."""

    def set_workflow(self, workflow_id: str) -> None:
        """Show this workflow; empty shows none."""
        if workflow_id != self.workflow_id:
            self.workflow_id = workflow_id
            self.open_gates()
            self.reload()
        if not workflow_id:
            self.was_read()  # of no workflow there is nothing to read

    def open_gates(self) -> None:
        """Another workflow is shown at once, wherever the pointer is."""
        for gate in self.findChildren(HoverGate):
            gate.own()

    def wait_with(self, empty: EmptyState) -> None:
        """``empty`` says that the pane is being read until ``was_read``."""
        self._empty = empty
        empty.wait(True)

    def was_read(self) -> None:
        """What the pane shows is what there is, for the first time or again."""
        if self._empty is not None:
            self._empty.wait(False)

    def fold_when(self, empty: EmptyState) -> None:
        """While ``empty`` is what the pane shows it has nothing to show, and can be folded."""
        self._folds = True
        self.wait_with(empty)
        empty.installEventFilter(self)
        empty.text_changed.connect(self._update_reason)

    @property
    def vacant(self) -> bool:
        """There is nothing to show."""
        return self._folds and self._empty is not None and not self._empty.isHidden()

    @property
    def notable(self) -> bool:
        """There is something for which a closed rail opens."""
        return not self.vacant

    @property
    def folded(self) -> bool:
        return self._body.isHidden()

    def set_folded(self, on: bool) -> None:
        """Leave the heading alone and say in it why there is nothing, or show everything."""
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
        """Reload a moment from now, once for many calls."""
        self._reload_timer.ask()

    def add_tool(self, icon: str, action: Callable[[], object]) -> IconButton:
        """A small button beside the heading."""
        button = control(IconButton(icon, parent=self), on=lambda: action())
        self.tools.addWidget(button)
        return button

    def add_key(self, key: str | QKeySequence.StandardKey, action: Callable[[], object], widget: QWidget | None = None) -> None:
        """A key that works while ``widget`` (the pane, by default) or something in it has the keyboard."""
        shortcut = QShortcut(QKeySequence(key), widget or self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(lambda: action())

    def show_error(self, text: str) -> None:
        toast(self, text)

    def _size_heading(self) -> None:
        """As high as the buttons beside it, also while there are none.

        Not by the label's least height: a label keeps an earlier one in its size hint when the text becomes smaller.
        """
        self._strut.changeSize(0, theme().px(28), QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._top.invalidate()
        if self.folded:
            self._limit()

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic in self.topics and self.workflow_id:
            self.schedule_reload()
