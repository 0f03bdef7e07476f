"""The files that were not read, or not wholly, and why; to be copied."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QListWidget, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.two_line import dress_list, two_line_item
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Translated, control, fill, label, say
from atelier_desk.domain.project import FileProblem
from atelier_desk.i18n import N_, _, ngettext

ROWS = 6
"""Most that are shown without scrolling."""


class ProblemList(Translated, QWidget):
    """``project-problems``; hidden while there are none. Ctrl+C copies the chosen rows, the button all of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("project-problems")
        self.problems: Sequence[FileProblem] = ()
        self.words = label("", "muted", self, wrap=True)
        self.list = control(QListWidget(self), "project-problem-list", look="plain", name=N_("Files that were not read"))
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        dress_list(self.list)
        self.copy_all = control(
            QPushButton(self), "project-problems-copy", N_("Copy the list"), look="ghost", on=lambda: self.copy(whole=True)
        )
        keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.list)
        keys.setContext(Qt.ShortcutContext.WidgetShortcut)
        keys.activated.connect(self.copy)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._copy = QAction(self.list)
        self._copy.triggered.connect(lambda *_on: self.copy())
        say(self._copy, N_("Copy"))
        self.list.addAction(self._copy)
        fill(QVBoxLayout(self), self.words, self.list, (self.copy_all, 0, Qt.AlignmentFlag.AlignLeft), margins=(0, 0, 0, 0), spacing=6)
        theme().changed.connect(self._size)
        self.hide()

    def show_problems(self, problems: Sequence[FileProblem], total: int) -> None:
        """Show these of ``total``."""
        self.setVisible(bool(problems))
        if list(problems) != list(self.problems):
            self.problems = tuple(problems)
            self._fill()
        failed = sum(not each.skipped for each in problems)
        skipped = len(problems) - failed

        def words() -> str:
            parts = [ngettext("{n} file could not be read", "{n} files could not be read", failed)] if failed else []
            if skipped:
                parts.append(ngettext("{n} file left out on purpose", "{n} files left out on purpose", skipped))
            if total > len(problems):
                parts.append(_("the first {shown} of {total} are listed", shown=len(problems), total=total))
            return " · ".join(parts)

        say(self.words, words)

    def _fill(self) -> None:
        self.list.clear()
        for each in self.problems:
            icon, role = ("eye-off", "muted") if each.skipped else ("triangle-alert", "warn")
            two_line_item(self.list, each.path, each.path, _(each.reason), icon, role)  # type: ignore[arg-type]
        self._size()

    def _size(self) -> None:
        if self.list.count():
            self.list.setFixedHeight(self.list.sizeHintForRow(0) * min(ROWS, self.list.count()) + 4)

    def copy(self, *, whole: bool = False) -> None:
        """The chosen rows, or all of them, as lines of path and reason."""
        rows = {index.row() for index in self.list.selectedIndexes()}
        chosen = [each for number, each in enumerate(self.problems) if whole or number in rows]
        if chosen:
            QGuiApplication.clipboard().setText("\n".join(f"{each.path}\t{_(each.reason)}" for each in chosen))
            toast(self, ngettext("{n} line copied", "{n} lines copied", len(chosen)))

    def retranslate(self) -> None:
        self._fill()
