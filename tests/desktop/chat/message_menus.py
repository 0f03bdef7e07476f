"""Menus of messages."""

from __future__ import annotations

from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu

from atelier_desk.desktop.chat.transcript.message_base import MessageWidget
from tests.desktop.chat.panel_harness import PanelHarness


def widget(harness: PanelHarness, index: int) -> MessageWidget:
    found = harness.panel.view.widget_of(harness.panel.view.entries[index])
    assert isinstance(found, MessageWidget)
    return found


def menu_of(harness: PanelHarness, index: int) -> QMenu:
    """The menu as opened by the Menu key."""
    target = widget(harness, index)
    target.setFocus()
    center = target.rect().center()
    QApplication.sendEvent(
        target, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, center, target.mapToGlobal(center))
    )
    found = [menu for menu in target.findChildren(QMenu, "message-menu") if menu.isVisible()]
    assert len(found) == 1
    return found[0]
