"""Taking changes of files back from anywhere in the window: named first, and with both ways offered where somebody else wrote meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QProgressDialog, QPushButton, QWidget
from shiboken6 import isValid

from atelier_desk.desktop.settings.files import confirm
from atelier_desk.desktop.theme import mark
from atelier_desk.domain.change import portions
from atelier_desk.file_words import NAMED, changed_words, path_words, undo_words
from atelier_desk.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.change import Change
    from atelier_desk.engine.services.files import UndoneChange

SHOWN_AFTER_MS = 800
"""Nothing is shown for what is over sooner."""


def ask_undo(bridge: Bridge, parent: QWidget, changes: Sequence[Change], told: Callable[[str], object]) -> QMessageBox | None:
    """Name the files and take their changes back after a yes; ``told`` gets what came of it. None when nothing is left to undo."""
    alive = [change for change in changes if change.undoable]
    if not alive:
        told(_("There is nothing to undo."))
        return None
    names = list(dict.fromkeys(map(path_words, alive)))
    title = ngettext("Undo {n} change of files?", "Undo {n} changes of files?", len(alive))
    ids, workflow_id = [change.id for change in alive], alive[0].workflow_id
    details = "\n\n".join(filter(None, (changed_words(names), undo_words(alive))))
    return confirm(parent, title, details, _("Undo"), lambda: bridge.jobs.start(_take_back(bridge, parent, workflow_id, ids, told)))


async def take_back(bridge: Bridge, parent: QWidget, workflow_id: str, ids: Sequence[str], *, force: bool = False) -> list[UndoneChange]:
    """Take changes back, the newest first; gives what came of each. What takes over a second shows how far it is, and can be stopped: the
    older changes stay then."""
    parts = portions(ids)
    box = _Progress(parent, len(ids)) if len(parts) > 1 else None
    done: list[UndoneChange] = []
    try:
        for part in parts:
            done += await bridge.engine.files.undo(workflow_id, part, force=force)
            if box is not None and not box.go_on(len(done)):
                break
    finally:
        if box is not None:
            box.end()
    return done


class _Progress(QProgressDialog):
    """``undo-progress``."""

    def __init__(self, parent: QWidget, count: int) -> None:
        super().__init__(_("Changes are undone, the newest first."), _("Stop"), 0, count, parent.window())
        self.setObjectName("undo-progress")
        self.setWindowTitle(_("Undo"))
        self.setMinimumDuration(SHOWN_AFTER_MS)
        self.setAutoClose(False)
        self.setAutoReset(False)
        self.setValue(0)

    def go_on(self, done: int) -> bool:
        """Show how far it is; False when the person wants no more of it."""
        if not isValid(self) or self.wasCanceled():
            return False
        self.setValue(done)
        return True

    def end(self) -> None:
        if isValid(self):
            self.hide()
            self.deleteLater()


async def _take_back(
    bridge: Bridge, parent: QWidget, workflow_id: str, ids: Sequence[str], told: Callable[[str], object], *, force: bool = False
) -> None:
    done = await take_back(bridge, parent, workflow_id, ids, force=force)
    left = [each for each in done if each.problem is not None]
    count = len(done) - len(left)
    if count:
        told(ngettext("{n} change undone", "{n} changes undone", count))
    if left:
        problems = [each.problem.localized(_) for each in left[:NAMED] if each.problem is not None]
        again = [each.change.id for each in left]
        _offer_both(
            parent,
            "\n".join(problems),
            lambda: bridge.jobs.start(_take_back(bridge, parent, workflow_id, again, told, force=True)),
        )


def _offer_both(parent: QWidget, text: str, anyway: Callable[[], object]) -> QMessageBox:
    box = QMessageBox(parent)
    box.setObjectName("undo-both")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(_("Not everything was undone."))
    box.setInformativeText(text)
    forced = QPushButton(_("Undo anyway"), box)
    forced.setObjectName("undo-anyway")
    mark(forced, "danger")
    leave = QPushButton(_("Leave it as it is"), box)
    leave.setObjectName("undo-leave")
    box.addButton(forced, QMessageBox.ButtonRole.DestructiveRole)
    box.addButton(leave, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(leave)
    box.setEscapeButton(leave)
    forced.clicked.connect(lambda *_on: anyway())
    box.open()
    return box
