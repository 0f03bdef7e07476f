"""The focusable widgets of a container in reading order."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6 import QtWidgets
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QToolButton, QWidget


def tab_stops(within: QWidget) -> list[QWidget]:
    """The tab stops inside ``within``, including hidden ones, from top to bottom and left to right.

    Never use ``nextInFocusChain`` or ``previousInFocusChain`` for this: PySide6 makes their result a child of the
    receiver, even the main window. When a card is deleted, everything created by Qt in the window (scroll bars, tab
    bars, menus, actions) then counts as deleted.
    """
    found = [each for each in within.findChildren(QWidget) if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return sorted(found, key=lambda each: each.mapTo(within, QPoint()).toTuple()[::-1])


def chain(before: QWidget, stops: Iterable[QWidget]) -> None:
    """Set the tab order: ``before``, then these, in order."""
    for stop in stops:
        QWidget.setTabOrder(before, stop)
        before = stop


def entrance(part: QWidget) -> QWidget:
    """The widget to focus in a part of the window: its main list, else its first field or button, else the part itself.

    Never a button with only an icon: those in the heading of a pane detach or hide it, or revoke its folders.
    """
    if part.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return part
    usable = [each for each in part.findChildren(QWidget) if each.isVisible() and each.isEnabled()]
    stops = [
        each for each in usable if each.focusPolicy() & Qt.FocusPolicy.TabFocus and not isinstance(each, QToolButton)
    ]
    return next((each for each in stops if isinstance(each, QtWidgets.QAbstractItemView)), stops[0] if stops else part)
