"""Seeing to what concerns a whole run: step mode, the panes that show it in time, its replay, and the end of what works out of sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QHBoxLayout

from app.desktop.stepping import StepBar, StepToggle

if TYPE_CHECKING:
    from app.desktop.window import MainWindow


class Conductor(QObject):
    """Made by the window after its first paint."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._bridge = window, window.bridge
        self.step_bar = StepBar(window.bridge, window)
        window.chat.add_above_composer(self.step_bar)
        window.chat.workflow_shown.connect(self.step_bar.set_workflow)
        self.step_toggle = StepToggle(window.chat.header)
        row = window.chat.header.layout()
        if isinstance(row, QHBoxLayout):
            row.insertWidget(row.count() - 1, self.step_toggle)
        self.step_toggle.off_wanted.connect(window.actions_["step-mode"].trigger)

    def set_step_mode(self, on: bool) -> None:
        """Whether the next message starts a run that waits before each step; a run in view follows at once."""
        self._window.chat.stepping = on
        self.step_bar.set_stepping(on)
        self.step_toggle.setVisible(on)

    def open_replay(self) -> None:
        """Show the newest run of the workflow in view again, from its end."""
