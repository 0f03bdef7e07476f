"""Settings of one workflow that override its agent's: instructions and limits."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from atelier_desk.desktop.panes.form_dialog import FormDialog
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control
from atelier_desk.desktop.widgets.date_format import locale
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Budget, Choices
from atelier_desk.support.i18n import N_, _

CAPS = (
    ("max_cost", N_("Cost limit per run ($)")),
    ("max_tokens", N_("Token limit per run")),
    ("max_seconds", N_("Time limit per run (seconds)")),
)


class WorkflowSettings(FormDialog):
    """``workflow-settings``. An empty field uses the agent's value, shown as its placeholder.

    Signals:
        chosen: the workflow's changed ``Choices``.
    """

    chosen = Signal(object)

    def __init__(self, choices: Choices, agent: AgentConfig, parent: QWidget | None = None) -> None:
        super().__init__(_("Workflow settings"), parent)
        self.setObjectName("workflow-settings")
        self._choices = choices
        self.instructions = control(TextField(choices.instructions, self), "workflow-instructions")
        self.instructions.setPlaceholderText(
            _("Added to the agent's own instructions, for example: answer briefly, in French.")
        )
        self.instructions.setTabChangesFocus(True)
        bind(self.instructions.setFixedHeight, lambda: theme().px(84), on="look")
        self.add_field(_("Instructions"), self.instructions)
        self.caps: dict[str, QLineEdit] = {}
        for name, text in CAPS:
            own, set_here = getattr(agent.budget, name), getattr(choices.budget, name)
            field = self.caps[name] = control(QLineEdit(_written(set_here), self), f"workflow-{name.replace('_', '-')}")
            field.setPlaceholderText(
                _("Agent default: {value}", value=_written(own)) if own is not None else _("Agent default: no limit")
            )
            field.textChanged.connect(self.check)
            self.add_field(_(text), field)
        self.instructions.textChanged.connect(self.check)
        self.finish(_("Save"))
        self.instructions.setFocus()

    def problem(self) -> str:
        length = len(self.instructions.toPlainText().strip())
        if length > limits.WORKFLOW_INSTRUCTIONS:
            return _(
                "The instructions have {length} characters; at most {most} are allowed.",
                length=length,
                most=limits.WORKFLOW_INSTRUCTIONS,
            )
        for name, text in CAPS:
            if self.caps[name].text().strip() and _number(self.caps[name].text(), integer=name == "max_tokens") is None:
                return _("{field}: enter a number above 0, or leave it empty.", field=_(text))
        return ""

    def submit(self) -> None:
        caps = {name: _number(field.text(), integer=name == "max_tokens") for name, field in self.caps.items()}
        changed = {
            "instructions": self.instructions.toPlainText().strip(),
            "budget": Budget(**{**self._choices.budget.model_dump(), **caps}),
        }
        self.chosen.emit(self._choices.model_copy(update=changed))


def _written(value: float | None) -> str:
    return "" if value is None else locale().toString(float(value), "g", 12).replace(locale().groupSeparator(), "")


def _number(text: str, *, integer: bool) -> float | None:
    """A positive number, with the locale's decimal separator or a point.

    None if invalid or not an integer as required.
    """
    value, fine = locale().toDouble(text.strip())
    if not fine:
        try:
            value = float(text.strip())
        except ValueError:
            return None
    if not 0 < value <= 1e12 or (integer and not value.is_integer()):  # "nan" parses as a number, too
        return None
    return int(value) if integer else value
