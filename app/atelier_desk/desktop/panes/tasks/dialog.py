"""The form of a new or existing task."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.panes.spin_box_padding import pad
from atelier_desk.desktop.panes.tasks.list import STATUS_WORDS
from atelier_desk.desktop.panes.tasks.task_tree import possible_dependencies
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox, DoubleSpinBox
from atelier_desk.domain import limits
from atelier_desk.domain.task import Task, TaskStatus
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import visible

MINUTE_MS = 60_000
MOST_MINUTES = 1_000_000.0


class TaskDialog(FormDialog):
    """``task-dialog``.

    ``accepted_fields(dict)`` carries name, description, priority, dependencies and, for an existing task, status.

    For a completed task also ``duration_ms``, if the user entered it.
    """

    accepted_fields = Signal(dict)

    def __init__(self, tasks: Iterable[Task], task: Task | None, parent: QWidget) -> None:
        super().__init__(_("New task") if task is None else _("Edit task"), parent)
        self.setObjectName("task-dialog")
        self._task = task
        self.name = control(QLineEdit(task.name if task else "", self), "task-name")
        self.name.setMaxLength(limits.TASK_NAME)
        self.add_field(_("Name"), self.name)
        self.description = control(TextField(task.description if task else "", self), "task-description")
        self.description.setTabChangesFocus(True)
        bind(self.description.setFixedHeight, lambda: theme().px(84), on="look")
        self.add_field(_("Description"), self.description)
        self.priority = control(ComboBox(self), "task-priority")
        words = {1: _("1 – most urgent"), 3: _("3 – normal"), 5: _("5 – least urgent")}
        for value in range(limits.TASK_PRIORITY[0], limits.TASK_PRIORITY[1] + 1):
            self.priority.addItem(words.get(value, str(value)), value)
        self.priority.setCurrentIndex(
            (task.priority if task else limits.TASK_PRIORITY_DEFAULT) - limits.TASK_PRIORITY[0]
        )
        self.add_field(_("Priority"), self.priority)
        self.status = control(ComboBox(self), "task-status")
        if task is not None:
            for status in TaskStatus:
                self.status.addItem(_(STATUS_WORDS[status]), status)
            self.status.setCurrentIndex(list(TaskStatus).index(task.status))
            self.add_field(_("Status"), self.status)
        else:
            self.status.hide()
        self._add_duration(task)
        self._add_dependencies(possible_dependencies(tasks, task), task.dependencies if task else ())
        self.name.textChanged.connect(self.check)
        self.description.textChanged.connect(self.check)
        self.finish(_("Add") if task is None else _("Save"))
        self.name.setFocus()

    def _add_duration(self, task: Task | None) -> None:
        """Add the duration field, for completed tasks only."""
        self.duration = control(DoubleSpinBox(self), "task-duration")
        self.duration.setRange(0, MOST_MINUTES)
        self.duration.setDecimals(1)
        self.duration.setSingleStep(5)
        self.duration.setGroupSeparatorShown(True)
        self.duration.setSpecialValueText(_("measured from the start of the task"))
        pad(self.duration)
        if task is None:
            self.duration.hide()
            return
        if task.duration_ms is not None:
            self.duration.setValue(task.duration_ms / MINUTE_MS)
        self._measured = self.duration.value()
        self.add_field(_("Duration (minutes)"), self.duration)
        self.status.currentIndexChanged.connect(lambda _index: self._allow_duration())
        self._allow_duration()

    def _allow_duration(self) -> None:
        self.duration.setEnabled(self.status.currentData() == TaskStatus.COMPLETED)

    def _add_dependencies(self, choices: list[Task], chosen: tuple[str, ...]) -> None:
        self.dependencies = control(QListWidget(self), "task-dependencies")
        for task in choices:
            item = QListWidgetItem(visible(task.name), self.dependencies)
            item.setData(Qt.ItemDataRole.UserRole, task.id)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if task.id in chosen else Qt.CheckState.Unchecked)
        self.dependencies.setWordWrap(True)
        self.dependencies.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        bind(self.dependencies.setFixedHeight, lambda: theme().px(108), on="look")
        if choices:
            self.add_field(_("Depends on"), self.dependencies)
        else:
            self.dependencies.hide()

    def problem(self) -> str:
        if not self.name.text().strip():
            return _("Enter a name for the task.")
        length = len(self.description.toPlainText())
        if length > limits.TASK_DESCRIPTION:
            return _(
                "The description has {length} characters; at most {most} are allowed.",
                length=length,
                most=limits.TASK_DESCRIPTION,
            )
        return ""

    def submit(self) -> None:
        items = [self.dependencies.item(row) for row in range(self.dependencies.count())]
        fields: dict[str, object] = {
            "name": self.name.text().strip(),
            "description": self.description.toPlainText(),
            "priority": self.priority.currentData(),
            "dependencies": tuple(
                item.data(Qt.ItemDataRole.UserRole) for item in items if item.checkState() == Qt.CheckState.Checked
            ),
        }
        if self._task is not None:
            fields["status"] = TaskStatus(self.status.currentData())
            if self.duration.isEnabled() and self.duration.value() != self._measured:
                fields["duration_ms"] = round(self.duration.value() * MINUTE_MS)
        self.accepted_fields.emit(fields)
