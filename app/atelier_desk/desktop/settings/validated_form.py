"""A form of declared fields for a model: filled, read, compared with the stored values, and validated by the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from atelier_desk.desktop.panes.spin_box_padding import pad
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.settings.fields import Choice, Field, Secret, value_of
from atelier_desk.desktop.widgets import bind_text, control, hbox, label, vbox
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.settings.page_base import SettingsPage
    from atelier_desk.desktop.settings.setting_rows_and_footer import Row
    from atelier_desk.desktop.widgets import Card

_MESSAGES = {
    "string_too_short": N_("must not be blank"),
    "value_error": N_("must not be blank"),
    "string_too_long": N_("is too long: {length} characters; the maximum is {max_length}"),
    "greater_than_equal": N_("must be at least {ge}"),
    "less_than_equal": N_("must be at most {le}"),
}


class Form(QWidget):
    """Controls are named ``<prefix>-<key>``, or as their fields say.

    They are placed in the form (``line``) or in cards of a page (``row``).

    In the latter case the form itself is hidden.

    Signals:
        changed: the user changed something; filling the form does not count.
        entered: Enter in a field that is a line.
    """

    changed = Signal()
    entered = Signal()

    def __init__(self, model: type[BaseModel], parent: QWidget, prefix: str, *fields: Field) -> None:
        super().__init__(parent)
        self.model, self.prefix = model, prefix
        self.fields = {field.key: field for field in fields}
        self.controls: dict[str, Any] = {}  # each of its field's type
        self.places: dict[str, QWidget] = {}
        """What is hidden with a field: its row, or its cell."""
        self.captions: dict[str, QLabel] = {}
        self.errors: dict[str, QLabel] = {}
        self.base: BaseModel | None = None
        """What the form was filled with."""
        self._filled: dict[str, object] = {}
        self._filling = False
        self._choosers = [field for field in fields if isinstance(field, Choice) and field.owns]
        self._chosen: dict[str, object] = {}
        self._apart: dict[tuple[str, object], dict[str, object]] = {}
        for field in fields:
            made = self.controls[field.key] = field.make(self, model, lambda *_value: self._edited())
            bind_text(control(made, field.name or f"{prefix}-{field.key.replace('_', '-')}"), name=field.caption)
            if (line := _line_of(made)) is not None:
                line.returnPressed.connect(self.entered)

    def row(self, page: SettingsPage, card: Card, key: str, *, stretch: bool = True) -> Row:
        """Add the field as a row of a card: caption and hint on the left."""
        self.hide()
        field = self.fields[key]
        row = page.row(card, self.controls[key], field.caption, field.hint, stretch=stretch)
        self.places[key] = row
        return row

    def line(self, *keys: str, stretch: tuple[int, ...] = ()) -> QHBoxLayout:
        """Add fields side by side, each below its caption."""
        return hbox(
            None,
            *((self.cell(key), (stretch or (1,) * len(keys))[at]) for at, key in enumerate(keys)),
            spacing=16,
        )

    def cell(self, key: str, *more: QWidget, headed: bool = True) -> QWidget:
        """A field below its caption, with its validation error under it; a check box has its caption as label.

        Without ``headed`` the caller adds the caption.
        """
        cell, made, field = QWidget(self), self.controls[key], self.fields[key]
        caption = self.captions[key] = bind_text(label("", "muted", self, wrap=True), field.caption)
        caption.setBuddy(made)
        error = self.errors[key] = control(
            label("", "error", self, wrap=True), made.objectName().replace(self.prefix, f"{self.prefix}-error", 1)
        )
        error.hide()
        if isinstance(made, QCheckBox):
            bind_text(made, field.caption)
            caption.hide()
        elif isinstance(made, QAbstractSpinBox):
            pad(made)
        if field.hint:
            more = (control(label("", "muted", self, wrap=True), f"{made.objectName()}-about", field.hint), *more)
        above = (caption,) if headed and not isinstance(made, QCheckBox) else ()
        vbox(cell, *above, made, *more, error, spacing=4)
        self.places[key] = cell
        return cell

    def show_values(self, stored: BaseModel) -> None:
        """Fill the form; secrets are empty."""
        self.base, self._filling = stored, True
        for key, field in self.fields.items():
            field.show(self.controls[key], "" if isinstance(field, Secret) else self.value(stored, key))
            if (line := _line_of(self.controls[key])) is not None:
                line.home(False)  # long values show their beginning
        self._filling = False
        self._apart.clear()
        self._chosen = {field.key: field.read(self.controls[field.key]) for field in self._choosers}
        self._filled = self.read()
        self.show_errors({})

    def value(self, stored: BaseModel, key: str) -> object:
        """The value of a field in a model."""
        return value_of(stored, key)

    def read(self) -> dict[str, Any]:
        """The entered values by key, without secrets."""
        return {
            key: field.read(self.controls[key]) for key, field in self.fields.items() if not isinstance(field, Secret)
        }

    def secrets(self) -> dict[str, str]:
        """The typed secrets by key."""
        typed = {key: field.read(self.controls[key]) for key, field in self.fields.items() if isinstance(field, Secret)}
        return {key: text for key, text in typed.items() if text}

    def clear_secrets(self) -> None:
        """Clear the secrets, as they are now in the keyring."""
        for key, field in self.fields.items():
            if isinstance(field, Secret):
                field.show(self.controls[key], "")

    def edited(self) -> bool:
        """Whether anything differs from the values the form was filled with."""
        return bool(self.secrets()) or self.read() != self._filled

    def values(self) -> dict[str, Any]:
        """The entered values as fields of the model; fields not in the form keep their values."""
        found: dict[str, Any] = dict(self.base or {})
        for key, value in self.read().items():
            name, _dot, inside = key.partition(".")
            if inside:
                within = found.get(name)
                found[name] = {**(dict(within) if isinstance(within, BaseModel) else within or {}), inside: value}
            else:
                found[name] = value
        return found

    def made(self) -> Any:
        """The model with the entered values.

        Raises:
            pydantic.ValidationError: the values are invalid.
        """
        return self.model.model_validate(self.values())

    def checked(self) -> object:
        """The model with the entered values, or None after showing the errors at the fields."""
        try:
            made = self.made()
        except ValidationError as error:
            self.show_errors(
                {".".join(map(str, item["loc"])): sentence(item) for item in error.errors(include_url=False)}
            )
            return None
        self.show_errors({})
        return made

    def wrong(self, values: Mapping[str, object]) -> tuple[str, ...]:
        """The keys of invalid values."""
        try:
            self.model.model_validate(values)
        except ValidationError as error:
            return tuple(dict.fromkeys(str(each["loc"][0]) for each in error.errors() if each["loc"]))
        return ()

    def show_errors(self, errors: Mapping[str, str]) -> None:
        """Show errors by key; other fields are cleared."""
        for key, error in self.errors.items():
            error.setText(errors.get(key, ""))
            error.setVisible(key in errors)

    def offer(self, key: str, texts: Sequence[str]) -> None:
        """Set the choices of an ``Offered`` field; the value stays if free text is allowed."""
        box, before = self.controls[key], self._filling
        chosen, self._filling = box.currentText(), True
        line = _line_of(box)
        at = line.cursorPosition() if line is not None else 0
        box.clear()
        box.addItems(texts)
        if line is not None:
            box.setCurrentText(chosen)
            line.setCursorPosition(at)
        else:
            box.setCurrentIndex(max(0, box.findText(chosen)))
        self._filling = before

    def show_field(self, key: str, on: bool) -> None:
        """Show or hide a field with its caption."""
        self.places[key].setVisible(on)

    def _edited(self) -> None:
        if not self._filling:
            self._exchange()
            self.changed.emit()

    def _exchange(self) -> None:
        """Swap texts owned by a choice, so that no address gets another service's key, or the reverse."""
        for field in self._choosers:
            before, chosen = self._chosen.get(field.key), field.read(self.controls[field.key])
            if chosen == before:
                continue
            self._apart[field.key, before] = {key: self.fields[key].read(self.controls[key]) for key in field.owns}
            self._chosen[field.key], self._filling = chosen, True
            for key in field.owns:
                self.fields[key].show(self.controls[key], self._apart.get((field.key, chosen), {}).get(key, ""))
            self._filling = False


def _line_of(control: QWidget) -> QLineEdit | None:
    """The line edit of a control."""
    return control.lineEdit() if isinstance(control, QComboBox) else control if isinstance(control, QLineEdit) else None


def sentence(item: Any) -> str:
    """A pydantic error in the user's language."""
    text = _MESSAGES.get(str(item["type"]))
    if text is None:
        return str(item["msg"])
    context = {
        key: number(value) if isinstance(value, int) else value for key, value in (item.get("ctx") or {}).items()
    }
    if item["type"] == "string_too_long":
        context["length"] = number(len(item["input"]))
    return _(text, **context) if context else _(text)
