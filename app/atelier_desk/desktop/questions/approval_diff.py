"""The file changes of a pending call as a diff in its card."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.diff.view import DiffView
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.widgets import ElidedLabel, IconButton, bind, control, hbox, label, vbox
from atelier_desk.domain import limits
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import size

LINES = 400
"""Lines of a diff shown in a card; the arguments have the rest."""


class ApprovalChanges(QWidget):
    """``approval-changes``: each file with its diff, ``approval-diff-side`` for the side-by-side view.

    Hidden if empty.

    ``fit(width)`` lays out the diffs, which are as high as their text.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("approval-changes")
        self._changes: tuple[FileChange, ...] = ()
        self.diffs: list[DiffView] = []
        self._problem = control(label("", "warn", self, wrap=True), "approval-changes-problem")
        self.side = control(
            IconButton("columns-2", parent=self), "approval-diff-side", tip=N_("Side by side or inline")
        )
        self.side.setCheckable(True)
        self.side.toggled.connect(self._switch)
        self.side.hide()
        self._column = vbox(self, self._problem, spacing=6)
        self._width = 0
        bind(self._build)
        self.hide()

    def show_changes(self, changes: Sequence[FileChange], problem: str = "") -> None:
        """Replace the changes; ``problem`` says why they cannot be determined."""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        if tuple(changes) != self._changes:
            self._changes = tuple(changes)
            self._build()
        self.setVisible(bool(changes or problem))

    def fit(self, width: int) -> None:
        """Lay out for this width in pixels."""
        self._width = width
        for diff in self.diffs:
            diff.fit(width)

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
            counts = control(label("", "muted", row), f"approval-counts-{place + 1}")
            text, spoken = _counts(change)
            counts.setText(text)
            counts.setAccessibleName(spoken)
            hbox(
                row,
                (title, 1),
                counts,
                *([self.side] if place == 0 else []),
                spacing=8,
            )
            self._column.addWidget(row)
            if not change.diff:
                if not change.files:
                    same = change.action == "changed" and change.before == change.after
                    words = _("The content stays the same.") if same else _("There is no text to compare.")
                    self._column.addWidget(label(words, "muted", self, wrap=True))
                continue
            diff = DiffView(self, scrolls=False)
            diff.set_mode("side" if self.side.isChecked() else "inline")
            lines = change.diff.splitlines()
            diff.show_diff("\n".join(lines[:LINES]), change.moved_to or change.path)
            diff.height_changed.connect(lambda diff=diff: diff.fit(self._width) if self._width else None)
            self.diffs.append(diff)
            self._column.addWidget(diff)
            if len(lines) > LINES:
                rest = _("Lines not shown: {n}. See the arguments for the full text.", n=number(len(lines) - LINES))
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
    if change.action == "created" and change.path.endswith("/"):
        return _("New folder: {path}", path=change.path)
    if change.action == "changed" and change.files:
        return _("Replaces {path}", path=change.path)
    return words[change.action]


def _counts(change: FileChange) -> tuple[str, str]:
    """The size of a change as shown and as read aloud: lines, or the number of files affected."""
    if not change.files:
        added, removed = number(change.added), number(change.removed)
        return f"+{added} \N{MINUS SIGN}{removed}", _(
            "Lines added: {added}, removed: {removed}", added=added, removed=removed
        )
    files = ngettext("{count} file", "{count} files", change.files, count=number(change.files))
    if change.files >= limits.COUNTED_FILES:
        files = _("at least {what}", what=files)
    text = f"{files} · {size(change.size)}"
    return text, text
