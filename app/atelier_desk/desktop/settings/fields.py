"""Kinds of form fields: each creates its control, shows a value in it and reads it.

Pages and forms declare their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLineEdit, QPlainTextEdit, QSpinBox, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, bind_text
from atelier_desk.desktop.widgets.language_theme_bindings import Text
from atelier_desk.desktop.widgets.line_wrapping import TextField
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox, DoubleSpinBox, SpinBox
from atelier_desk.support.i18n import N_

Changed = Callable[[object], object]
PRICE_HINT = N_("Counts toward the monthly cost limit. If a limit is set, services without a known price are not used.")
PRICE: dict[str, Any] = {"optional": True, "below": True, "places": 4, "step": 0.001, "zero": N_("Unknown")}
"""A ``Number`` of US dollars for one request, which nobody may know."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field: the key of its value in the model (``approvals.timeout_s`` for a nested one), caption and hint.

    ``name`` is the control's object name.
    """

    key: str
    caption: Text
    hint: Text = ""
    name: str = ""

    # Each kind declares the types of its control and its values.
    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        """Create the control, which calls ``changed`` on every new value."""
        raise NotImplementedError

    def show(self, control: Any, value: Any) -> None:
        """Show a value in the control."""
        raise NotImplementedError

    def read(self, control: Any) -> Any:
        """The value shown by the control."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Toggle(Field):
    """A check box."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = QCheckBox(parent)
        made.toggled.connect(changed)
        return made

    def show(self, control: QCheckBox, value: object) -> None:
        control.setChecked(bool(value))

    def read(self, control: QCheckBox) -> bool:
        return control.isChecked()


@dataclass(frozen=True, slots=True)
class Number(Field):
    """A number within the model's bounds, or up to ``most`` if it has none.

    Attributes:
        zero: the text of the minimum.
        optional: the minimum stands for None; ``below`` adds a step below the bounds for it, if 0 is a valid value.
        box: a factory of another spin box.
    """

    step: float = 1
    prefix: Text = ""
    suffix: Text = ""
    zero: Text = ""
    optional: bool = False
    below: bool = False
    places: int = 0
    most: float = 0
    box: Callable[[QWidget], QSpinBox] = SpinBox

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made: Any = DoubleSpinBox(parent) if self.places else self.box(parent)
        if self.places:
            made.setDecimals(self.places)
        if (found := bounds(self.key, model)) is not None:
            made.setRange(found[0] - self.step if self.below else found[0], found[1])
        elif self.most:
            made.setRange(0, self.most)
        made.setSingleStep(self.step)
        made.setGroupSeparatorShown(True)
        if self.prefix or self.suffix:
            bind_text(made, prefix=self.prefix, suffix=self.suffix)
        if self.zero:
            bind_text(made, least=self.zero)
        made.valueChanged.connect(changed)
        return cast(QWidget, made)

    def show(self, control: QDoubleSpinBox, value: float | str | None) -> None:
        # Empty: the field is owned by a choice and has no value for this one.
        control.setValue(
            control.minimum() if value is None or isinstance(value, str) else value if self.places else round(value)
        )

    def read(self, control: QDoubleSpinBox) -> float | None:
        return None if self.optional and control.value() == control.minimum() else control.value()


@dataclass(frozen=True, slots=True)
class Choice(Field):
    """One of several labelled values. Other values, for example from a file, are shown as they are and not changed.

    ``owns`` are keys of text fields that belong to the selected value, such as a service's address: each value has
    its own.
    """

    choices: Sequence[tuple[object, Text]] = ()
    owns: tuple[str, ...] = ()

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = ComboBox(parent)
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)  # labels are longer in other languages
        for value, _text in self.choices:
            made.addItem("", value)
        bind_text(made, items=[text for _value, text in self.choices])
        made.currentIndexChanged.connect(lambda _index: changed(made.currentData()))
        return made

    def show(self, control: QComboBox, value: object) -> None:
        # FindData does not find None.
        places = [row for row in range(control.count()) if control.itemData(row) == value]
        if not places:
            control.addItem(str(value), value)
        control.setCurrentIndex(places[0] if places else control.count() - 1)

    def read(self, control: QComboBox) -> object:
        return control.currentData()


@dataclass(frozen=True, slots=True)
class Offered(Field):
    """A text from a list set by ``offer``; with ``free``, any other text too."""

    free: bool = False

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = ComboBox(parent)
        made.setEditable(self.free)
        made.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        made.setMinimumContentsLength(8)
        made.currentTextChanged.connect(changed)
        return made

    def show(self, control: QComboBox, value: str) -> None:
        if value and control.findText(value) < 0:
            control.addItem(value)
        control.setCurrentText(value)

    def read(self, control: QComboBox) -> str:
        return control.currentText().strip()


@dataclass(frozen=True, slots=True)
class Line(Field):
    """A line of text without surrounding blanks.

    Attributes:
        example: the placeholder.
        limit: maximum number of characters; 0 for none.
    """

    example: Text = ""
    limit: int = 0

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QLineEdit:
        made = QLineEdit(parent)
        if self.limit:
            made.setMaxLength(self.limit)
        if self.example:
            bind_text(made, hint=self.example)
        made.textChanged.connect(changed)
        return made

    def show(self, control: QLineEdit, value: str) -> None:
        control.setText(value)

    def read(self, control: QLineEdit) -> Any:
        return control.text().strip()


@dataclass(frozen=True, slots=True)
class Address(Line):
    """A server address without a trailing slash."""

    def read(self, control: QLineEdit) -> str:
        return control.text().strip().rstrip("/")


@dataclass(frozen=True, slots=True)
class Names(Line):
    """Names separated by commas."""

    def show(self, control: QLineEdit, value: Iterable[str]) -> None:
        control.setText(", ".join(value))

    def read(self, control: QLineEdit) -> tuple[str, ...]:
        return tuple(filter(None, (part.strip() for part in control.text().split(","))))


@dataclass(frozen=True, slots=True)
class Secret(Line):
    """A secret for the keyring: never shown, and not part of the model. Its value is the typed text."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QLineEdit:
        made = Line.make(self, parent, model, changed)
        made.setEchoMode(QLineEdit.EchoMode.Password)
        return made


@dataclass(frozen=True, slots=True)
class Lines(Field):
    """A multi-line text; ``height`` in pixels at 100 %, ``fixed`` if it does not grow."""

    height: int = 110
    fixed: bool = True

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = TextField(parent)
        made.setTabChangesFocus(True)
        bind(made.setFixedHeight if self.fixed else made.setMinimumHeight, lambda: theme().px(self.height), on="look")
        made.textChanged.connect(lambda: changed(made.toPlainText()))
        return made

    def show(self, control: QPlainTextEdit, value: str) -> None:
        control.setPlainText(value)

    def read(self, control: QPlainTextEdit) -> str:
        return control.toPlainText()


@dataclass(frozen=True, slots=True)
class Examples(Lines):
    """Several texts, one a line, without blank ones."""

    def show(self, control: QPlainTextEdit, value: Iterable[str]) -> None:
        control.setPlainText("\n".join(value))

    def read(self, control: QPlainTextEdit) -> Any:
        return tuple(filter(None, map(str.strip, control.toPlainText().splitlines())))


def bounds(key: str, model: type[BaseModel]) -> tuple[float, float] | None:
    """Minimum and maximum of a model's number; None unless the field defines both."""
    *above, name = key.split(".")
    for part in above:
        model = cast("type[BaseModel]", model.model_fields[part].annotation)
    found = model.model_fields[name].metadata
    least, most = (
        next((getattr(each, bound) for each in found if hasattr(each, bound)), None) for bound in ("ge", "le")
    )
    return (least, most) if least is not None and most is not None else None


def value_of(model: BaseModel, key: str) -> object:
    """A model's value by key."""
    value: object = model
    for part in key.split("."):
        value = getattr(value, part)
    return value
