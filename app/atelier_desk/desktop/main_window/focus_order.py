"""Focus order of Tab and F6 in the main window: visible widgets in reading order."""

from __future__ import annotations

from collections.abc import Callable

from PySide6 import QtWidgets  # for QTabBar: importing it makes its class before the first paint
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

from atelier_desk.desktop.main_window.window_interface import WindowParts
from atelier_desk.desktop.widgets.tab_stops import entrance

MOST = 200
"""Maximum steps through invisible widgets before the search ends: more than all panes behind tabs have."""


def step(window: WindowParts, onward: Callable[[], bool]) -> bool:
    """Move the keyboard focus to the next or previous stop.

    Qt's own order is that of creation and treats panes behind tabs as visible: messages, created while scrolling,
    came last and in random order, and the focus got lost in hidden panes.

    Args:
        onward: one step in Qt's order; returns False when there is none.
    """
    getattr(window.middle.currentWidget(), "order_stops", window.chat.order_stops)()  # a replay has messages of its own
    behind = [dock for dock in window.rail.docks.values() if not dock.isHidden() and dock.visibleRegion().isEmpty()]
    for _step in range(MOST):
        if not onward():
            return False
        if not _unseen(QApplication.focusWidget(), behind):
            break
    return True


def move_focus(window: WindowParts, by: int) -> None:
    """Focus the next (1) or previous (-1) part of the window: list, chat, composer, each visible pane."""
    panes = [pane for pane in window.rail.panes.values() if not pane.visibleRegion().isEmpty()]
    middle = window.middle.currentWidget()
    talk = [window.chat.view, window.chat.composer.field] if middle is window.chat else [middle]
    parts: list[QWidget] = [part for part in (window.sidebar.list, *talk, *panes) if part.isVisible()]
    focus = QApplication.focusWidget()
    at = next(
        (
            number
            for number, part in enumerate(parts)
            if focus is not None and (part is focus or part.isAncestorOf(focus))
        ),
        -1,
    )
    if at < 0:  # outside the parts: in the header or over the list
        at = 0 if focus is not None and window.sidebar.isAncestorOf(focus) else len(talk)
    entrance(parts[(at + by) % len(parts)]).setFocus(Qt.FocusReason.TabFocusReason)


def _unseen(widget: QWidget | None, behind: list[QDockWidget]) -> bool:
    """Whether a widget is in a pane behind a tab, or is one of the empty tab bars that Qt reuses."""
    if isinstance(widget, QtWidgets.QTabBar) and not widget.count():
        return True
    return widget is not None and any(dock.isAncestorOf(widget) for dock in behind)
