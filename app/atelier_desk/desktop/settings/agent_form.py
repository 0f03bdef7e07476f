"""The form of an agent: identity, model and tools, the rest under Advanced; errors are shown at the fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from atelier_desk.desktop.chat.compose.agent_model_choices import key_of, model_choices
from atelier_desk.desktop.settings.fields import Changed, Choice, Field, Line, Lines, Names, Number, Offered, Toggle
from atelier_desk.desktop.settings.json_schema_editor import SchemaField
from atelier_desk.desktop.settings.prompt_size_note import PromptCostNote
from atelier_desk.desktop.settings.tool_checkboxes import ToolBoxes
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.widgets import bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.expand_button import Fold
from atelier_desk.desktop.widgets.picker import Picker, PickerItem
from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Effort, Lifecycle, ToolDialect, ToolMode
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.presentation.model_names import provider_name, unlisted_model_name
from atelier_desk.presentation.permission_profiles import ALL
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.engine.services.request.prompt_size import PromptCost


@dataclass(frozen=True, slots=True)
class Tools(Field):
    """The field for the tools of an agent."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = ToolBoxes(parent)
        made.changed.connect(changed)
        return made

    def show(self, control: ToolBoxes, value: tuple[str, ...]) -> None:
        control.set_enabled(value)

    def read(self, control: ToolBoxes) -> tuple[str, ...]:
        return control.enabled()


@dataclass(frozen=True, slots=True)
class Schema(Field):
    """The field for a JSON Schema, or none."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = SchemaField(parent)
        made.textChanged.connect(changed)
        return made

    def show(self, control: SchemaField, value: dict[str, object] | None) -> None:
        control.show_schema(value)

    def read(self, control: SchemaField) -> dict[str, object] | None:
        return control.schema()


MODES = (
    (ToolMode.DIRECT, N_("All at once")),
    (ToolMode.SECTIONS, N_("By section")),
    (ToolMode.INVOKE, N_("As a list")),
)
DIALECTS = (
    (ToolDialect.AUTO, N_("Automatic")),
    (ToolDialect.NATIVE, N_("Native function calling")),
    (ToolDialect.XML, N_("As text (XML)")),
    (ToolDialect.GUIDED, N_("Guided (very small models)")),
)
EFFORTS = (
    (None, N_("Server default")),
    (Effort.LOW, N_("Low")),
    (Effort.MEDIUM, N_("Medium")),
    (Effort.HIGH, N_("High")),
)
LIFETIMES = ((Lifecycle.PERMANENT, N_("Permanent")), (Lifecycle.TEMPORARY, N_("Temporary")))
NO_LIMIT = N_("no limit")
FIELDS: tuple[Field, ...] = (
    Line("name", N_("Name"), limit=limits.AGENT_NAME),
    Line("purpose", N_("Purpose"), limit=limits.AGENT_PURPOSE, example=N_("What it is for, in one line")),
    Lines("system_prompt", N_("Instructions")),
    Tools("tools", N_("Tools")),
    Offered("provider", N_("Provider")),
    Offered("model", N_("Model ID"), free=True),
    Number("temperature", N_("Temperature"), step=0.1, places=2, zero=N_("model default"), optional=True, below=True),
    Number("max_tokens", N_("Max reply length (tokens)")),
    Toggle("enable_thinking", N_("Think before answering")),
    Choice("approval", N_("Permissions"), choices=tuple((profile.mode, profile.title) for profile in ALL)),
    Number("question_timeout_s", N_("Question timeout in seconds (0 = none)"), step=30, most=86_400),
    Choice("effort", N_("Thinking effort"), choices=EFFORTS),
    Choice("tool_mode", N_("Tool loading"), choices=MODES),
    Choice("tool_dialect", N_("Tool-call format"), choices=DIALECTS),
    Number("max_tool_iterations", N_("Steps per turn")),
    Choice("lifecycle", N_("Lifetime"), choices=LIFETIMES),
    Number(
        "budget.max_cost", N_("Cost limit per run ($)"), name="agent-max-cost",
        step=0.5, places=2, most=10_000, zero=NO_LIMIT, optional=True,
    ),
    Number("budget.max_tokens", N_("Token limit per run"), name="agent-max-total", most=100_000_000, zero=NO_LIMIT,
    optional=True),
    Number(
        "budget.max_seconds", N_("Time limit per run (seconds)"), name="agent-max-seconds",
        step=60, most=1_000_000, zero=NO_LIMIT, optional=True,
    ),
    Number(
        "budget.max_tool_calls", N_("Tool-call limit per run"), name="agent-max-tool-calls",
        most=100_000, zero=NO_LIMIT, optional=True,
    ),
    Names("sections", N_("Tool sections"), example=N_("separated by commas")),
    Schema("answer_schema", N_("Answer schema (JSON Schema)")),
)  # fmt: skip


class AgentForm(Form):
    """``agent-form``. Controls are named ``agent-<field>``."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(AgentConfig, parent, "agent", *FIELDS)
        self.setObjectName("agent-form")
        self._models: list[ModelInfo] = []
        self.name = self.controls["name"]
        self.tools: ToolBoxes = self.controls["tools"]
        self.schema: SchemaField = self.controls["answer_schema"]
        self.provider: QComboBox = self.controls["provider"]
        self.model_box: QComboBox = self.controls["model"]
        self.cost = PromptCostNote(self)
        self.picker = control(Picker(self), "agent-model-picker", name=N_("Model"))
        self._favourites: Sequence[str] = ()
        self._recent: Sequence[str] = ()
        self._lay_out()
        self.changed.connect(self._check_schema_text)
        self.changed.connect(self._show_model)
        self.picker.chosen.connect(self._on_picked)
        self.provider.currentTextChanged.connect(lambda _text: self._other_provider())
        bind(self._show_model, on="language")

    def _lay_out(self) -> None:
        note = control(
            label("", "small", self, wrap=True),
            "agent-control-note",
            N_(
                "In addition to these tools, every agent can ask you questions, show you things and report that it "
                "is done, and a sub-agent can ask its parent questions. This does not apply to agents with guided "
                "tool calls (very small models)."
            ),
        )
        self._body = QWidget(self)
        self.advanced = Fold(self, "agent-advanced", N_("Advanced"), self._body)
        model = QWidget(self)
        caption = bind_text(label("", "muted", model), N_("Model"))
        caption.setBuddy(self.picker)
        lines = (
            self.line("name", "purpose", stretch=(2, 3)),
            model,
            self.cell("system_prompt"),
            self.cell("tools", note),
        )
        line = hbox(None, self.advanced, 1)
        vbox(self, *lines, line, self._body, spacing=12)
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        rows = (self.line("provider", "model"), self.line("temperature", "max_tokens"), self.cell("enable_thinking"))
        vbox(self._body, *rows, grid, spacing=12)
        vbox(model, caption, self.picker, self.errors["model"], spacing=4)
        for number, key in enumerate(key for key in self.fields if key not in self.captions):
            above, side = number // 2 * 2, number % 2
            if key == "answer_schema":  # code needs the full width
                grid.addWidget(self.cell(key), above + 2, 0, 1, 2)
                continue
            cell = self.cell(key, *([self.cost] if key == "tool_mode" else []), headed=False)
            cell.layout().addStretch(1)  # type: ignore[union-attr]  # a stretch instead of top alignment, which would clip a wrapped text
            cell.setContentsMargins(0, 0, 0, 8)
            caption = self.captions[key]
            # Captions of one and of two lines are side by side.
            caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
            grid.addWidget(caption, above, side)
            grid.addWidget(cell, above + 1, side)

    def set_models(
        self, providers: list[str], models: list[ModelInfo], favourites: Sequence[str] = (), recent: Sequence[str] = ()
    ) -> None:
        """Set the providers and their models, including those listed first; embedders are omitted."""
        self._favourites, self._recent = favourites, recent
        self._models = [info for info in models if not info.embedding]
        chosen = self.fields["provider"].read(self.provider)
        self.offer("provider", providers if chosen in providers or not chosen else [*providers, chosen])
        self._offer_models()
        self._show_model()

    def show_values(self, stored: BaseModel) -> None:
        super().show_values(stored)
        self._offer_models()
        self._show_model()

    def show_costs(self, costs: Mapping[ToolMode, PromptCost]) -> None:
        """Show the size of the agent's prompt in each tool mode."""
        self.cost.show_costs(costs)
        self.tools.show_cost(costs.get(self.fields["tool_mode"].read(self.controls["tool_mode"])))

    def draft(self) -> AgentConfig | None:
        """The current input, for an estimate; None if it is not a valid configuration."""
        values = self.values()
        try:
            return AgentConfig(**(values | {"name": values["name"] or "?"}))
        except ValidationError:
            return None

    def edited(self) -> bool:
        return self.base is not None and (self.schema.broken or super().edited())

    def checked(self) -> object:
        made = super().checked()
        self._check_schema_text()
        if any(not each.isHidden() and self._body.isAncestorOf(each) for each in self.errors.values()):
            self.advanced.setChecked(True)  # makes the error visible
        return None if self.schema.broken else made

    def _check_schema_text(self) -> None:
        """Validate the answer schema while typing."""
        bind_text(self.errors["answer_schema"], self.schema.problem)
        self.errors["answer_schema"].setVisible(self.schema.broken)

    def _other_provider(self) -> None:
        """Select the new provider's first model, or none: models belong to one provider."""
        if self._filling:
            return
        self._offer_models()
        if self.model_box.findText(self.model_box.currentText()) < 0:
            self.model_box.setCurrentText(self.model_box.itemText(0))

    def _on_picked(self, key: str) -> None:
        provider, _slash, model = key.partition("/")
        for name, value in (("provider", provider), ("model", model)):
            self.fields[name].show(self.controls[name], value)

    def _show_model(self) -> None:
        """Show the fields' values in the picker; an unlisted model by its name."""
        provider, model = (self.fields[name].read(self.controls[name]) for name in ("provider", "model"))
        items, key = model_choices(self._models, self._favourites, self._recent), key_of(provider, model)
        items = [replace(each, starred=None) for each in items]
        if model and all(each.key != key for each in items):
            items.insert(0, PickerItem(key, unlisted_model_name(provider, model), provider_name(provider)))
        self.picker.set_choices(items, key, None if model else _("Choose a model"))

    def _offer_models(self) -> None:
        if not self._filling:
            self.offer("model", [info.name for info in self._models if info.provider == self.provider.currentText()])
