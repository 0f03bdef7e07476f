"""The foot of the sidebar: settings, palette, menu, and the connection status."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import IconButton, bind, bind_text, control, hbox, label, tint, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.support.i18n import N_, _

Work = Literal["ready", "waiting", "working", "paused"]
Connection = Literal["opening", "ready", "waiting", "working", "paused", "no-key", "failed", "moved", "closing"]
STATES: dict[Connection, str] = {
    "opening": N_("Opening…"),
    "ready": N_("Ready"),
    "waiting": N_("Waiting for you"),
    "working": N_("Working"),
    "paused": N_("Paused"),
    "no-key": N_("No valid key"),
    "failed": N_("Opening failed"),
    "moved": N_("Data folder moved"),
    "closing": N_("Closing…"),
}
TIPS: dict[Connection, str] = {
    "moved": N_("The data folder was moved or replaced: nothing is being saved."),
    "no-key": N_(
        "No API key is set for the chosen model, or the provider refused it. Enter one in Settings → Providers."
    ),
}


class SidebarFoot(QWidget):
    """Two lines of subdued controls.

    Signals:
        settings_requested, palette_requested, menu_requested: the buttons.
    """

    settings_requested = Signal()
    palette_requested = Signal()
    menu_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._state: Connection = "opening"
        self._connection: Connection = "opening"
        self._work: Work = "ready"
        self._reason = ""
        self._key_missing = False
        self.settings = control(QPushButton(self), "open-settings", look="quiet")
        self._palette_keys = "Ctrl+K"
        self.palette_button = control(QPushButton(self._palette_keys, self), "open-palette", look="quiet")
        self.menu = control(IconButton("ellipsis", parent=self), "main-menu")
        self._dot = PlainLabel(parent=self)
        self._words = control(label("", "small", self, wrap=True), "connection-state")
        first = hbox(None, self.settings, 1, self.palette_button, self.menu, spacing=2)
        second = hbox(None, self._dot, (self._words, 1), margins=(10, 2, 8, 4), spacing=8)
        vbox(self, first, second, spacing=2)
        bind_text(self.settings, lambda: " " + _("Settings"))
        tint(self.settings, "settings")
        bind_text(self.palette_button, name=N_("Command palette"), tip=N_("Command palette"))
        bind_text(self.menu, tip=N_("Menu"))
        bind_text(
            self._words,
            lambda: _(STATES[self._state]),
            name=lambda: _("Connection: {state}", state=_(STATES[self._state])),
            tip=self._tip,
        )
        self.settings.clicked.connect(self.settings_requested)
        self.palette_button.clicked.connect(self.palette_requested)
        self.menu.clicked.connect(self.menu_requested)
        bind(self._apply_style)

    def _tip(self) -> str:
        return _(self._reason if self._state == "waiting" else TIPS.get(self._state, ""))

    def show_connection(self, state: Connection) -> None:
        """Show one of ``STATES``; while ``ready``, also current activity."""
        self._connection = state
        self._show_state()

    def show_work(self, work: Work, reason: str = "") -> None:
        """Show whether agents run, wait for the user or are paused; ``reason``: an ``N_`` text, why they wait."""
        self._work, self._reason = work, reason
        self._show_state()

    def show_key_missing(self, missing: bool) -> None:
        """Set whether the next answer's provider has no accepted API key."""
        self._key_missing = missing
        self._show_state()

    def _show_state(self) -> None:
        self._state = self._connection
        if self._state == "ready":
            self._state = "no-key" if self._work == "ready" and self._key_missing else self._work
        self._apply_style()
        bind_text(self._words)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def show_palette_keys(self, keys: str) -> None:
        """Show the shortcut of the command palette; an icon if there is none."""
        self._palette_keys = keys
        self._fit()

    def _fit(self) -> None:
        """In a narrow sidebar replace the palette's shortcut by its icon, so that nothing is cut."""
        style, keys = theme(), self._palette_keys
        wide = self.palette_button.fontMetrics().horizontalAdvance(keys) + 20
        tight = not keys or self.settings.sizeHint().width() + wide + self.menu.sizeHint().width() + 4 > self.width()
        self.palette_button.setText("" if tight else keys)
        self.palette_button.setIcon(style.icon("command") if tight else QIcon())
        self.palette_button.setIconSize(QSize(style.px(16), style.px(16)))

    def _apply_style(self) -> None:
        style = theme()
        roles = {
            "opening": "warn",
            "waiting": "warn",
            "ready": "ok",
            "working": "accent",
            "paused": "muted",
            "closing": "muted",
        }
        side = style.px(8)
        colour = getattr(style.tokens, roles.get(self._state, "err"))
        self._dot.setFixedSize(side, side)
        self._dot.setStyleSheet(f"background: {colour}; border-radius: {side // 2}px;")
        self._fit()
