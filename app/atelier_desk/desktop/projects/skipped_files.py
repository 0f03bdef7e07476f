"""Files that were skipped or partly indexed, with reasons; those that only look like secrets can be allowed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QListWidget, QPushButton, QWidget

from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.two_line_items import style_list, two_line_item
from atelier_desk.desktop.widgets import bind, bind_text, control, hbox, label, vbox
from atelier_desk.domain.project import FileProblem
from atelier_desk.support.i18n import N_, _, ngettext

ROWS = 6
"""Maximum rows shown without scrolling."""


class ProblemList(QWidget):
    """``project-problems``; hidden if empty. Ctrl+C copies the selected rows, the button all of them.

    Allowed files that look like secrets are listed too, so that they can be excluded again.

    Signals:
        allowed: index a path after all (True), or no longer (False).
    """

    allowed = Signal(str, bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("project-problems")
        self.problems: Sequence[FileProblem] = ()
        self.readable: Sequence[str] = ()
        self.words = label("", "muted", self, wrap=True)
        self.list = control(QListWidget(self), "project-problem-list", look="plain", name=N_("Files not indexed"))
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        style_list(self.list)
        self.copy_all = control(
            QPushButton(self), "project-problems-copy", N_("Copy list"), look="ghost", on=lambda: self.copy(full=True)
        )
        self.allow = control(QPushButton(self), "project-problems-allow", look="ghost", on=self._allow)
        self.list.itemSelectionChanged.connect(self._offer)
        keys = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.list)
        keys.setContext(Qt.ShortcutContext.WidgetShortcut)
        keys.activated.connect(self.copy)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._copy = QAction(self.list)
        self._copy.triggered.connect(lambda *_on: self.copy())
        bind_text(self._copy, N_("Copy"))
        self.list.addAction(self._copy)
        buttons = hbox(None, self.allow, self.copy_all, 1, spacing=6)
        vbox(self, self.words, self.list, buttons, spacing=6)
        bind(self._size)
        bind(self._fill, on="language")
        self.hide()

    def show_problems(self, problems: Sequence[FileProblem], total: int, readable: Sequence[str]) -> None:
        """Show these of ``total`` problems, and the allowed files that look like secrets."""
        self.setVisible(bool(problems or readable))
        if (list(problems), list(readable)) != (list(self.problems), list(self.readable)):
            self.problems, self.readable = tuple(problems), tuple(readable)
            self._fill()
        failed = sum(not each.skipped for each in problems)
        skipped = len(problems) - failed

        def words() -> str:
            parts = (
                [ngettext("{n} file could not be read completely", "{n} files could not be read completely", failed)]
                if failed
                else []
            )
            if skipped:
                parts.append(ngettext("{n} file left out on purpose", "{n} files left out on purpose", skipped))
            if total > len(problems):
                parts.append(_("the first {shown} of {total} are listed", shown=len(problems), total=total))
            return " · ".join(parts)

        bind_text(self.words, words)

    def _fill(self) -> None:
        self.list.clear()
        for each in self.problems:
            icon, role = ("eye-off", "muted") if each.skipped else ("triangle-alert", "warn")
            two_line_item(self.list, each.path, each.path, each.localized(_), icon, role)  # type: ignore[arg-type]
        for path in self.readable:
            two_line_item(self.list, path, path, _("Indexed despite looking like a secret."), "eye", "muted")
        self._size()
        self._offer()

    def _offer(self) -> None:
        """Show the action for the single selected row on the button."""
        path, read = self._chosen()
        self.allow.setVisible(bool(path))
        bind_text(self.allow, N_("Exclude again") if read else N_("Index"))

    def _chosen(self) -> tuple[str, bool]:
        """The path of the selected row if it can be allowed or excluded, and whether it is indexed."""
        rows = [index.row() for index in self.list.selectedIndexes()]
        if len(rows) != 1:
            return "", False
        if rows[0] >= len(self.problems):
            return self.readable[rows[0] - len(self.problems)], True
        return (self.problems[rows[0]].path if self.problems[rows[0]].secret else ""), False

    def _allow(self) -> None:
        path, read = self._chosen()
        if path:
            self.allowed.emit(path, not read)

    def _size(self) -> None:
        if self.list.count():
            self.list.setFixedHeight(self.list.sizeHintForRow(0) * min(ROWS, self.list.count()) + 4)

    def copy(self, *, full: bool = False) -> None:
        """Copy the selected rows, or all, as lines of path and reason."""
        rows = {index.row() for index in self.list.selectedIndexes()}
        lines = [f"{each.path}\t{each.localized(_)}" for each in self.problems]
        lines += ["\t".join((path, _("Indexed despite looking like a secret."))) for path in self.readable]
        chosen = [each for number, each in enumerate(lines) if full or number in rows]
        if chosen:
            QGuiApplication.clipboard().setText("\n".join(chosen))
            toast(self, ngettext("{n} line copied", "{n} lines copied", len(chosen)))
