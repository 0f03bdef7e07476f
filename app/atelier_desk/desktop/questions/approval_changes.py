"""What a waiting call would do to files, as a diff in its card."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from atelier_desk.desktop.diff.view import DiffView
from atelier_desk.desktop.panes.wording import number
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, Translated, control, fill, label
from atelier_desk.domain.parts import FileChange
from atelier_desk.i18n import N_, _

LINES = 400
"""Lines of a diff that a card shows; the arguments have the rest."""


class ApprovalChanges(Translated, QWidget):
    """``approval-changes``: each file with its diff, ``approval-diff-side`` to show both sides; hidden while there is none.

    ``fit(width)`` lays the diffs out, they are as high as their text.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("approval-changes")
        self._changes: tuple[FileChange, ...] = ()
        self.diffs: list[DiffView] = []
        self._problem = control(label("", "warn", self, wrap=True), "approval-changes-problem")
        self.side = control(IconButton("columns-2", parent=self), "approval-diff-side", tip=N_("Side by side or in line"))
        self.side.setCheckable(True)
        self.side.toggled.connect(self._switch)
        self._column = fill(QVBoxLayout(self), self._problem, margins=(0, 0, 0, 0), spacing=6)
        self._width = 0
        self.hide()

    def show_changes(self, changes: Sequence[FileChange], problem: str = "") -> None:
        """These instead; ``problem`` says why nobody can tell what the call would change."""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        if tuple(changes) != self._changes:
            self._changes = tuple(changes)
            self._build()
        self.setVisible(bool(changes or problem))

    def fit(self, width: int) -> None:
        """Lay out what is shown in this width."""
        self._width = width
        for diff in self.diffs:
            diff.fit(width)

    def retranslate(self) -> None:
        self._build()

    def _build(self) -> None:
        self.side.setParent(self)
        while (item := self._column.takeAt(1)) is not None:
            if (widget := item.widget()) is not None and widget is not self.side:
                widget.setParent(None)
                widget.deleteLater()
        self.diffs = []
        for place, change in enumerate(self._changes):
            row = QWidget(self)
            title = control(ElidedLabel(_path(change), row), f"approval-file-{place + 1}", look="strong")
            counts = label(f"+{number(change.added)} \N{MINUS SIGN}{number(change.removed)}", "muted", row)
            counts.setAccessibleName(
                _("{added} lines added, {removed} removed", added=number(change.added), removed=number(change.removed))
            )
            fill(QHBoxLayout(row), (title, 1), counts, *([self.side] if place == 0 else []), margins=(0, 0, 0, 0), spacing=8)
            self._column.addWidget(row)
            if not change.diff:
                self._column.addWidget(label(_("There is no text to compare."), "muted", self, wrap=True))
                continue
            diff = DiffView(self, scrolls=False)
            diff.set_mode("side" if self.side.isChecked() else "inline")
            lines = change.diff.splitlines()
            diff.show_diff("\n".join(lines[:LINES]), change.moved_to or change.path)
            diff.height_changed.connect(lambda diff=diff: diff.fit(self._width) if self._width else None)
            self.diffs.append(diff)
            self._column.addWidget(diff)
            if len(lines) > LINES:
                rest = _("{n} more lines: the arguments show all of it.", n=number(len(lines) - LINES))
                self._column.addWidget(label(rest, "muted", self, wrap=True))
        self.side.setVisible(bool(self.diffs))
        if self._width:
            self.fit(self._width)

    def _switch(self, on: bool) -> None:
        for diff in self.diffs:
            diff.set_mode("side" if on else "inline")


def _path(change: FileChange) -> str:
    words = {
        "created": _("New file: {path}", path=change.path),
        "changed": _("Changes {path}", path=change.path),
        "deleted": _("Deletes {path}", path=change.path),
        "moved": _("Moves {path} to {target}", path=change.path, target=change.moved_to),
    }
    return words[change.action]
