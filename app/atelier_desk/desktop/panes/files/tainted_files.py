"""Files written after reading untrusted content, with a button to mark them as reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QPushButton, QSizePolicy, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind_text, control, label, vbox
from atelier_desk.presentation.file_change_text import mark_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMark

ROWS = 4
"""Number of visible files; others scroll."""


class MarkedFiles(QWidget):
    """``files-marked``: hidden if empty.

    Multiple selection; without a selection the button marks all, after a confirmation.

    Signals:
        read: the paths the user marked as reviewed.
    """

    read = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("files-marked")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._marks: tuple[TaintMark, ...] = ()
        self._heading = label("", "small", self, wrap=True)
        self.list = control(QListWidget(self), "files-marked-list")
        style_list(self.list)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.itemSelectionChanged.connect(self._name_button)
        bind_text(self.list, name=N_("Files written by agents that had read from untrusted sources"))
        self.button = control(QPushButton(self), "files-mark-read", on=self._on_read)
        vbox(
            self,
            self._heading,
            self.list,
            (self.button, 0, Qt.AlignmentFlag.AlignLeft),
            spacing=4,
        )
        self.hide()

    def show_marks(self, marks: Sequence[TaintMark], folders: Sequence[str]) -> None:
        """List these files, with paths relative to the first of ``folders`` that contains them."""
        self._marks = tuple(marks)
        chosen = {item.data(KeyRole) for item in self.list.selectedItems()}
        self.list.clear()
        for mark in marks:
            item = two_line_item(
                self.list, mark.path, _shown(mark, folders), mark_text(mark.sources), "triangle-alert", "warn"
            )
            item.setSelected(mark.path in chosen)
        count = len(marks)
        self._heading.setText(
            ngettext(
                "{n} file was written by an agent that had read from untrusted sources. Until you mark it as read, "
                "agents that open it ask before sending data out or writing outside the workspace.",
                "{n} files were written by agents that had read from untrusted sources. Until you mark them as "
                "read, agents that open one of them ask before sending data out or writing outside the workspace.",
                count,
            )
        )
        self.list.setMinimumHeight(theme().px(46))
        self.list.setMaximumHeight(theme().px(46) * min(max(count, 1), ROWS))
        self._name_button()
        self.setVisible(bool(marks))

    def _name_button(self) -> None:
        chosen = len(self.list.selectedItems())
        self.button.setText(
            ngettext("Mark {n} file as read", "Mark {n} files as read", chosen) if chosen else _("Mark all as read")
        )

    def _on_read(self) -> None:
        chosen = [item.data(KeyRole) for item in self.list.selectedItems()]
        if chosen:
            self.read.emit(chosen)
        else:
            self._ask_all()

    def _ask_all(self) -> None:
        """Confirm marking all: not each was selected, and it cannot be undone."""
        every = [mark.path for mark in self._marks]
        title = ngettext("Mark {n} file as read?", "Mark all {n} files as read?", len(every))
        about = _(
            "After that, agents that read this content may send data out and write outside the workspace without "
            "asking. This cannot be undone."
        )
        if folders := sum(mark.folder for mark in self._marks):
            words = ngettext(
                "This includes {n} folder and everything in it.",
                "This includes {n} folders and everything in them.",
                folders,
            )
            about = f"{words} {about}"
        confirm(self, title, about, _("Mark as read"), lambda: self.read.emit(every))


def _shown(mark: TaintMark, folders: Sequence[str]) -> str:
    path = Path(mark.path)
    for folder in folders:
        real = Path(folder).resolve()
        if path != real and path.is_relative_to(real):
            return path.relative_to(real).as_posix() + ("/" if mark.folder else "")
    return f"{path.name}/" if mark.folder else mark.path
