"""Undo changes to files from anywhere in the window: files are named first, conflicts can be forced or skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox, QProgressDialog, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.file_change import portions
from atelier_desk.presentation import call_failure_text
from atelier_desk.presentation.file_change_text import NAMED, changed_text, path_text, undo_text
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.file_change import Change
    from atelier_desk.engine.services.file_changes_and_trust import UndoneChange

SHOWN_AFTER_MS = 800
"""Milliseconds before progress is shown."""


def ask_undo(
    bridge: Bridge, parent: QWidget, changes: Sequence[Change], notify: Callable[[str], object]
) -> QMessageBox | None:
    """Confirm and undo changes to files; ``notify`` receives the result. Returns None if nothing is left to undo."""
    alive = [change for change in changes if change.undoable]
    if not alive:
        notify(_("There is nothing to undo."))
        return None
    names = list(dict.fromkeys(map(path_text, alive)))
    title = ngettext("Undo changes to {n} file?", "Undo changes to {n} files?", len(names))
    ids, workflow_id = [change.id for change in alive], alive[0].workflow_id
    count = ngettext("{n} change will be undone.", "{n} changes will be undone.", len(alive))
    more = count if len(alive) > len(names) else ""
    details = "\n\n".join(filter(None, (changed_text(alive), more, undo_text(alive))))
    return confirm(
        parent,
        title,
        details,
        _("Undo these changes"),
        lambda: bridge.jobs.start(_undo_changes(bridge, parent, workflow_id, ids, notify)),
        no=_("Keep the changes"),
    )


async def undo_changes(
    bridge: Bridge, parent: QWidget, workflow_id: str, ids: Sequence[str], *, force: bool
) -> list[UndoneChange]:
    """Undo changes, newest first; returns the result of each.

    After ``SHOWN_AFTER_MS`` a progress dialog appears; cancelling keeps the older changes.
    """
    parts = portions(ids)
    box = _Progress(parent, len(ids)) if len(parts) > 1 else None
    done: list[UndoneChange] = []
    try:
        for part in parts:
            done += await bridge.engine.files.undo(workflow_id, part, force=force)
            if box is not None and not box.show_progress(len(done)):
                break
    finally:
        if box is not None:
            box.end()
    return done


class _Progress(QProgressDialog):
    """``undo-progress``."""

    def __init__(self, parent: QWidget, count: int) -> None:
        super().__init__(_("Changes are undone starting with the newest."), _("Stop"), 0, count, parent.window())
        self.setObjectName("undo-progress")
        self.setWindowTitle(_("Undo"))
        self.setMinimumDuration(SHOWN_AFTER_MS)
        self.setAutoClose(False)
        self.setAutoReset(False)
        self.setValue(0)

    def show_progress(self, done: int) -> bool:
        """Show the progress; False if the user cancelled."""
        if not isValid(self) or self.wasCanceled():
            return False
        self.setValue(done)
        return True

    def end(self) -> None:
        if isValid(self):
            self.hide()
            self.deleteLater()


async def _undo_changes(
    bridge: Bridge,
    parent: QWidget,
    workflow_id: str,
    ids: Sequence[str],
    notify: Callable[[str], object],
    *,
    force: bool = False,
) -> None:
    done = await undo_changes(bridge, parent, workflow_id, ids, force=force)
    left = [each for each in done if each.problem is not None]
    count = len(done) - len(left)
    if count:
        notify(ngettext("{n} change undone", "{n} changes undone", count))
    if left:
        again = [each.change.id for each in left if can_be_forced(each)]
        anyway = (
            (lambda: bridge.jobs.start(_undo_changes(bridge, parent, workflow_id, again, notify, force=True)))
            if again
            else None
        )
        ask_about_left(parent, left, some=bool(count), anyway=anyway)


def can_be_forced(left: UndoneChange) -> bool:
    """Whether it was skipped because of a later change by someone else, which the user may override."""
    return isinstance(left.problem, ConflictError)


def undo_left_text(left: Sequence[UndoneChange]) -> list[str]:
    """Why changes were not undone, each reason once."""
    found: dict[str, None] = {}
    for each in left:
        if each.problem is not None and each.problem.code == "workspace_gone":
            text = _(
                "The folder {folder} no longer exists. Restore it, then try again.",
                folder=each.change.root,
            )
            found[text] = None
        elif each.problem is not None:
            found[call_failure_text.in_words(each.problem)] = None
    texts = list(found)
    more = ["…"] if len(texts) > NAMED else []
    return [*texts[:NAMED], *more]


def ask_about_left(
    parent: QWidget, left: Sequence[UndoneChange], *, some: bool, anyway: Callable[[], object] | None = None
) -> QMessageBox:
    """``undo-both``: what was not undone and why.

    With ``anyway`` the user can force it; ``some``: other changes were undone.
    """
    box = MessageBox(parent, "undo-both")
    box.setText(_("Some changes were not undone.") if some else _("Nothing was undone."))
    box.setInformativeText("\n\n".join(undo_left_text(left)))
    if anyway is not None:
        forced = box.add(_("Undo anyway"), "undo-anyway", QMessageBox.ButtonRole.DestructiveRole, "danger")
        forced.clicked.connect(lambda *_on: anyway())
    leave = box.add(
        _("Keep as is") if anyway is not None else _("Close"), "undo-leave", QMessageBox.ButtonRole.RejectRole
    )
    box.setDefaultButton(leave)
    box.setEscapeButton(leave)
    box.open()
    return box
