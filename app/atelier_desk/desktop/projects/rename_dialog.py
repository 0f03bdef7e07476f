"""The dialog for renaming a project."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.widgets import control
from atelier_desk.domain import limits
from atelier_desk.support.i18n import _


class RenameDialog(FormDialog):
    """``project-rename-dialog``.

    Signals:
        accepted_name: the new name.
    """

    accepted_name = Signal(str)

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(_("Rename project"), parent)
        self.setObjectName("project-rename-dialog")
        self.name = control(QLineEdit(name, self), "project-new-name")
        self.name.setMaxLength(limits.PROJECT_NAME)
        self.name.selectAll()
        self.add_field(_("Name"), self.name)
        self.name.textEdited.connect(lambda *_text: self.check())
        self.finish(_("Rename"))

    def problem(self) -> str:
        return "" if self.name.text().strip() else _("Enter a name.")

    def submit(self) -> None:
        self.accepted_name.emit(self.name.text().strip())
