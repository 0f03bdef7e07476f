"""Connects the window with the desktop: notifications, tray icon, global shortcut for quick ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.system.dbus_session import SessionBus
from atelier_desk.desktop.system.global_shortcut import GlobalShortcut, ways
from atelier_desk.desktop.system.linux_notifications import DesktopNotifications

if TYPE_CHECKING:
    from atelier_desk.desktop.main_window.window_actions import WindowActions


class SystemLink(QObject):
    """One per window; it follows the settings."""

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
        """Query again a desktop whose notifications were not reachable."""
        if not self.notifications.there:
            self.notifications.start()

    def stop(self) -> None:
        """The window closes: release the shortcut and withdraw notifications."""
        self.shortcut.release()
        self.notifications.stop()
        self.bus.close()


def system_link(widget: QWidget) -> SystemLink | None:
    """The link of the window that a widget belongs to, or of the window it was opened from."""
    above: QWidget | None = widget
    while above is not None:
        found = above.findChild(SystemLink, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if isinstance(found, SystemLink):
            return found
        above = above.parentWidget()
    return None
