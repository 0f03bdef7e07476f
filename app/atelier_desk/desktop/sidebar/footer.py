"""The foot of the left column: settings, palette, menu, and whether the engine answers."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, bind, control, fill, label, say, tint
from atelier_desk.support.i18n import N_, _

Connection = Literal["opening", "ready", "failed", "moved", "closing"]
STATES: dict[Connection, str] = {
    "opening": N_("Opening…"),
    "ready": N_("Ready"),
    "failed": N_("Not open"),
    "moved": N_("Moved"),
    "closing": N_("Closing…"),
}


class SidebarFoot(QWidget):
    """Two lines of quiet controls.

    Signals:
        settings_wanted, palette_wanted, menu_wanted: the buttons.
    """

    settings_wanted = Signal()
    palette_wanted = Signal()
    menu_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state: Connection = "opening"
        self._working = False
        self.settings = control(QPushButton(self), "open-settings", look="quiet")
        self._palette_keys = "Ctrl+K"
        self.palette_button = control(QPushButton(self._palette_keys, self), "open-palette", look="quiet")
        self.menu = control(IconButton("ellipsis", parent=self), "main-menu")
        self._dot = QLabel(self)
        self._words = control(label("", "small", self), "connection-state")
        first = fill(QHBoxLayout(), self.settings, 1, self.palette_button, self.menu, spacing=2)
        second = fill(QHBoxLayout(), self._dot, self._words, 1, margins=(10, 2, 8, 4), spacing=8)
        fill(QVBoxLayout(self), first, second, margins=(0, 0, 0, 0), spacing=2)
        say(self.settings, lambda: " " + _("Settings"))
        tint(self.settings, "settings")
        say(self.palette_button, name=N_("Command palette"), tip=N_("Command palette"))
        say(self.menu, tip=N_("Menu"))
        say(self._words, self._text, name=lambda: _("Connection: {state}", state=self._text()), tip=self._tip)
        self.settings.clicked.connect(self.settings_wanted)
        self.palette_button.clicked.connect(self.palette_wanted)
        self.menu.clicked.connect(self.menu_wanted)
        bind(self._dress)

    def _text(self) -> str:
        return _("Working") if self._working and self._state == "ready" else _(STATES[self._state])

    def _tip(self) -> str:
        return _("The data folder was moved or replaced: nothing is being saved.") if self._state == "moved" else ""

    def show_connection(self, state: Connection) -> None:
        """What ``STATES`` says."""
        self._state = state
        self._dress()
        say(self._words)

    def show_working(self, working: bool) -> None:
        """While a workflow of the list runs, an open engine is not just ready."""
        self._working = working
        say(self._words)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def show_palette_keys(self, keys: str) -> None:
        """The keys of the command palette; its icon where it has none."""
        self._palette_keys = keys
        self._fit()

    def _fit(self) -> None:
        """In a narrow column the palette's keys give way to its icon, so that nothing is cut."""
        look, keys = theme(), self._palette_keys
        wide = self.palette_button.fontMetrics().horizontalAdvance(keys) + 20
        tight = not keys or self.settings.sizeHint().width() + wide + self.menu.sizeHint().width() + 4 > self.width()
        self.palette_button.setText("" if tight else keys)
        self.palette_button.setIcon(look.icon("command") if tight else QIcon())
        self.palette_button.setIconSize(QSize(look.px(16), look.px(16)))

    def _dress(self) -> None:
        look = theme()
        roles = {"opening": "warn", "ready": "ok", "failed": "err", "moved": "err", "closing": "muted"}
        side = look.px(8)
        colour = getattr(look.tokens, roles[self._state])
        self._dot.setFixedSize(side, side)
        self._dot.setStyleSheet(f"background: {colour}; border-radius: {side // 2}px;")
        self._fit()
