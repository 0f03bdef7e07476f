"""Quick ask: the icon of the notification area, and how to have a key for it everywhere."""

from __future__ import annotations

import sys

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton

from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.rows import RowsPage, Section, Toggle
from atelier_desk.desktop.tray import there_is_a_tray
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.i18n import N_, _

COMMAND = "atelier quick"


def tray_words() -> str:
    """What the icon does, or why there is none."""
    if there_is_a_tray():
        return _("A click on it opens quick ask; its menu shows the window, begins a workflow and quits.")
    return _("This desktop has no notification area: the icon cannot be shown here.")


@settings_page("quick", order=72, icon="zap", title=N_("Quick ask"))
class QuickPage(RowsPage):
    """``tray-icon``, ``quick-command`` and ``quick-command-copy``."""

    sections = (Section(N_("NOTIFICATION AREA"), Toggle("tray", N_("Icon in the notification area"), tray_words, "tray-icon")),)

    def build(self) -> None:
        super().build()
        card = self.section(N_("A KEY THAT WORKS EVERYWHERE"))
        words = label("", "", self, wrap=True)
        say(
            words,
            N_(
                "Atelier does not take keys from other programs. Give this command a key in the keyboard settings of your system: "
                "it opens quick ask, and starts Atelier when it is not running."
            ),
        )
        self.command = control(QLineEdit(self.command_line(), self), "quick-command", look="mono", name=N_("Command of quick ask"))
        self.command.setReadOnly(True)
        self.copy = control(QPushButton(self), "quick-command-copy", N_("Copy"), on=self._copy)
        fill(card.body, words, fill(QHBoxLayout(), (self.command, 1), self.copy, spacing=8))

    @staticmethod
    def command_line() -> str:
        """The command as it works for this installation."""
        return COMMAND if not getattr(sys, "frozen", False) else f'"{sys.executable}" quick'

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command.text())
        toast(self, _("Copied"))
