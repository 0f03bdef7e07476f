"""Joins the window to the desktop around it: notifications, the icon of the notification area, the key for quick ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.system.bus import SessionBus
from atelier_desk.desktop.system.notifications import DesktopNotifications
from atelier_desk.desktop.system.shortcut import GlobalShortcut, ways

if TYPE_CHECKING:
    from atelier_desk.desktop.window_actions import WindowActions


class SystemLink(QObject):
    """One a window; it follows the settings."""

    def __init__(self, window: WindowActions) -> None:
        super().__init__(window)
        self._window = window
        self.bus = SessionBus()
        self.notifications = DesktopNotifications(self.bus, self)
        self.shortcut = GlobalShortcut(ways(self.bus), self)
        self.shortcut.pressed.connect(window.quick_ask)
        window.presenter.use_notifier(self.notifications)
        window.closing.connect(self.stop)
        follow = window.settings.subscribe
        follow(window.presenter.set_notifications, "notifications", "remind_minutes", "notification_answers")
        follow(window.show_tray, "tray")
        follow(lambda on, keys: self.shortcut.follow(on, keys), "quick_key_on", "quick_key")
        follow(self._find_notifications, "notifications", "notification_answers")

    def _find_notifications(self, *_wanted: bool) -> None:
        """A desktop whose notifications could not be reached is asked again."""
        if not self.notifications.there:
            self.notifications.start()

    def stop(self) -> None:
        """The window closes: no key is held and no notification asks any more."""
        self.shortcut.release()
        self.notifications.stop()
        self.bus.close()


def system_link(widget: QWidget) -> SystemLink | None:
    """The link of the window that a widget, or a window above which it was opened, belongs to."""
    above: QWidget | None = widget
    while above is not None:
        found = above.findChild(SystemLink, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if isinstance(found, SystemLink):
            return found
        above = above.parentWidget()
    return None
