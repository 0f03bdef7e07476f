"""What in a widget takes the keyboard, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractItemView, QWidget


def tab_stops(within: QWidget) -> list[QWidget]:
    """The widgets inside ``within`` that Tab stops at, hidden ones too, from top to bottom and from left to right.

    Never ask ``nextInFocusChain`` or ``previousInFocusChain`` for it: the binding makes what they return a child of what was asked, the
    main window too. When a card goes, all that Qt itself made in the window (scroll bars, tab bars, menus, actions) then counts as deleted.
    """
    found = [each for each in within.findChildren(QWidget) if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return sorted(found, key=lambda each: each.mapTo(within, QPoint()).toTuple()[::-1])


def chain(before: QWidget, stops: Iterable[QWidget]) -> None:
    """Let Tab go from ``before`` through these, in this order."""
    for stop in stops:
        QWidget.setTabOrder(before, stop)
        before = stop


def entrance(part: QWidget) -> QWidget:
    """What takes the keyboard in a part of the window that takes none itself: the list it is about, else its first control."""
    if part.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return part
    usable = [each for each in part.findChildren(QWidget) if each.isVisible() and each.isEnabled()]
    stops = [each for each in usable if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return next((each for each in stops if isinstance(each, QAbstractItemView)), stops[0] if stops else part)
