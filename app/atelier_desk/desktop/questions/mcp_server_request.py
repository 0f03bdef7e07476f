"""Requests of an MCP server in the question dialog: a form, a page to open, or model access to allow."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QWidget

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Card, bind_text, control, fill, label, vbox
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain import limits
from atelier_desk.domain.elicitation_form import FieldKind, FormField
from atelier_desk.domain.question import ACCEPT, QuestionAnswer, QuestionSpec, QuestionType, values_of
from atelier_desk.presentation import elicitation_form_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible, visible_json


class ServerRequest(QWidget):
    """``server-request``. ``changed`` is emitted when the input changes."""

    changed = Signal()

    def __init__(self, spec: QuestionSpec, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("server-request")
        mark(self, "plain")
        self._spec = spec
        self.fields: list[_Field] = []
        self._column = vbox(self, spacing=10)
        assert spec.asker is not None
        server = spec.asker.server
        if spec.asker.doubtful:
            self._add_label("question-doubtful", "error", lambda: _(elicitation_form_text.SECRET, server=server))
        if spec.form is not None:
            entered = spec.form.defaults()
            for field in spec.form.fields:
                made = _FIELDS[field.kind](field, self)
                made.give(entered.get(field.name))
                made.changed.connect(self.changed)
                self.fields.append(made)
                self._column.addWidget(made)
            self._add_label(
                "question-goes-to", "small", lambda: _(elicitation_form_text.ANSWER_RECIPIENT, server=server)
            )
        elif spec.question_type is QuestionType.URL:
            self._page(spec.url)
        elif spec.sampling is not None:
            self._sampling()

    def _add_label(self, name: str, style: str, text: Callable[[], str]) -> QLabel:
        made = control(label("", style, self, wrap=True), name, text)
        self._column.addWidget(made)
        return made

    def _page(self, url: str) -> None:
        parts = urlsplit(url)
        host = elicitation_form_text.shown_host(url)
        self._add_label("question-host", "title", lambda: host)
        address = self._add_label("question-url", "small", lambda: url)
        address.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        if parts.scheme == "http":
            self._add_label("question-plain-http", "error", lambda: _(elicitation_form_text.NOT_ENCRYPTED))
        about = N_("The page opens in your browser. Atelier does not see what you do there.")
        self._add_label("question-page-about", "small", lambda: _(about))

    def _sampling(self) -> None:
        asked, asker = self._spec.sampling, self._spec.asker
        assert asked is not None
        assert asker is not None
        self._add_label(
            "question-model", "",
            lambda: _("Model: {model}. At most {n} tokens, counted toward this run.", model=asked.model,
            n=number(asked.max_tokens)),
        )  # fmt: skip
        texts = [(N_("Instructions"), asked.system)] if asked.system else []
        texts += [(N_("Message") if each.role == "user" else N_("Reply"), each.text) for each in asked.messages]
        for index, (caption, text) in enumerate(texts):
            box = Card(self, "card-sunken")
            shown = control(label(text, "", box, wrap=True), f"question-sampled-{index}")
            shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            fill(box.body, bind_text(label("", "small", box), caption), shown)
            self._column.addWidget(box)
        self._add_label(
            "question-goes-to", "small", lambda: _(elicitation_form_text.REPLY_RECIPIENT, server=asker.server)
        )

    def answer(self) -> QuestionAnswer:
        """The input as an accepting answer."""
        if self._spec.form is None:
            return QuestionAnswer(selected_options=(ACCEPT,))
        values = {field.field.name: field.value() for field in self.fields}
        entered = {name: value for name, value in values.items() if value is not None}
        text = visible_json(entered)
        return (
            QuestionAnswer(selected_options=(ACCEPT,), text_response=text)
            if len(text) <= limits.QUESTION_TEXT_RESPONSE
            else _TOO_LONG
        )

    def restore(self, draft: QuestionAnswer) -> None:
        """Restore the input from before the dialog was closed."""
        entered = values_of(draft.text_response)
        for field in self.fields:
            if draft.text_response:
                field.give(entered.get(field.field.name))

    def problem(self) -> str:
        """The first validation error; empty if valid."""
        form = self._spec.form
        if form is None:
            return ""
        answer = self.answer()
        if answer is _TOO_LONG:
            return _("These answers are too long in total.")
        problems = form.problems(values_of(answer.text_response))
        for field in self.fields:
            code = problems.get(field.field.name, "")
            field.show_problem(
                elicitation_form_text.problem(form, field.field.name, code).localized(_) if code else "",
                quiet=code == "required",
            )
        return elicitation_form_text.problem(form, *next(iter(problems.items()))).localized(_) if problems else ""

    def focusable(self) -> list[QWidget]:
        return [widget for field in self.fields for widget in field.widgets]


_TOO_LONG = QuestionAnswer(selected_options=(ACCEPT,))
"""Stands for answers too long to send."""


class _Field(QWidget):
    """A field with its caption, the server's description, and a validation error."""

    changed = Signal()

    def __init__(self, field: FormField, parent: QWidget) -> None:
        super().__init__(parent)
        mark(self, "plain")
        self.field = field
        self.widgets: list[QWidget] = []
        caption = control(label("", "small", self, wrap=True), f"question-caption-{field.name}", self._caption)
        self._problem = control(label("", "error", self, wrap=True), f"question-problem-{field.name}")
        self._problem.hide()
        self.column = vbox(self, caption, spacing=4)
        self.build()
        self.column.addWidget(self._problem)
        for widget in self.widgets:
            widget.setAccessibleName(visible(widget.property("choice") or field.label))
            widget.setAccessibleDescription(visible(field.about))

    def build(self) -> None:
        raise NotImplementedError

    def give(self, value: object) -> None:
        raise NotImplementedError

    def value(self) -> object:
        raise NotImplementedError

    def show_problem(self, text: str, *, quiet: bool) -> None:
        """Show an error below the field; before any input, only the hint says that it is required."""
        self._problem.setText(text)
        self._problem.setVisible(bool(text) and not quiet)

    def _caption(self) -> str:
        field = self.field
        required = _("{field} (required)", field=field.label) if field.required else field.label
        return "\n".join(filter(None, (required, field.about, elicitation_form_text.hint(field))))


class _Line(_Field):
    def build(self) -> None:
        self._edit = control(QLineEdit(self), f"question-field-{self.field.name}")
        self._edit.textChanged.connect(lambda _text: self.changed.emit())
        self.widgets = [self._edit]
        self.column.addWidget(self._edit)

    def give(self, value: object) -> None:
        self._edit.setText("" if value is None else str(value))

    def value(self) -> object:
        text = self._edit.text()
        return self.field.read(text) if text.strip() else None


class _Check(_Field):
    def build(self) -> None:
        self._box = control(QCheckBox(self), f"question-field-{self.field.name}", N_("Yes"))
        self._box.setTristate(False)
        self._box.toggled.connect(lambda _on: self.changed.emit())
        self.widgets = [self._box]
        self.column.addWidget(self._box)

    def give(self, value: object) -> None:
        self._box.setChecked(value is True)

    def value(self) -> object:
        return self._box.isChecked()


class _Choice(_Field):
    def build(self) -> None:
        self._combo = control(ComboBox(self), f"question-field-{self.field.name}")
        self._combo.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._combo.setMinimumContentsLength(12)
        self._combo.addItem("", None)
        bind_text(self._combo, items=[N_("Nothing selected")])
        for choice in self.field.choices:
            self._combo.addItem(choice.title, choice.value)
        self._combo.currentIndexChanged.connect(lambda _index: self.changed.emit())
        self.widgets = [self._combo]
        self.column.addWidget(self._combo)

    def give(self, value: object) -> None:
        known = [each.value for each in self.field.choices]
        self._combo.setCurrentIndex(known.index(value) + 1 if value in known else 0)

    def value(self) -> object:
        return self._combo.currentData()


class _Choices(_Field):
    def build(self) -> None:
        name = f"question-field-{self.field.name}"
        self._boxes = [
            control(QCheckBox(visible(each.title).replace("&", "&&"), self), f"{name}-{each.value}")
            for each in self.field.choices
        ]
        for box, choice in zip(self._boxes, self.field.choices, strict=True):
            box.setProperty("choice", choice.title)
            box.toggled.connect(lambda _on: self.changed.emit())
            self.column.addWidget(box)
        self.widgets = list(self._boxes)

    def give(self, value: object) -> None:
        chosen = value if isinstance(value, list) else []
        for box, choice in zip(self._boxes, self.field.choices, strict=True):
            box.setChecked(choice.value in chosen)

    def value(self) -> object:
        found = [choice.value for box, choice in zip(self._boxes, self.field.choices, strict=True) if box.isChecked()]
        return found or None


_FIELDS: dict[FieldKind, type[_Field]] = {
    FieldKind.TEXT: _Line,
    FieldKind.NUMBER: _Line,
    FieldKind.INTEGER: _Line,
    FieldKind.BOOLEAN: _Check,
    FieldKind.CHOICE: _Choice,
    FieldKind.CHOICES: _Choices,
}
