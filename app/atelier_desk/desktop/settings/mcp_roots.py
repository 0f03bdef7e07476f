"""The folders that are shared with a server (roots)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_folder
from atelier_desk.desktop.panes.two_line_items import KeyRole
from atelier_desk.desktop.settings.list_form_page import ListLine, list_of_lines, show_lines
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import control, hbox, label, vbox
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from collections.abc import Sequence


class McpRoots(QWidget):
    """``changed(folders)`` is emitted when the user adds or removes one."""

    changed = Signal(tuple)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        mark(self, "plain")
        self._folders: tuple[str, ...] = ()
        about = control(
            label("", "muted", self, wrap=True), "",
            N_("The server can ask which of these folders (and their subfolders) the calling workflow may use."),
        )  # fmt: skip
        self.list = list_of_lines(self, "mcp-roots", N_("Shared folders (roots)"))
        self.add = control(QPushButton(self), "mcp-root-add", N_("Add a folder…"), on=self.pick)
        self.drop = control(QPushButton(self), "mcp-root-remove", N_("Remove"), on=self._remove)
        self.list.currentItemChanged.connect(lambda *_: self.drop.setEnabled(self.list.currentItem() is not None))
        vbox(self, about, self.list, hbox(None, self.add, self.drop, 1))

    def show_folders(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)
        show_lines(
            self.list, [ListLine(each, each.rstrip("/").rpartition("/")[2] or each, each, "folder") for each in folders]
        )
        self.drop.setEnabled(False)

    def pick(self) -> None:
        """Choose a folder to add."""
        ask_folder(self, _("Shared folder"), lambda folder: self.add_folder(str(folder)))

    def add_folder(self, folder: str) -> None:
        if folder and folder not in self._folders:
            self.changed.emit((*self._folders, folder))

    def _remove(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.changed.emit(tuple(each for each in self._folders if each != item.data(KeyRole)))
