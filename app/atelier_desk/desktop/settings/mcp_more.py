"""What stands under a server's form beside its tools: the folders it may be told of, and what it logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.two_line import KeyRole, dress_list, two_line_item
from atelier_desk.desktop.settings.files import ask_folder
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import control, fill, label
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atelier_desk.mcp.serving import LogLine

SHOWN = 50
"""Lines of a log, the newest first."""
_BAD: dict[str, Role] = {"warning": "warn", "error": "err", "critical": "err", "alert": "err", "emergency": "err"}


class McpRoots(QWidget):
    """``changed(folders)`` when the person adds one or takes one away."""

    changed = Signal(tuple)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        mark(self, "plain")
        self._folders: tuple[str, ...] = ()
        about = control(
            label("", "muted", self, wrap=True), "",
            N_("The server can ask for these folders (and folders inside them) that the calling workflow was granted."),
        )  # fmt: skip
        self.list = control(QListWidget(self), "mcp-roots", look="plain", name=N_("Shared folders (roots)"))
        dress_list(self.list)
        self.add = control(QPushButton(self), "mcp-root-add", N_("Add a folder…"), on=self.pick)
        self.drop = control(QPushButton(self), "mcp-root-remove", N_("Remove"), on=self._remove)
        self.list.currentItemChanged.connect(lambda *_: self.drop.setEnabled(self.list.currentItem() is not None))
        fill(QVBoxLayout(self), about, self.list, fill(QHBoxLayout(), self.add, self.drop, 1), margins=(0, 0, 0, 0))

    def show_folders(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)
        self.list.clear()
        for each in folders:
            two_line_item(self.list, each, each.rstrip("/").rpartition("/")[2] or each, each, "folder", "accent")
        _fit(self.list)
        self.drop.setEnabled(False)

    def pick(self) -> None:
        """Choose a folder."""
        ask_folder(self, _("Shared folder"), lambda folder: self.take(str(folder)))

    def take(self, folder: str) -> None:
        if folder and folder not in self._folders:
            self.changed.emit((*self._folders, folder))

    def _remove(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.changed.emit(tuple(each for each in self._folders if each != item.data(KeyRole)))


class McpLog(QListWidget):
    """The newest lines of a server's log. ``mcp-log``."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        control(self, "mcp-log", look="plain", name=N_("Log"))
        dress_list(self)

    def show_lines(self, lines: Sequence[LogLine]) -> None:
        self.clear()
        for number, line in enumerate(reversed(lines[-SHOWN:])):
            about = " · ".join(filter(None, (f"{line.time.astimezone():%H:%M:%S}", line.level, line.logger)))
            icon = "circle-alert" if line.level in _BAD else "info"
            two_line_item(self, str(number), line.text, about, icon, _BAD.get(line.level, "muted"))
        _fit(self)


def _fit(shown: QListWidget) -> None:
    rows = min(max(shown.count(), 1), 6)
    shown.setVisible(shown.count() > 0)
    shown.setFixedHeight(rows * max(shown.sizeHintForRow(0), theme().px(40)) + 8)
