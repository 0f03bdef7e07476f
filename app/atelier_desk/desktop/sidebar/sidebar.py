"""The left column: new, search, the list of workflows, and at the foot settings, language and connection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QListView, QMenu, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.panes.rows import menu_place
from atelier_desk.desktop.sidebar.delegate import WorkflowDelegate
from atelier_desk.desktop.sidebar.foot import SidebarFoot
from atelier_desk.desktop.sidebar.model import WorkflowModel
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.widgets import EmptyState, ToastHost, Translated, control, fill, say
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.workflow import Workflow

PAGE = 100
SEARCH_MS = 180
RELOAD_MS = 120
DAY_CHECK_MS = 60_000


class WorkflowListView(QListView):
    """The list itself. Enter opens, F2 renames, Delete deletes, the menu key and the … give the menu.

    Signals:
        chosen: open this workflow.
        delete_wanted: delete this workflow.
        menu_wanted: show the menu of this workflow here (global position).
        end_reached: the last row came into view.
    """

    chosen = Signal(str)
    delete_wanted = Signal(str)
    menu_wanted = Signal(str, QPoint)
    end_reached = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("workflow-list")
        mark(self, "plain")
        self.setItemDelegate(WorkflowDelegate(self))
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    @property
    def rows(self) -> WorkflowModel:
        model = self.model()
        assert isinstance(model, WorkflowModel)
        return model

    def current(self) -> Workflow | None:
        return self.rows.workflow_at(self.currentIndex())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        workflow = self.rows.workflow_at(index)
        on_menu = workflow is not None and WorkflowDelegate.menu_rect(self.visualRect(index)).contains(event.position().toPoint())
        if on_menu and workflow is not None and event.button() is Qt.MouseButton.LeftButton:
            self.menu_wanted.emit(workflow.id, event.globalPosition().toPoint())
            return
        super().mousePressEvent(event)
        if workflow is not None and event.button() is Qt.MouseButton.LeftButton:
            self.chosen.emit(workflow.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        workflow = self.current()
        if workflow is not None and event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.state() != self.State.EditingState:
            self.chosen.emit(workflow.id)
        elif workflow is not None and event.key() == Qt.Key.Key_Delete:
            self.delete_wanted.emit(workflow.id)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() is not QContextMenuEvent.Reason.Mouse:
            self.scrollTo(self.currentIndex())
        elif self.rows.workflow_at(self.indexAt(event.pos())) is None:
            return  # a heading, or the ground below the rows
        place, workflow = menu_place(self, event), self.current()
        if place is not None and workflow is not None:
            self.menu_wanted.emit(workflow.id, place)

    def _on_scrolled(self, value: int) -> None:
        if value >= self.verticalScrollBar().maximum() - 100:
            self.end_reached.emit()


class Sidebar(Translated, QWidget):
    """Lists workflows and changes them.

    Signals:
        workflow_chosen: show this one.
        new_wanted: begin a new one.
        workflow_gone: the one with this id was deleted.
    """

    workflow_chosen = Signal(str)
    new_wanted = Signal()
    workflow_gone = Signal(str)

    def __init__(self, bridge: Bridge, toasts: ToastHost, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge, self._toasts = bridge, toasts
        mark(self, "side")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.current_id = ""
        self._limit = PAGE
        self._more = False
        self.new = control(QPushButton(self), "new-workflow", lambda: " " + _("New workflow"))
        self.search = control(QLineEdit(self), "search-field", look="search", hint=N_("Search"), name=N_("Search workflows"))
        self.search.setClearButtonEnabled(True)
        self.model = WorkflowModel(self)
        self.list = WorkflowListView(self)
        self.list.setModel(self.model)
        self.empty = EmptyState("message-square", parent=self, whole=True)
        self.empty.hide()
        self.foot = SidebarFoot(self)
        fill(QVBoxLayout(self), self.new, self.search, (self.list, 1), (self.empty, 1), self.foot, margins=(12, 14, 7, 10), spacing=8)
        self._search_timer = _single_shot(self, SEARCH_MS, self._on_search)
        self._reload_timer = _single_shot(self, RELOAD_MS, self.reload)
        self._day_timer = QTimer(self)
        self._day_timer.timeout.connect(self.model.regroup)
        self._day_timer.start(DAY_CHECK_MS)
        self.new.clicked.connect(self.new_wanted)
        self.search.textChanged.connect(lambda *_: self._search_timer.start())
        self.list.chosen.connect(self.workflow_chosen)
        self.list.delete_wanted.connect(self.delete)
        self.list.menu_wanted.connect(self._show_menu)
        self.list.end_reached.connect(self._on_end)
        self.model.renamed.connect(lambda key, name: self.bridge.jobs.start(self.bridge.engine.workflows.rename(key, name)))
        bridge.changed.connect(self._on_changed)
        theme().changed.connect(self._dress)
        self._dress()
        say(self.list, name=N_("Workflows"))
        self.retranslate()

    # -- list -----------------------------------------------------------------------------------------------------------------
    def reload(self) -> None:
        """Read the list again."""
        self.bridge.jobs.start(self.load())

    async def load(self) -> None:
        """Read the list and keep the current one selected."""
        needle, limit = self.search.text().strip(), self._limit
        workflows = await self.bridge.engine.workflows.list(search=needle, limit=limit)
        self._more = len(workflows) >= limit
        self.model.set_workflows(workflows)
        self._show_selected()
        self.list.setVisible(bool(workflows))
        self.empty.setVisible(not workflows)
        self._say_empty()

    def select(self, workflow_id: str) -> None:
        """Mark a workflow as the one in view; empty marks none."""
        self.current_id = workflow_id
        self.model.set_unread(workflow_id, False)
        self._show_selected()

    def _show_selected(self) -> None:
        index = self.model.index_of(self.current_id) if self.current_id else QModelIndex()
        if index.isValid():
            self.list.setCurrentIndex(index)
        else:
            self.list.clearSelection()
            self.list.setCurrentIndex(QModelIndex())

    def _on_search(self) -> None:
        self._limit = PAGE
        self.reload()

    def _on_end(self) -> None:
        if self._more:
            self._more = False
            self._limit = min(1000, self._limit + PAGE)
            self.reload()

    def _on_changed(self, topic: Topic, _key: str) -> None:
        if topic in {"workflow", "question", "approval"} and not self._reload_timer.isActive():
            self._reload_timer.start()

    # -- changing -------------------------------------------------------------------------------------------------------------
    def rename_current(self) -> None:
        """Edit the name of the workflow in view, in place."""
        index = self.model.index_of(self.current_id)
        if index.isValid():
            self.list.setCurrentIndex(index)
            self.list.edit(index)

    def delete(self, workflow_id: str) -> None:
        """Delete at once, with Undo for a while."""
        self.bridge.jobs.once(("delete", workflow_id), lambda: self._delete(workflow_id))

    async def _delete(self, workflow_id: str) -> None:
        workflow = await self.bridge.engine.workflows.delete(workflow_id)
        self.workflow_gone.emit(workflow_id)
        self._toasts.show(
            _("“{name}” was deleted", name=workflow.name),
            _("Undo"),
            lambda: self.bridge.jobs.once(("undo", workflow_id), lambda: self._undo(workflow_id)),
        )

    async def _undo(self, workflow_id: str) -> None:
        await self.bridge.engine.workflows.undo_delete(workflow_id)
        self.workflow_chosen.emit(workflow_id)

    def toggle_pin(self, workflow_id: str) -> None:
        workflow = self._find(workflow_id)
        if workflow is not None:
            pinned = not workflow.pinned
            self.bridge.jobs.start(self.bridge.engine.workflows.set_pinned(workflow_id, pinned))

    def duplicate(self, workflow_id: str) -> None:
        self.bridge.jobs.once(("duplicate", workflow_id), lambda: self._duplicate(workflow_id))

    async def _duplicate(self, workflow_id: str) -> None:
        copy = await self.bridge.engine.workflows.duplicate(workflow_id)
        self.workflow_chosen.emit(copy.id)
        changed = await self._changed_reports(workflow_id)
        if changed:
            self._toasts.show("\n".join(changed))

    async def _changed_reports(self, workflow_id: str) -> list[str]:
        """A line for each report that a copy does not have as Atelier wrote it."""
        names = await self.bridge.engine.workflows.changed_reports(workflow_id)
        text = N_("The report {name} was damaged or changed by another program. The copy has it as it is now, or not when it is missing.")
        return [_(text, name=name) for name in names]

    def export(self, workflow_id: str) -> None:
        """Ask where to, then write JSON or Markdown by the file's ending."""
        from PySide6.QtWidgets import QFileDialog

        workflow = self._find(workflow_id)
        name = "".join(c if c.isalnum() or c in " -_" else "_" for c in (workflow.name if workflow else workflow_id)).strip()
        dialog = QFileDialog(self, _("Export workflow"), f"{name or workflow_id}.json", "Atelier (*.json);;Markdown (*.md)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.bridge.jobs.start(self.export_to(workflow_id, Path(path))))
        dialog.open()

    async def export_to(self, workflow_id: str, path: Path) -> None:
        """Write the export; ``.md`` gives Markdown to read, anything else JSON that can be imported."""
        from atelier_desk.desktop.settings.files import write_text

        kind = "md" if path.suffix.lower() == ".md" else "json"
        text = await self.bridge.engine.workflows.export(workflow_id, kind)
        await write_text(path, text)
        changed = await self._changed_reports(workflow_id) if kind == "json" else []
        files = await self.bridge.engine.workflows.left_out_files(workflow_id) if kind == "json" else []
        changed += [_("The file {name} is not in the export: it is missing, damaged or too large.", name=name) for name in files]
        self._toasts.show("\n".join([_("Exported to {path}", path=str(path)), *changed]))

    def _find(self, workflow_id: str) -> Workflow | None:
        return next((each for each in self.model.workflows if each.id == workflow_id), None)

    def _show_menu(self, workflow_id: str, position: QPoint) -> None:
        workflow = self._find(workflow_id)
        if workflow is None:
            return
        look = theme()
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        entries: list[tuple[str, str, Any]] = [
            ("pencil", _("Rename"), lambda: self.list.edit(self.model.index_of(workflow_id))),
            ("pin-off" if workflow.pinned else "pin", _("Unpin") if workflow.pinned else _("Pin"), lambda: self.toggle_pin(workflow_id)),
            ("copy", _("Duplicate"), lambda: self.duplicate(workflow_id)),
            ("download", _("Export…"), lambda: self.export(workflow_id)),
        ]
        for icon, text, run in entries:
            menu.addAction(look.icon(icon), text, run)
        menu.addSeparator()
        menu.addAction(look.icon("trash-2", "err"), _("Delete"), lambda: self.delete(workflow_id))
        menu.popup(position)

    # -- looks ----------------------------------------------------------------------------------------------------------------
    def _dress(self) -> None:
        look = theme()
        self.new.setIcon(look.icon("plus", "text"))
        self.new.setIconSize(QSize(look.px(16), look.px(16)))
        for action in self.search.actions():
            self.search.removeAction(action)
        self.search.addAction(look.icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.list.doItemsLayout()

    def _say_empty(self) -> None:
        if self.search.text().strip():
            self.empty.set_texts(N_("Nothing found"), N_("No workflow has this in its name. Search everywhere with Ctrl+Shift+F."))
        else:
            self.empty.set_texts(N_("No workflows yet"), N_("Write a first message to begin one."))

    def retranslate(self) -> None:
        self.model.regroup()
        self._say_empty()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "list"):
            self.list.doItemsLayout()


def _single_shot(parent: QWidget, interval: int, run: Any) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(interval)
    timer.timeout.connect(run)
    return timer
