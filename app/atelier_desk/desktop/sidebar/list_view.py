"""The list of workflows: open, rename in place, select several, drag into folders."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPalette
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from atelier_desk.desktop.sidebar.list_model import ARCHIVE, ROW, Index, ListState, Row, WorkflowModel, excerpt_text
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets.date_format import short_day
from atelier_desk.desktop.widgets.list_rows import ListRow, RowAction, RowDelegate
from atelier_desk.desktop.widgets.scroll_bar_space import OverlayBar
from atelier_desk.domain import limits
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.workflow import Workflow

_PLAIN = Qt.KeyboardModifier.NoModifier
_ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
_SELECT = QItemSelectionModel.SelectionFlag
_DOTS = {"running": "accent", "waiting": "warn", "paused": "muted", "interrupted": "warn", "error": "err"}
_MENU = RowAction("menu", "ellipsis", "text", on_hover=True)


class WorkflowListView(QListView):
    """A click or Enter opens; Shift and Ctrl select several; F2 renames, Delete deletes.

    The right button, the menu key and the … open the menu of the clicked row, without opening or selecting it.

    Attributes:
        shown_id: the workflow in view.

    Signals:
        chosen: open this workflow.
        found: open this message, a ``SearchHit``.
        fold_requested: expand or collapse this heading.
        delete_requested: delete these workflows.
        menu_requested: show the menu of these workflows at a global position.
        fold_menu_requested: show the menu of this folder at a global position.
        end_reached: the last row became visible.
        left: the focus left the list upwards.
    """

    chosen = Signal(str)
    found = Signal(object)
    fold_requested = Signal(str)
    delete_requested = Signal(list)
    menu_requested = Signal(list, QPoint)
    fold_menu_requested = Signal(str, QPoint)
    end_reached = Signal()
    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setViewport(self._own_viewport())
        OverlayBar(self)
        self.setObjectName("workflow-list")
        mark(self, "plain")
        self.shown_id = ""
        self._asked: Collection[str] = ()
        self._several = False
        self._delegate = RowDelegate(self, self.list_row, pad=8, rename=(N_("Name"), limits.WORKFLOW_NAME))
        self.setItemDelegate(self._delegate)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setDragDropOverwriteMode(True)  # items are dropped onto rows, never between them
        # The right button does not take the focus; the left one does below.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._pressed: Row | None = None
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def _own_viewport(self) -> QWidget:
        """A viewport like Qt's.

        Accessing one created by Qt makes PySide6 load all widget classes: a tenth of the first paint.
        """
        made = QWidget(self)
        made.setBackgroundRole(QPalette.ColorRole.Base)
        made.setAutoFillBackground(True)
        return made

    @property
    def rows(self) -> WorkflowModel:
        model = self.model()
        assert isinstance(model, WorkflowModel)
        return model

    def current(self) -> Workflow | None:
        return self.rows.workflow_at(self.currentIndex())

    @property
    def marked(self) -> list[str]:
        """The selected workflows, from the top."""
        indexes = sorted(self.selectedIndexes(), key=lambda index: index.row())
        return [workflow.id for workflow in map(self.rows.workflow_at, indexes) if workflow is not None]

    def show_rows(self, shown: ListState) -> None:
        """Show other rows; the selection stays as far as possible."""
        marked, current = self.marked, self.current()
        row = self.rows.row_at(self.currentIndex())
        fold = row.fold if row is not None else ""
        before = self.verticalScrollBar().value()
        resets: list[bool] = []
        link = self.rows.modelReset.connect(lambda: resets.append(True))
        self.rows.show(shown)
        self.rows.modelReset.disconnect(link)
        if resets:
            self._select(marked, current.id if current is not None else "")
            if fold and (index := self.rows.index_of_fold(fold)).isValid():
                self.selectionModel().setCurrentIndex(index, _SELECT.NoUpdate)
            self.verticalScrollBar().setValue(before)

    def select_one(self, workflow_id: str) -> None:
        """Select only this workflow, or nothing."""
        self._select([workflow_id], workflow_id)

    def show_asked(self, names: Collection[str]) -> None:
        """Frame the rows of an open menu."""
        self._asked = names
        self.viewport().update()

    def list_row(self, index: Index) -> ListRow:
        """A heading, a folder, a found message, or a workflow with its state.

        The workflow in view is marked regardless of the selection; with several selected, each has a check mark.
        """
        row: Row = index.data(ROW)
        found = self.rows.shown.found
        needle = found.needle if found is not None else ""
        if row.fold:
            icon = "archive" if row.fold == ARCHIVE else "folder" if row.closed else "folder-open"
            arrow = "chevron-right" if row.closed else "chevron-down"
            framed = row.fold in self._asked
            return ListRow(
                row.heading, end=str(row.count), icon=icon, weight=500, marks=(arrow,), marked=False, framed=framed
            )
        if row.hit is not None:
            return ListRow(
                row.hit.workflow_name,
                end=short_day(row.hit.at),
                lines=(excerpt_text(row.hit),),
                needle=needle,
                weight=500,
                marked=False,
            )
        workflow = row.workflow
        if workflow is None:
            return ListRow(heading=row.heading)
        ticked = self._several and self.selectionModel().isSelected(index)
        shown = workflow.id == self.shown_id
        waiting = workflow.pending_questions + workflow.pending_approvals
        return ListRow(
            workflow.name,
            needle=needle,
            icon="check" if ticked else "pin" if workflow.pinned else "message-square",
            role="accent" if ticked or shown else "muted",
            colour="muted" if workflow.archived and not shown else "text",
            weight=600 if workflow.unread else 500 if shown else 400,
            depth=int(row.indented),
            badge=str(waiting or ""),
            dot=_DOTS.get(workflow.status.value) or ("ok" if workflow.unread else ""),
            actions=(_MENU,),
            marked=ticked or shown,
            framed=workflow.id in self._asked,
        )

    def _select(self, ids: list[str], current_id: str) -> None:
        chosen = QItemSelection()
        for each in ids:
            if (index := self.rows.index_of(each)).isValid():
                chosen.select(index, index)
        current = self.rows.index_of(current_id) if current_id else QModelIndex()
        self.selectionModel().setCurrentIndex(current, _SELECT.NoUpdate)
        self.selectionModel().select(chosen, _SELECT.ClearAndSelect)

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        several = len(self.marked) > 1
        if several or self._several:
            self._several = several
            self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = event.position().toPoint()
        index = self.indexAt(place)
        self._pressed = self.rows.row_at(index)
        workflow = self.rows.workflow_at(index)
        left = event.button() is Qt.MouseButton.LeftButton
        if left and workflow is not None and self._delegate.action_at(index, place):
            self._pressed = None
            self.menu_requested.emit(self._meant(workflow.id), event.globalPosition().toPoint())
        elif left:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            super().mousePressEvent(event)
        # Any other button would select the row in Qt; the menu opens without that.

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        dragged = self.state() == self.State.DraggingState
        super().mouseReleaseEvent(event)
        row, self._pressed = self._pressed, None
        plain = event.button() is Qt.MouseButton.LeftButton and event.modifiers() == _PLAIN
        if (
            row is not None
            and plain
            and not dragged
            and self.rows.row_at(self.indexAt(event.position().toPoint())) == row
        ):
            self._open(row)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.accept()
        by_pointer = event.reason() is QContextMenuEvent.Reason.Mouse
        if not by_pointer:
            self.scrollTo(self.currentIndex())
        index: QModelIndex | QPersistentModelIndex = self.indexAt(event.pos()) if by_pointer else self.currentIndex()
        # For the menu key Qt uses the middle of the list, which is unrelated to the row.
        place = event.globalPos() if by_pointer else self.viewport().mapToGlobal(self.visualRect(index).bottomLeft())
        row = self.rows.row_at(index)
        if row is not None and row.workflow is not None:
            self.menu_requested.emit(self._meant(row.workflow.id), place)
        elif row is not None and row.fold.startswith(":"):
            self.fold_menu_requested.emit(row.fold[1:], place)

    def _meant(self, workflow_id: str) -> list[str]:
        """The workflows of a menu: the selection if this row is part of it, else only this row."""
        marked = self.marked
        return marked if workflow_id in marked else [workflow_id]

    def focusInEvent(self, event: QFocusEvent) -> None:
        if not self.currentIndex().isValid() and (shown := self.rows.index_of(self.shown_id)).isValid():
            # Qt would use the first row, which is another one.
            self.selectionModel().setCurrentIndex(shown, _SELECT.NoUpdate)
        super().focusInEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.state() == self.State.EditingState or not self._key(event):
            super().keyPressEvent(event)

    def _key(self, event: QKeyEvent) -> bool:
        """Handle a key; returns whether it was one of the list's."""
        key, row = event.key(), self.rows.row_at(self.currentIndex())
        if key in _ENTER and row is not None:
            self._open(row)
        elif key == Qt.Key.Key_Delete and self.marked:
            self.delete_requested.emit(self.marked)
        elif key == Qt.Key.Key_Escape and self._several:
            self.select_one(self.shown_id)
        elif row is not None and row.fold and key == (Qt.Key.Key_Right if row.closed else Qt.Key.Key_Left):
            self.fold_requested.emit(row.fold)
        elif key == Qt.Key.Key_Up and event.modifiers() == _PLAIN and self.currentIndex().row() == self._first():
            self.left.emit()
        else:
            return False
        return True

    def enter(self) -> bool:
        """Focus the first row; False if there is none."""
        first = self._first()
        if first >= 0:
            self.setFocus(Qt.FocusReason.TabFocusReason)
            self.setCurrentIndex(self.rows.index(first))
        return first >= 0

    def open_first(self) -> None:
        """Open the first row."""
        if (row := self.rows.row_at(self.rows.index(self._first()))) is not None:
            self._open(row)

    def _first(self) -> int:
        """The index of the first row that can be opened, -1 if there is none."""
        count = self.rows.rowCount()
        return next((i for i in range(count) if self.rows.flags(self.rows.index(i)) & Qt.ItemFlag.ItemIsEnabled), -1)

    def _open(self, row: Row) -> None:
        if row.workflow is not None:
            self.chosen.emit(row.workflow.id)
        elif row.hit is not None:
            self.found.emit(row.hit)
        elif row.fold:
            self.fold_requested.emit(row.fold)

    def _on_scrolled(self, value: int) -> None:
        if value >= self.verticalScrollBar().maximum() - 100:
            self.end_reached.emit()
