"""The form of a new project: folder, name, and options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder
from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.widgets import control, hbox
from atelier_desk.domain import limits
from atelier_desk.domain.project import Project, free_name
from atelier_desk.support.i18n import N_, _


class CreateDialog(FormDialog):
    """``project-create``.

    Signals:
        accepted_fields: name, folder (may be empty), whether it gets embeddings, whether it is watched.
    """

    accepted_fields = Signal(str, str, bool, bool)

    def __init__(self, folder: str, parent: QWidget, known: Sequence[Project]) -> None:
        super().__init__(_("New project"), parent)
        self.setObjectName("project-create")
        self._known = known
        self._named = False
        line = QWidget(self)
        self.folder = control(QLineEdit(line), "project-folder", hint=N_("Leave empty for web pages only"))
        self.browse = control(QPushButton(line), "project-browse", N_("Choose…"), on=self._browse)
        hbox(line, (self.folder, 1), self.browse, spacing=8)
        caption = self.add_field(
            _("Folder"),
            line,
            _("Read-only. Files listed in .gitignore and files that may contain secrets are skipped."),
        )
        caption.setBuddy(self.folder)
        self.folder.setAccessibleName(_("Folder"))
        self.name = control(QLineEdit(self), "project-name")
        self.name.setMaxLength(limits.PROJECT_NAME)
        self.add_field(_("Name"), self.name)
        self.embedded = control(QCheckBox(_("Search by meaning too (computes embeddings)"), self), "project-embedded")
        self.watched = control(QCheckBox(_("Watch for file changes"), self), "project-watched")
        for box in (self.embedded, self.watched):
            box.setChecked(True)
            self._column.addWidget(box)
        self.folder.textChanged.connect(self._on_folder)
        self.name.textEdited.connect(self._on_name)
        self.folder.setText(folder)
        self.finish(_("Create and index"))

    def problem(self) -> str:
        folder = self.folder.text().strip()
        if not self.name.text().strip():
            return _("Enter a name.")
        if folder and not Path(folder).expanduser().is_dir():
            return _("The folder {path} does not exist.", path=folder)
        return ""

    def submit(self) -> None:
        self.accepted_fields.emit(
            self.name.text().strip(), self.folder.text().strip(), self.embedded.isChecked(), self.watched.isChecked()
        )

    def _browse(self) -> None:
        ask_folder(self, _("Choose a folder"), lambda path: self.folder.setText(str(path)))

    def _on_folder(self, text: str) -> None:
        """Suggest the folder's name, unless the user entered another."""
        if not self._named:
            self.name.setText(self._suggested(text.strip()))
        if hasattr(self, "_ok"):
            self.check()

    def _suggested(self, folder: str) -> str:
        """The folder's name, with a number if another project uses it."""
        name = Path(folder).name[: limits.PROJECT_NAME]
        if not name or any(each.root == str(Path(folder).expanduser()) for each in self._known):
            return name  # an existing project is recognized by its name
        return free_name(name, self._known)

    def _on_name(self, text: str) -> None:
        self._named = bool(text)
        self.check()
