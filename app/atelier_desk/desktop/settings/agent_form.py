"""The form of one agent: every field of its configuration, what is wrong said under the field."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.panes.fields import pad
from atelier_desk.desktop.panes.wording import locale, number
from atelier_desk.desktop.settings.prompt_cost import PromptCostNote
from atelier_desk.desktop.settings.schema_field import SchemaField
from atelier_desk.desktop.settings.tool_boxes import ToolBoxes
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Translated, control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox, DoubleSpinBox, SpinBox
from atelier_desk.desktop.widgets.wrapping import TextField
from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Budget, Effort, Lifecycle, ToolDialect, ToolMode
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.i18n import N_, _
from atelier_desk.profile_words import ALL

TITLES = {
    "name": N_("Name"), "provider": N_("Provider"), "model": N_("Model"), "system_prompt": N_("Instructions"), "tools": N_("Tools"),
    "temperature": N_("Temperature"), "max_tokens": N_("Max reply length (tokens)"), "enable_thinking": N_("Think before answering"),
    "effort": N_("Thinking effort"),
    "tool_mode": N_("Tool loading"), "tool_dialect": N_("Tool-call format"), "max_tool_iterations": N_("Steps per turn"),
    "question_timeout_s": N_("Question timeout in seconds (0 = none)"), "max_cost": N_("Cost limit per run ($)"),
    "max_total": N_("Token limit per run"), "max_seconds": N_("Time limit per run (seconds)"),
    "max_tool_calls": N_("Tool-call limit per run"),
    "lifecycle": N_("Lifetime"), "sections": N_("Tool sections"), "approval": N_("Permissions"),
    "answer_schema": N_("Answer schema (JSON Schema)"),
}  # fmt: skip
CHOICES: dict[str, tuple[tuple[Any, str], ...]] = {
    "tool_mode": (
        (ToolMode.DIRECT, N_("All at once")),
        (ToolMode.SECTIONS, N_("By section")),
        (ToolMode.INVOKE, N_("As a list")),
    ),
    "tool_dialect": (
        (ToolDialect.AUTO, N_("Automatic")),
        (ToolDialect.NATIVE, N_("Native function calling")),
        (ToolDialect.XML, N_("XML in the text")),
        (ToolDialect.GUIDED, N_("Guided (very small models)")),
    ),
    "effort": (
        (None, N_("Server default")),
        (Effort.LOW, N_("Low")),
        (Effort.MEDIUM, N_("Medium")),
        (Effort.HIGH, N_("High")),
    ),
    "approval": tuple((profile.mode, profile.title) for profile in ALL),
    "lifecycle": ((Lifecycle.PERMANENT, N_("Permanent")), (Lifecycle.TEMPORARY, N_("Temporary"))),
}
_MESSAGES = {
    "string_too_short": N_("must not be blank"),
    "value_error": N_("must not be blank"),
    "string_too_long": N_("is too long: {length} of {max_length} characters"),
    "greater_than_equal": N_("must be at least {ge}"),
    "less_than_equal": N_("must be at most {le}"),
}
_LIST_FIELDS = ("sections",)
_NOT_OFFERED = ("mcp_servers",)
"""Parts of an agent file that nothing acts on yet: they are kept as they are and not shown."""
_BUDGET = ("max_cost", "max_total", "max_seconds", "max_tool_calls")


def _spin(low: int, high: int, parent: QWidget) -> QSpinBox:
    made = SpinBox(parent)
    made.setRange(low, high)
    made.setGroupSeparatorShown(True)
    pad(made)
    return made


_STEP = 0.1
"""Of the temperature."""


def _decimal(low: float, high: float, step: float, places: int, parent: QWidget) -> QDoubleSpinBox:
    made = DoubleSpinBox(parent)
    made.setRange(low, high)
    made.setSingleStep(step)
    made.setDecimals(places)
    made.setGroupSeparatorShown(True)
    pad(made)
    return made


class AgentForm(Translated, QWidget):
    """``agent-form``. Controls are named ``agent-<field>``; a budget of 0 means no cap."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agent-form")
        self._base: AgentConfig | None = None
        self._models: list[ModelInfo] = []
        self._filling = False
        self.fields: dict[str, QWidget] = {}
        self._captions: dict[str, QLabel] = {}
        self._errors: dict[str, QLabel] = {}
        self._column = fill(QVBoxLayout(self), margins=(0, 0, 0, 0), spacing=12)
        self._make_fields()
        self._lay_out()
        self._connect()
        self.retranslate()

    # building -----------------------------------------------------------------------------------------------------------------------

    def _make_fields(self) -> None:
        self.name = QLineEdit(self)
        self.system_prompt = TextField(self)
        self.name.setMaxLength(limits.AGENT_NAME)
        self.system_prompt.setTabChangesFocus(True)
        self.system_prompt.setFixedHeight(theme().px(110))
        self.provider = ComboBox(self)
        self.model = ComboBox(self)
        self.model.setEditable(True)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        for box in (self.provider, self.model):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(8)
        coldest, hottest = limits.TEMPERATURE
        self.temperature = _decimal(coldest - _STEP, hottest, _STEP, 2, self)  # one step below stands for none
        self.thinking = say(QCheckBox(self), TITLES["enable_thinking"])
        self.tools = ToolBoxes(self)
        self.control_note = control(
            label("", "small", self, wrap=True),
            "agent-control-note",
            N_(
                "In addition, every agent can ask you a question, show you something and finish its work, and a "
                "sub-agent can ask its parent. Only guided agents (very small models) cannot."
            ),
        )
        self.cost = PromptCostNote(self)
        self.fields = {
            "name": self.name, "provider": self.provider, "model": self.model, "system_prompt": self.system_prompt, "tools": self.tools,
            "temperature": self.temperature, "max_tokens": _spin(*limits.MAX_TOKENS, self), "enable_thinking": self.thinking,
            "approval": ComboBox(self), "question_timeout_s": _decimal(0, 86_400, 30, 0, self),
            "effort": ComboBox(self), "tool_mode": ComboBox(self), "tool_dialect": ComboBox(self),
            "max_tool_iterations": _spin(*limits.TOOL_ITERATIONS, self), "lifecycle": ComboBox(self),
            "max_cost": _decimal(0, 10_000, 0.5, 2, self), "max_total": _spin(0, 100_000_000, self),
            "max_seconds": _decimal(0, 1_000_000, 60, 0, self), "max_tool_calls": _spin(0, 100_000, self),
            "sections": QLineEdit(self), "answer_schema": SchemaField(self),
        }  # fmt: skip
        for name, choices in CHOICES.items():
            for value, _text in choices:
                self._box(name).addItem("", value)
            say(self._box(name), items=[text for _value, text in choices])
        for name, field in self.fields.items():
            if name != "tools":
                field.setObjectName(f"agent-{name.replace('_', '-')}")
            say(field, name=TITLES[name])
            if name in _LIST_FIELDS:
                say(field, hint=N_("separated by commas"))

    def _cell(self, name: str, *, headed: bool = True) -> QVBoxLayout:
        """Caption, control, problem; without ``headed`` the caption is made and left to the caller."""
        column = QVBoxLayout()
        column.setSpacing(4)
        caption = say(label("", "muted", self, wrap=True), TITLES[name])
        error = control(label("", "error", self, wrap=True), f"agent-error-{name.replace('_', '-')}")
        error.hide()
        caption.setBuddy(self.fields[name])
        self._captions[name], self._errors[name] = caption, error
        if name == "enable_thinking":
            caption.hide()
        elif headed:
            column.addWidget(caption)
        column.addWidget(self.fields[name])
        if name == "tool_mode":
            column.addWidget(self.cost)
        if name == "tools":
            column.addWidget(self.control_note)
        column.addWidget(error)
        return column

    def _lay_out(self) -> None:
        for row in (("name",), ("provider", "model"), ("system_prompt",), ("tools",), ("temperature", "max_tokens")):
            line = QHBoxLayout()
            line.setSpacing(16)
            for name in row:
                line.addLayout(self._cell(name), 1)
            self._column.addLayout(line)
        self._more_heading = control(label("", "heading", self), "", N_("TOOLS, LIMITS AND BUDGET"))
        self._column.addSpacing(4)
        self._column.addWidget(self._more_heading)
        self._column.addLayout(self._cell("enable_thinking"))  # a line of its own: its text does not wrap
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        more = [name for name in self.fields if name not in self._captions]
        for number_, name in enumerate(more):
            if name == "answer_schema":  # lines of code need the whole width
                grid.addLayout(self._cell(name), number_ // 2 * 2 + 2, 0, 1, 2)
                continue
            cell = self._cell(name, headed=False)
            cell.setContentsMargins(0, 0, 0, 8)
            cell.addStretch(1)  # not an alignment to the top: a wrapped text would get the height of its narrowest guess, and be cut
            above, column = number_ // 2 * 2, number_ % 2
            caption = self._captions[name]
            caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)  # one of two lines stands beside one of one
            grid.addWidget(caption, above, column)
            grid.addLayout(cell, above + 1, column)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        self._column.addLayout(grid)

    def _connect(self) -> None:
        for field in self.fields.values():
            if isinstance(field, QLineEdit | QPlainTextEdit):
                field.textChanged.connect(self._edited)
            elif isinstance(field, QSpinBox | QDoubleSpinBox):
                field.valueChanged.connect(self._edited)
            elif isinstance(field, QCheckBox):
                field.toggled.connect(self._edited)
            elif isinstance(field, QComboBox):
                field.currentTextChanged.connect(self._edited)
        self.tools.changed.connect(self._edited)
        self.schema.textChanged.connect(self._say_schema)
        self.provider.currentTextChanged.connect(lambda _text: self._other_provider())

    @property
    def schema(self) -> SchemaField:
        """The field of the form of the answers."""
        field = self.fields["answer_schema"]
        if not isinstance(field, SchemaField):
            raise TypeError(type(field))
        return field

    def _box(self, name: str) -> QComboBox:
        box = self.fields[name]
        if not isinstance(box, QComboBox):
            raise TypeError(name)
        return box

    def _value(self, name: str) -> Any:
        field = self.fields[name]
        if isinstance(field, QComboBox):
            return field.currentData() if name in CHOICES else field.currentText().strip()
        if name == "temperature" and self.temperature.value() < limits.TEMPERATURE[0]:
            return None
        if isinstance(field, QSpinBox | QDoubleSpinBox):
            return field.value()
        if isinstance(field, QCheckBox):
            return field.isChecked()
        if isinstance(field, SchemaField):
            return field.schema()
        if isinstance(field, QPlainTextEdit):
            return field.toPlainText()
        if isinstance(field, ToolBoxes):
            return field.enabled()
        text = field.text().strip() if isinstance(field, QLineEdit) else ""
        return tuple(filter(None, (part.strip() for part in text.split(",")))) if name in _LIST_FIELDS else text

    def _put(self, name: str, value: Any) -> None:
        field = self.fields[name]
        if isinstance(field, QComboBox) and name in CHOICES:
            places = [row for row in range(field.count()) if field.itemData(row) == value]  # findData finds no None
            if not places:  # from an agent file: not offered, and not changed behind its owner's back
                field.addItem(str(value), value)
            field.setCurrentIndex(places[0] if places else field.count() - 1)
        elif isinstance(field, QComboBox):
            if field.findText(value) < 0 and value:
                field.addItem(value)
            field.setCurrentText(value)
        elif isinstance(field, QSpinBox):
            field.setValue(int(value or 0))
        elif isinstance(field, QDoubleSpinBox):
            field.setValue(field.minimum() if value is None else float(value))
        elif isinstance(field, QCheckBox):
            field.setChecked(bool(value))
        elif isinstance(field, SchemaField):
            field.show_schema(value)
        elif isinstance(field, QPlainTextEdit):
            field.setPlainText(value)
        elif isinstance(field, ToolBoxes):
            field.set_enabled(value)
        elif isinstance(field, QLineEdit):
            field.setText(", ".join(value) if name in _LIST_FIELDS else value)

    # what the page uses -------------------------------------------------------------------------------------------------------------

    def set_models(self, providers: list[str], models: list[ModelInfo]) -> None:
        """The providers there are and what they offer; embedders are left out."""
        chosen, self._filling = self.provider.currentText(), True
        self._models = [info for info in models if not info.embedding]
        self.provider.clear()
        self.provider.addItems(providers)
        if chosen:
            self._put("provider", chosen)
        self._filling = False
        self._offer_models()

    def show_config(self, config: AgentConfig) -> None:
        """Fill the form."""
        self._base, self._filling = config, True
        for name in self.fields:
            if name not in _BUDGET:
                self._put(name, getattr(config, name))
        budget = config.budget
        for name, value in zip(_BUDGET, (budget.max_cost, budget.max_tokens, budget.max_seconds, budget.max_tool_calls), strict=True):
            self._put(name, value)
        self._filling = False
        self._offer_models()
        self.show_errors({})

    def values(self) -> dict[str, Any]:
        """What is entered, as fields of ``AgentConfig``."""
        found = {name: self._value(name) for name in self.fields if name not in _BUDGET}
        cost, tokens, seconds, calls = (self._value(name) or None for name in _BUDGET)
        return found | {"budget": {"max_cost": cost, "max_tokens": tokens, "max_seconds": seconds, "max_tool_calls": calls}}

    def config(self) -> AgentConfig | None:
        """The configuration, or None with every problem shown under its field."""
        problem = self.schema.problem()
        wrong = {"answer_schema": problem} if problem else {}
        try:
            kept = {name: getattr(self._base, name) for name in _NOT_OFFERED} if self._base is not None else {}
            made = AgentConfig(**kept, **self.values())
        except ValidationError as error:
            self.show_errors(wrong | {str(item["loc"][0]): _sentence(item) for item in error.errors(include_url=False)})
            return None
        self.show_errors(wrong)
        return None if wrong else made

    def draft(self) -> AgentConfig | None:
        """What is entered so far, for an estimate; None while it is no configuration."""
        values = self.values()
        try:
            return AgentConfig(**(values | {"name": values["name"] or "?"}))
        except ValidationError:
            return None

    def edited(self) -> bool:
        """Whether something differs from what was shown."""
        if self._base is None:
            return False
        now = self.values()
        kept = {name: getattr(self._base, name) for name in now} | {"budget": Budget.model_dump(self._base.budget)}
        return self.schema.broken or any(now[name] != kept[name] for name in now)

    def show_errors(self, errors: dict[str, str]) -> None:
        """Problems by field; fields without one are cleared."""
        for name, error in self._errors.items():
            error.setText(errors.get(name, ""))
            error.setVisible(name in errors)

    # behaviour ----------------------------------------------------------------------------------------------------------------------

    def _say_schema(self) -> None:
        """What is wrong with the form of the answers, while it is written."""
        if not self._filling:
            error = self._errors["answer_schema"]
            error.setText(self.schema.problem())
            error.setVisible(bool(error.text()))

    def _edited(self, *_args: object) -> None:
        if not self._filling:
            self.changed.emit()

    def _other_provider(self) -> None:
        """A model of the provider of before is none of this one: its first takes the place, or nothing where none is known."""
        if self._filling:
            return
        self._offer_models()
        if self.model.findText(self.model.currentText()) < 0:
            self.model.setCurrentText(self.model.itemText(0))

    def _offer_models(self) -> None:
        if self._filling:
            return
        self._filling = True
        chosen, provider = self.model.currentText(), self.provider.currentText()
        self.model.clear()
        self.model.addItems([info.name for info in self._models if info.provider == provider])
        self.model.setCurrentText(chosen)
        self._filling = False

    def retranslate(self) -> None:
        for field in self.fields.values():
            if isinstance(field, QSpinBox | QDoubleSpinBox):
                field.setLocale(locale())
        for name in _BUDGET:
            field = self.fields[name]
            if isinstance(field, QSpinBox | QDoubleSpinBox):
                field.setSpecialValueText(_("no limit"))
        self.temperature.setSpecialValueText(_("model default"))
        self._say_schema()
        self.tools.retranslate()
        self.cost.retranslate()


def _sentence(item: Any) -> str:
    """A pydantic error in the reader's words."""
    text = _MESSAGES.get(str(item["type"]))
    if text is None:
        return str(item["msg"])
    context = {key: number(value) if isinstance(value, int) else value for key, value in (item.get("ctx") or {}).items()}
    if item["type"] == "string_too_long":
        context["length"] = number(len(item["input"]))
    return _(text, **context) if context else _(text)
