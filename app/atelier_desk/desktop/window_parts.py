"""The main window as its helpers know it: the parts it is made of, whoever makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStackedWidget

    from atelier_desk.desktop.actions import ActionRegistry
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.panel import ChatPanel
    from atelier_desk.desktop.rail import Rail
    from atelier_desk.desktop.sidebar.sidebar import Sidebar
    from atelier_desk.desktop.widgets import ToastHost
    from atelier_desk.domain.setting_subscribers import SettingSubscribers


class WindowParts(QMainWindow):
    """Base of ``MainWindow``, which makes the parts. What is handed the window takes this, so that it need not import the window.

    Attributes:
        pages: ``middle``, or what stands in its place while the engine is not open.
        middle: the conversation, or a replay.
        presenter: None until the first paint is over.
        settings: parts of the window that follow a setting subscribe to it there.
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
        """Whether a person looks at this workflow's answer in the window of quick ask."""
        raise NotImplementedError

    def raise_up(self) -> None:
        """Bring the window to the front, whatever covers it or however it was put away."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
