"""Undo data without a visible workflow, with a delete button, and a note about a workflow's lost undo data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QMessageBox,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.two_line_items import KeyRole, style_list, two_line_item
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text, control, label, vbox
from atelier_desk.presentation.file_change_text import leftover_facts, leftover_name, leftovers_text, lost_data_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import size

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.workspace.checkpoints.leftover_undo_data import Leftover

ROWS = 3
"""Number of visible rows; others scroll."""


class Leftovers(QWidget):
    """``files-leftovers``: hidden if empty. Multiple selection; without a selection the button deletes all.

    Signals:
        deleting: the keys to delete, confirmed by the user.
    """

    deleting = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("files-leftovers")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._leftovers: tuple[Leftover, ...] = ()
        self._lost_changes = 0
        self.question: QMessageBox | None = None
        self.lost = control(label("", "error", self, wrap=True), "files-lost")
        self._heading = label("", "small", self, wrap=True)
        self.list = control(QListWidget(self), "files-leftovers-list")
        style_list(self.list)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.itemSelectionChanged.connect(self._name_button)
        bind_text(self.list, name=N_("Leftover undo data"))
        self.button = control(QPushButton(self), "files-leftovers-delete", on=self._ask)
        left = Qt.AlignmentFlag.AlignLeft
        vbox(
            self,
            self.lost,
            self._heading,
            self.list,
            (self.button, 0, left),
            spacing=4,
        )
        bind(self._show)

    async def load(self, bridge: Bridge, workflow_id: str, changed: bool) -> tuple[list[Leftover], int]:
        """Load what is to be shown. ``changed``: the workflow has listed changes, so its undo data exists."""
        files = bridge.engine.files
        lost = await files.lost(workflow_id) if workflow_id and not changed else 0
        return await files.cleaning.leftovers(again=False), lost

    def show_leftovers(self, leftovers: Sequence[Leftover], lost: int) -> None:
        """List these, and show how many changes of the workflow in view lost their undo data."""
        if (tuple(leftovers), lost) == (self._leftovers, self._lost_changes) and self.list.count():
            return
        self._leftovers, self._lost_changes = tuple(leftovers), lost
        self._show()

    def _show(self) -> None:
        chosen = {item.data(KeyRole) for item in self.list.selectedItems()}
        self.list.clear()
        for each in self._leftovers:
            item = two_line_item(
                self.list, each.key, leftover_name(each), leftover_facts(each), "triangle-alert", "warn"
            )
            item.setSelected(each.key in chosen)
        self.lost.setText(lost_data_text(self._lost_changes))
        self.lost.setVisible(bool(self._lost_changes))
        self._heading.setText("\n".join(leftovers_text(self._leftovers)))
        for part in (self._heading, self.list, self.button):
            part.setVisible(bool(self._leftovers))
        self.list.setMinimumHeight(theme().px(46))
        self.list.setMaximumHeight(theme().px(46) * min(max(len(self._leftovers), 1), ROWS))
        self._name_button()
        self.setVisible(bool(self._leftovers or self._lost_changes))

    def _name_button(self) -> None:
        chosen = len(self.list.selectedItems())
        self.button.setText(ngettext("Delete {n}…", "Delete {n}…", chosen) if chosen else _("Delete all…"))

    def _ask(self) -> None:
        keys = {item.data(KeyRole) for item in self.list.selectedItems()}
        chosen = [each for each in self._leftovers if each.key in keys] or list(self._leftovers)
        text = _("Delete this undo data permanently ({size})?", size=size(sum(each.size for each in chosen)))
        details = _("The deleted files and earlier versions it contains cannot be restored afterwards.")
        self.question = confirm(
            self, text, details, _("Delete"), lambda: self.deleting.emit([each.key for each in chosen])
        )
        self.question.setObjectName("files-leftovers-question")
