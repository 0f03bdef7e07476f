"""What in a widget takes the keyboard, in the order in which it is read."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget


def tab_stops(within: QWidget) -> list[QWidget]:
    """The widgets inside ``within`` that Tab stops at, hidden ones too, from top to bottom and from left to right.

    Never ask ``nextInFocusChain`` or ``previousInFocusChain`` for it: the binding makes what they return a child of what was asked, the
    main window too. When a card goes, all that Qt itself made in the window (scroll bars, tab bars, menus, actions) then counts as deleted.
    """
    found = [each for each in within.findChildren(QWidget) if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return sorted(found, key=lambda each: each.mapTo(within, QPoint()).toTuple()[::-1])
