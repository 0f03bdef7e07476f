"""What the panes of the right rail share: a heading with its buttons, jobs, short messages and undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpacerItem, QVBoxLayout, QWidget

from atelier_desk.desktop.jobs import Jobs
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, Toast, ToastHost, Translated, control, fill, label
from atelier_desk.domain.stream.event import StreamEvent, Topic

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

RELOAD_MS = 120
"""Changes that come close together make one reload."""


def toast(widget: QWidget, text: str, action: str = "", on_action: Callable[[], object] | None = None) -> Toast:
    """A short message over the widget's window."""
    return _host(widget).show(text, action, on_action)


def offer_undo(widget: QWidget, text: str, undo: Callable[[], object]) -> Toast:
    """Say over the widget's window that something was deleted; its button and the undo key bring it back."""
    return _host(widget).offer_undo(text, undo)


def _host(widget: QWidget) -> ToastHost:
    """One a window, shared by everything in it."""
    window = widget.window()
    host = getattr(window, "toasts", None)
    if not isinstance(host, ToastHost):
        host = ToastHost(window)
        window.toasts = host  # type: ignore[attr-defined]
        QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), window, host.undo.undo)
    return host


class Pane(Translated, QWidget):
    """Base of the panes. ``set_workflow`` and ``on_stream`` are called by the window; ``topics`` are the changes that reload it.

    A pane shows nothing of another workflow: ``workflow_id`` is empty until the first ``set_workflow``.
    """

    topics: tuple[Topic, ...] = ()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        self.workflow_id = ""
        self.jobs = Jobs(self, self.show_error)
        self._reload_timer = Soon(self, RELOAD_MS, self.reload)
        bridge.changed.connect(self._on_changed)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.column = fill(QVBoxLayout(self), margins=(12, 12, 12, 12), spacing=8)
        self.heading = label("", "heading", self)
        self.tools = QHBoxLayout()
        self.tools.setSpacing(0)
        top = fill(QHBoxLayout(), (self.heading, 1), self.tools, spacing=0)
        self._strut = QSpacerItem(0, 0)
        top.addItem(self._strut)
        self._top = top
        self.column.addLayout(top)
        theme().changed.connect(self._size_heading)
        self._size_heading()

    # what subclasses fill in ------------------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read everything again; called when the workflow or one of ``topics`` changed."""
        raise NotImplementedError

    def on_stream(self, event: StreamEvent) -> None:
        """An event of any workflow; most panes only care for a few of their own workflow."""

    def set_workflow(self, workflow_id: str) -> None:
        """Show this workflow; empty shows none."""
        if workflow_id != self.workflow_id:
            self.workflow_id = workflow_id
            self.reload()

    # helpers ----------------------------------------------------------------------------------------------------------------------

    def reload_soon(self) -> None:
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

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic in self.topics and self.workflow_id:
            self.reload_soon()
