"""The main window as its helpers see it: its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStackedWidget

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.panel import ChatPanel
    from atelier_desk.desktop.main_window.action_registry import ActionRegistry
    from atelier_desk.desktop.panes.pane_docks import Rail
    from atelier_desk.desktop.sidebar.sidebar import Sidebar
    from atelier_desk.desktop.widgets import ToastHost
    from atelier_desk.domain.setting_subscribers import SettingSubscribers


class WindowParts(QMainWindow):
    """Base of ``MainWindow``, which creates the parts. Helpers take this type, so they need not import the window.

    Attributes:
        pages: ``middle``, or the page shown in its place while the engine is not open.
        middle: the chat, or a replay.
        presenter: None until the first paint is over.
        settings: parts of the window subscribe here to settings.
    """

    bridge: Bridge
    toasts: ToastHost
    sidebar: Sidebar
    chat: ChatPanel
    rail: Rail
    pages: QStackedWidget
    middle: QStackedWidget
    actions_: ActionRegistry
    presenter: Any
    settings: SettingSubscribers

    def watched_outside(self, workflow_id: str) -> bool:
        """Whether this workflow's answer is visible in the quick ask window."""
        raise NotImplementedError

    def raise_up(self) -> None:
        """Bring the window to the front, even if minimized or hidden."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
