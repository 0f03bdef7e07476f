"""The form of a memory, with its origin."""

from __future__ import annotations

from datetime import timedelta

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLineEdit, QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.panes.memory.list import TYPE_WORDS, MemoryRow, score_parts
from atelier_desk.desktop.panes.spin_box_padding import pad
from atelier_desk.desktop.panes.time_format import date_time, number
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox, DoubleSpinBox
from atelier_desk.domain import limits
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.memory import DEFAULT_IMPORTANCE, DEFAULT_SCOPE, Memory, MemoryScope, MemoryType
from atelier_desk.engine.services.agent_gallery import current_name
from atelier_desk.support.i18n import _, ngettext


def split_tags(text: str) -> tuple[str, ...]:
    """Parse tags such as ``a, #b c``: separated by commas, without the hash sign, without duplicates."""
    return tuple(
        dict.fromkeys(tag.strip().lstrip("#").strip() for tag in text.split(",") if tag.strip().lstrip("#").strip())
    )


def provenance(memory: Memory) -> str:
    """Author and date of a memory, and how often it was found."""
    by = {
        "user": _("Written by you, {time}"),
        "import": _("Imported {time}"),
    }.get(memory.source, _("Written by {agent}, {time}"))
    lines = [by.format(agent=current_name(memory.agent_source) or _("an agent"), time=date_time(memory.created_at))]
    if memory.updated_at > memory.created_at:
        lines.append(_("Changed {time}", time=date_time(memory.updated_at)))
    if memory.expires_at is not None:
        lines.append(_("Expires {time}", time=date_time(memory.expires_at)))
    if memory.retrieved_by:
        lines.append(ngettext("Used by {n} run", "Used by {n} runs", len(memory.retrieved_by)))
    return "\n".join(lines)


class MemoryDialog(FormDialog):
    """``memory-dialog``. ``accepted_fields(dict)``: content, tags, importance and, for a new one, type and scope.

    Without a workflow, a new memory can only have the scope of all workflows.
    """

    accepted_fields = Signal(dict)

    def __init__(self, row: MemoryRow | None, parent: QWidget | None = None, *, in_workflow: bool = True) -> None:
        super().__init__(_("New memory") if row is None else _("Edit memory"), parent)
        self.setObjectName("memory-dialog")
        self._row = row
        memory = row.memory if row is not None else None
        self.content = control(TextField(memory.content if memory else "", self), "memory-content")
        self.content.setTabChangesFocus(True)
        bind(self.content.setMinimumHeight, lambda: theme().px(96), on="look")
        self.add_field(_("Content"), self.content)
        self.type = control(ComboBox(self), "memory-type")
        for kind in MemoryType:
            self.type.addItem(_(TYPE_WORDS[kind]), kind)
        self.scope = control(ComboBox(self), "memory-scope")
        if in_workflow:
            self.scope.addItem(_("This workflow"), MemoryScope.WORKFLOW)
        self.scope.addItem(_("All workflows"), MemoryScope.GENERAL)
        if memory is None:
            self.add_field(_("Type"), self.type)
            self.add_field(_("Applies to"), self.scope)
            self.type.currentIndexChanged.connect(self._type_chosen)
        else:
            self.type.hide()
            self.scope.hide()
        self.tags = control(QLineEdit(", ".join(memory.tags) if memory else "", self), "memory-tags")
        self.tags.setPlaceholderText(_("separated by commas"))
        self.add_field(_("Tags"), self.tags)
        self.importance = control(DoubleSpinBox(self), "memory-importance")
        pad(self.importance)
        self.importance.setRange(0.0, 1.0)
        self.importance.setSingleStep(0.1)
        self.importance.setDecimals(2)
        self.importance.setValue(memory.importance if memory else DEFAULT_IMPORTANCE[MemoryType.USER_PREF])
        hint = (
            "\n".join(filter(None, (provenance(memory), score_parts(row.hit) if row and row.hit else "")))
            if memory
            else ""
        )
        self.add_field(_("Importance (0 to 1)"), self.importance, hint)
        self.expiry = control(ComboBox(self), "memory-expiry")
        if memory is not None:
            expires = memory.expires_at
            if expires is not None:
                self.expiry.addItem(_("Unchanged: {time}", time=date_time(expires)), None)
            self.expiry.addItem(_("Never"), 0 if expires is not None else None)
            for text, days in ((_("In 7 days"), 7), (_("In 30 days"), 30), (_("In a year"), 365)):
                self.expiry.addItem(text, days)
            self.add_field(_("Expires"), self.expiry)
        else:
            self.expiry.hide()
        self._type_chosen()
        for signal in (self.content.textChanged, self.tags.textChanged):
            signal.connect(self.check)
        self.finish(_("Add") if memory is None else _("Save"))
        self.content.setFocus()
        self.content.moveCursor(QTextCursor.MoveOperation.End)  # appending is more common than prepending

    def _type_chosen(self) -> None:
        if self._row is None:
            kind = MemoryType(self.type.currentData())
            self.importance.setValue(DEFAULT_IMPORTANCE[kind])
            self.scope.setCurrentIndex(max(0, self.scope.findData(DEFAULT_SCOPE[kind])))

    def problem(self) -> str:
        text, tags = self.content.toPlainText(), split_tags(self.tags.text())
        if not text.strip():
            return _("Enter the content of the memory.")
        if len(text) > limits.MEMORY_CONTENT:
            return _("Too long: at most {limit} characters", limit=number(limits.MEMORY_CONTENT))
        if len(tags) > limits.MEMORY_TAGS:
            return _("At most {most} tags", most=limits.MEMORY_TAGS)
        if any(len(tag) > limits.MEMORY_TAG for tag in tags):
            return _("A tag can have at most {most} characters.", most=limits.MEMORY_TAG)
        return ""

    def submit(self) -> None:
        fields: dict[str, object] = {
            "content": self.content.toPlainText().strip(),
            "tags": split_tags(self.tags.text()),
            "importance": round(self.importance.value(), 2),
        }
        if self._row is None:
            fields |= {"type": MemoryType(self.type.currentData()), "scope": MemoryScope(self.scope.currentData())}
        days = self.expiry.currentData()
        if days is not None:
            fields["expires_at"] = utc_now() + timedelta(days=days) if days else None
        self.accepted_fields.emit(fields)
