"""Kinds of fields: each knows its control, how a value is shown in it and what is read from it. Pages and forms declare theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLineEdit, QPlainTextEdit, QSpinBox, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import say
from atelier_desk.desktop.widgets.bindings import Text
from atelier_desk.desktop.widgets.inputs import ComboBox, DoubleSpinBox, SpinBox
from atelier_desk.desktop.widgets.wrapping import TextField

Changed = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Field:
    """A value's key in its model (``approvals.timeout_s`` for one inside another), caption and hint; ``name`` is the control's object
    name."""

    key: str
    caption: Text
    hint: Text = ""
    name: str = ""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        """The control, which tells ``changed`` every new value."""
        raise NotImplementedError

    def show(self, control: QWidget, value: Any) -> None:
        """Put a value into the control."""
        raise NotImplementedError

    def read(self, control: QWidget) -> Any:
        """The value that the control shows."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Toggle(Field):
    """On or off."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = QCheckBox(parent)
        made.toggled.connect(changed)
        return made

    def show(self, control: QWidget, value: Any) -> None:
        cast(QCheckBox, control).setChecked(bool(value))

    def read(self, control: QWidget) -> Any:
        return cast(QCheckBox, control).isChecked()


@dataclass(frozen=True, slots=True)
class Number(Field):
    """A number within the model's own bounds, or ``most`` where it has none.

    Attributes:
        zero: what the least value is called.
        optional: the least value stands for None; ``below`` adds a step under the bounds for it, where 0 is a value of its own.
        box: makes another spin box.
    """

    step: float = 1
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
        if self.suffix:
            say(made, suffix=self.suffix)
        if self.zero:
            say(made, least=self.zero)
        made.valueChanged.connect(changed)
        return cast(QWidget, made)

    def show(self, control: QWidget, value: Any) -> None:
        box = cast(QDoubleSpinBox, control)
        # Empty: a choice owns the field, and nothing was said of this one.
        box.setValue(box.minimum() if value in (None, "") else value if self.places else round(value))

    def read(self, control: QWidget) -> Any:
        box = cast(QDoubleSpinBox, control)
        return None if self.optional and box.value() == box.minimum() else box.value()


@dataclass(frozen=True, slots=True)
class Choice(Field):
    """One of several values, each with what it is called. Any other, as of a file, is shown as it is and not changed.

    ``owns`` are the keys of texts that belong to the value chosen, such as the address of a service: another value has its own.
    """

    choices: Sequence[tuple[Any, Text]] = ()
    owns: tuple[str, ...] = ()

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = ComboBox(parent)
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)  # another language has longer words
        for value, _text in self.choices:
            made.addItem("", value)
        say(made, items=[text for _value, text in self.choices])
        made.currentIndexChanged.connect(lambda _index: changed(made.currentData()))
        return made

    def show(self, control: QWidget, value: Any) -> None:
        box = cast(QComboBox, control)
        places = [row for row in range(box.count()) if box.itemData(row) == value]  # findData finds no None
        if not places:
            box.addItem(str(value), value)
        box.setCurrentIndex(places[0] if places else box.count() - 1)

    def read(self, control: QWidget) -> Any:
        return cast(QComboBox, control).currentData()


@dataclass(frozen=True, slots=True)
class Offered(Field):
    """A text out of those that are known by now, see ``offer``; ``free`` takes any other too."""

    free: bool = False

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = ComboBox(parent)
        made.setEditable(self.free)
        made.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        made.setMinimumContentsLength(8)
        made.currentTextChanged.connect(changed)
        return made

    def show(self, control: QWidget, value: Any) -> None:
        box = cast(QComboBox, control)
        if value and box.findText(value) < 0:
            box.addItem(value)
        box.setCurrentText(value)

    def read(self, control: QWidget) -> Any:
        return cast(QComboBox, control).currentText().strip()


@dataclass(frozen=True, slots=True)
class Line(Field):
    """A line of text without blanks around it.

    Attributes:
        example: what stands in it while it is empty.
        limit: most characters that can be typed; 0 for any number.
    """

    example: Text = ""
    limit: int = 0

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = QLineEdit(parent)
        if self.limit:
            made.setMaxLength(self.limit)
        if self.example:
            say(made, hint=self.example)
        made.textChanged.connect(changed)
        return made

    def show(self, control: QWidget, value: Any) -> None:
        cast(QLineEdit, control).setText(value)

    def read(self, control: QWidget) -> Any:
        return cast(QLineEdit, control).text().strip()


@dataclass(frozen=True, slots=True)
class Address(Line):
    """The address of a server, without a slash at its end."""

    def read(self, control: QWidget) -> Any:
        return cast(QLineEdit, control).text().strip().rstrip("/")


@dataclass(frozen=True, slots=True)
class Names(Line):
    """Several names, separated by commas."""

    def show(self, control: QWidget, value: Any) -> None:
        cast(QLineEdit, control).setText(", ".join(value))

    def read(self, control: QWidget) -> Any:
        return tuple(filter(None, (part.strip() for part in cast(QLineEdit, control).text().split(","))))


@dataclass(frozen=True, slots=True)
class Secret(Line):
    """A line for the keyring: never shown, and no part of the model. Its value is what was typed."""

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = cast(QLineEdit, Line.make(self, parent, model, changed))
        made.setEchoMode(QLineEdit.EchoMode.Password)
        return made


@dataclass(frozen=True, slots=True)
class Lines(Field):
    """A text of several lines; ``height`` in pixels at 100 %, ``fixed`` where it does not grow."""

    height: int = 110
    fixed: bool = True

    def make(self, parent: QWidget, model: type[BaseModel], changed: Changed) -> QWidget:
        made = TextField(parent)
        made.setTabChangesFocus(True)
        (made.setFixedHeight if self.fixed else made.setMinimumHeight)(theme().px(self.height))
        made.textChanged.connect(lambda: changed(made.toPlainText()))
        return made

    def show(self, control: QWidget, value: Any) -> None:
        cast(QPlainTextEdit, control).setPlainText(value)

    def read(self, control: QWidget) -> Any:
        return cast(QPlainTextEdit, control).toPlainText()


def bounds(key: str, model: type[BaseModel]) -> tuple[float, float] | None:
    """Least and most of a number of a model; None where its field does not name both."""
    *above, name = key.split(".")
    for part in above:
        model = cast("type[BaseModel]", model.model_fields[part].annotation)
    found = model.model_fields[name].metadata
    least, most = (next((getattr(each, bound) for each in found if hasattr(each, bound)), None) for bound in ("ge", "le"))
    return (least, most) if least is not None and most is not None else None


def value_of(model: BaseModel, key: str) -> Any:
    """A model's value by its key."""
    value: Any = model
    for part in key.split("."):
        value = getattr(value, part)
    return value
