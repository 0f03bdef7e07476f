"""Shortcuts: what the keys do, from the one registry of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QGridLayout, QWidget

from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import label
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

FIXED = (
    (N_("Answer a question: choose an option"), "1–9"),
    (N_("Answer a question: send"), "Ctrl+Return"),
    (N_("Answer a question: later"), "Esc"),
    (N_("Tasks: rename"), "F2"),
    (N_("Tasks: done or not"), "Space"),
    (N_("Tasks: move"), "Alt+Up"),
    (N_("Tasks, memories, reports: delete"), "Del"),
    (N_("Reports: save"), "Ctrl+S"),
)


@settings_page("shortcuts", order=70, icon="keyboard", title=N_("Shortcuts"))
class ShortcutsPage(SettingsPage):
    """Two tables: the window's actions, and the keys of lists and dialogs."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        card = self.section(N_("WINDOW"))
        self._actions = QGridLayout()
        card.body.addLayout(self._actions)
        fixed = self.section(N_("LISTS AND DIALOGS"))
        self._fixed = QGridLayout()
        fixed.body.addLayout(self._fixed)
        for grid in (self._actions, self._fixed):
            grid.setColumnStretch(0, 1)
            grid.setVerticalSpacing(8)
        self.end()
        self.retranslate()

    async def load(self) -> None:
        self._show()

    @staticmethod
    def window_actions() -> list[tuple[str, str]]:
        """Texts and keys of every action of the program's windows that has a key."""
        found: dict[str, str] = {}
        for window in QApplication.topLevelWidgets():
            for action in window.findChildren(QAction):
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                text = action.text().replace("&", "")
                if keys and text:
                    found.setdefault(text, keys)
        return sorted(found.items(), key=lambda item: item[0].casefold())

    def _show(self) -> None:
        fixed = [(_(text), QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText) or keys) for text, keys in FIXED]
        for grid, rows in ((self._actions, self.window_actions()), (self._fixed, fixed)):
            while (item := grid.takeAt(0)) is not None:
                widget = item.widget()
                if widget is not None:
                    widget.deleteLater()
            for number, (text, keys) in enumerate(rows):
                grid.addWidget(label(text, "", self, wrap=True), number, 0)
                grid.addWidget(label(keys, "pill", self), number, 1, Qt.AlignmentFlag.AlignVCenter)

    def retranslate(self) -> None:
        self._show()
