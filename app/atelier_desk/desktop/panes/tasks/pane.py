"""The tasks of a workflow, planned by its agent or added by the user."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QProgressBar, QStackedWidget, QWidget

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.panes.pane_base import Pane, offer_undo
from atelier_desk.desktop.panes.tasks.dialog import TaskDialog
from atelier_desk.desktop.panes.tasks.list import STATUS_ICONS, STATUS_WORDS, TaskListView
from atelier_desk.desktop.panes.tasks.task_tree import arrange, progress
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import EmptyState, bind, bind_text, control, fill
from atelier_desk.desktop.widgets.hover_freeze import HoverGate, moved
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge


class TaskPane(Pane):
    """``task-pane``: progress, the list, and all actions on tasks."""

    topics = ("task",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self.setObjectName("task-pane")
        self._tasks: list[Task] = []
        self._wanted = ""
        self._add = self.add_tool("plus", self.add)
        self.bar = control(QProgressBar(self), name=N_("Task progress"))
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.list = TaskListView(self)
        self._gate = HoverGate(self.list, self._show)
        self.empty = EmptyState(
            "list-todo",
            N_("No tasks yet"),
            N_("The agent's tasks appear here. You can add your own."),
            N_("Add a task"),
            parent=self,
        )
        self.empty.button.clicked.connect(lambda *_: self.add())
        self.fold_when(self.empty)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        fill(self.column, self.bar, (self._stack, 1))
        self.list.opened.connect(self.edit)
        self.list.toggled.connect(self.toggle)
        self.list.deleted.connect(self.delete)
        self.list.tasks.move_requested.connect(self._move)
        self.list.tasks.rename_requested.connect(lambda task_id, name: self._update(task_id, {"name": name}))
        self.list.menu_requested.connect(self._menu)
        self.add_key("Ctrl+Shift+N", self.add)
        bind_text(self._add, tip=N_("Add a task"), keys="Ctrl+Shift+N")
        bind_text(self.list, name=N_("Tasks in this workflow"))
        bind(self._show, on="language")

    def reload(self) -> None:
        self.jobs.start(self._load(self.workflow_id), "load")

    async def _load(self, workflow_id: str) -> None:
        tasks = await self.bridge.engine.tasks.list(workflow_id) if workflow_id else []
        if workflow_id == self.workflow_id:
            self._tasks = tasks
            self.was_read()
            self._show()

    def _show(self) -> None:
        tasks = self._tasks
        chosen, rows = self.list.current_row(), arrange(tasks)
        if (
            moved(*([row.task.id for row in shown] for shown in (self.list.tasks.rows, rows)))
            and not self._wanted
            and self._gate.holds()
        ):
            return
        self.list.tasks.set_rows(rows)
        selected = self._wanted or (chosen.task.id if chosen is not None else "")
        self._wanted = ""
        if selected:
            self.list.select(selected)
        done, total = progress(tasks)
        self.heading.setText(_("Tasks · {done} / {total}", done=done, total=total) if total else _("Tasks"))
        self.heading.setAccessibleName(_("Tasks, {done} of {total} done", done=done, total=total))
        self.counted.emit(total - done)
        self.bar.setVisible(total > 0)
        self.bar.setRange(0, max(1, total))
        self.bar.setValue(done)
        self._stack.setCurrentWidget(self.list if total else self.empty)
        self._add.setEnabled(bool(self.workflow_id))
        self.empty.button.setEnabled(bool(self.workflow_id))

    def _task(self, task_id: str) -> Task | None:
        return next((task for task in self._tasks if task.id == task_id), None)

    def add(self) -> None:
        """Open the form of a new task."""
        if self.workflow_id:
            workflow_id = self.workflow_id
            self._open_form(None, lambda fields: self.bridge.engine.tasks.create(workflow_id, **fields))

    def edit(self, task_id: str) -> None:
        """Open the form of a task."""
        task = self._task(task_id)
        if task is not None:
            self._open_form(task, lambda fields: self.bridge.engine.tasks.edit(task, **fields))

    def _open_form(self, task: Task | None, work: Callable[[dict[str, Any]], Coroutine[Any, Any, Task]]) -> None:
        dialog = TaskDialog(self._tasks, task, self.window())

        async def save(fields: dict[str, object]) -> None:
            try:
                saved = await work(fields)
            except Exception as error:
                dialog.show_error(error_text(error))
                return
            dialog.accept()
            self._wanted = saved.id
            self.reload()

        dialog.accepted_fields.connect(lambda fields: self.jobs.once(dialog, lambda: save(fields)))
        dialog.open()

    def _update(self, task_id: str, fields: dict[str, object]) -> None:
        workflow_id = self.workflow_id
        self._do(self.bridge.engine.tasks.update(workflow_id, task_id, **fields))

    def set_status(self, task_id: str, status: TaskStatus) -> None:
        workflow_id = self.workflow_id
        self._do(self.bridge.engine.tasks.set_status(workflow_id, task_id, status))

    def toggle(self, task_id: str) -> None:
        """Mark a task as completed; a completed one as to do."""
        task = self._task(task_id)
        if task is not None:
            done = task.status is TaskStatus.COMPLETED
            self.set_status(task_id, TaskStatus.PENDING if done else TaskStatus.COMPLETED)

    def _move(self, task_id: str, after: str) -> None:
        workflow_id = self.workflow_id
        self._wanted = task_id
        self._do(self.bridge.engine.tasks.move(workflow_id, task_id, after))

    def delete(self, task_id: str) -> None:
        """Delete a task and offer to undo it."""
        task = self._task(task_id)
        if task is not None:
            self.jobs.once(("delete", task.id), lambda: self._delete(task))

    async def _delete(self, task: Task) -> None:
        deleted = await self.bridge.engine.tasks.delete(task.workflow_id, task.id)
        offer_undo(self, _("Task “{name}” deleted", name=task.name), lambda: self._undelete(deleted))
        await self._load(task.workflow_id)

    def _undelete(self, task: Task) -> None:
        self._wanted = task.id
        self._do(self.bridge.engine.tasks.restore(task))

    def _do(self, work: Coroutine[Any, Any, object]) -> None:
        """Perform a change and reload the tasks, also after an error: the list must be correct."""

        async def job() -> None:
            try:
                await work
            finally:
                self.reload()

        self.jobs.start(job())

    def _menu(self, at: QPoint) -> None:
        """The context menu of the current task."""
        row = self.list.current_row()
        if row is None:
            return
        task = row.task
        menu = QMenu(self)
        menu.setObjectName("task-menu")
        menu.addAction(theme().icon("pencil"), _("Edit…"), lambda: self.edit(task.id))
        states = menu.addMenu(_("Status"))
        for status in TaskStatus:
            name, role = STATUS_ICONS[status]
            action = QAction(theme().icon(name, role), _(STATUS_WORDS[status]), states)
            action.setEnabled(status is not task.status)
            action.triggered.connect(lambda _checked=False, status=status: self.set_status(task.id, status))
            states.addAction(action)
        menu.addSeparator()
        menu.addAction(theme().icon("arrow-up"), _("Move up"), lambda: self.list.move_current(-1))
        menu.addAction(theme().icon("arrow-down"), _("Move down"), lambda: self.list.move_current(1))
        menu.addSeparator()
        menu.addAction(theme().icon("trash-2", "err"), _("Delete"), lambda: self.delete(task.id))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(at)
