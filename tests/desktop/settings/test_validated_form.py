"""Declared forms: values are read back, changes signalled, and errors shown at their fields."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.fields import Address, Choice, Line, Lines, Names, Number, Offered, Secret, Toggle
from atelier_desk.desktop.settings.validated_form import Form


class Inner(BaseModel):
    most: int | None = Field(default=None, ge=0)


class Thing(BaseModel):
    name: str = Field(default="a", max_length=4)
    url: str = ""
    text: str = ""
    tags: tuple[str, ...] = ()
    on: bool = False
    heat: float | None = Field(default=None, ge=0, le=2)
    way: str | None = None
    model: str = ""
    inner: Inner = Inner()
    stored: str = "not offered"


FIELDS = (
    Line("name", "Name"),
    Address("url", "Address"),
    Lines("text", "Text"),
    Names("tags", "Tags"),
    Toggle("on", "On"),
    Number("heat", "Heat", step=0.1, places=2, zero="none", optional=True, below=True),
    Choice("way", "Way", choices=((None, "Any"), ("up", "Up"))),
    Offered("model", "Model", free=True),
    Number("inner.most", "Most", most=100, zero="no limit", optional=True),
    Secret("key", "Key"),
)
FULL: dict[str, Any] = {
    "name": "b", "url": "https://x.org", "text": "t\nu", "tags": ("one", "two"), "on": True, "heat": 0.0, "way": "up",
    "model": "m",
    "inner": Inner(most=7), "kept": "also",
}  # fmt: skip


@pytest.fixture
def form(qtbot: QtBot) -> Form:
    parent = QWidget()
    qtbot.addWidget(parent)
    made = Form(Thing, parent, "thing", *FIELDS)
    for key in made.fields:
        made.cell(key)
    made.__dict__["above"] = parent  # which Qt does not own
    return made


@pytest.mark.parametrize(
    "values", [Thing(), Thing(**FULL), Thing(way="of a file")], ids=("empty", "full", "not offered")
)
def test_shown_values_are_read_back_unchanged(form: Form, values: Thing) -> None:
    changes: list[object] = []
    form.changed.connect(lambda: changes.append(1))
    form.show_values(values)
    assert (form.made(), form.edited(), changes) == (values, False, [])


@pytest.mark.parametrize("key", [key for key in FULL if key not in ("kept", "inner")] + ["inner.most"])
def test_a_change_of_any_field_is_signalled_and_reverted(form: Form, key: str) -> None:
    changes: list[object] = []
    form.show_values(Thing())
    form.changed.connect(lambda: changes.append(1))
    value = FULL["inner"].most if key == "inner.most" else FULL[key]
    form.fields[key].show(form.controls[key], value)
    assert changes
    assert (form.edited(), form.read()[key]) == (True, value)
    form.show_values(Thing())
    assert not form.edited()


def test_a_secret_counts_as_a_change_but_is_not_in_the_model(form: Form) -> None:
    form.show_values(Thing())
    key = form.controls["key"]
    assert isinstance(key, QLineEdit)
    key.setText(" typed ")
    assert (form.secrets(), form.edited(), "key" in form.values()) == ({"key": "typed"}, True, False)
    assert key.echoMode() is QLineEdit.EchoMode.Password
    form.show_values(Thing())
    assert (form.secrets(), key.text()) == ({}, "")


def test_errors_are_shown_under_their_fields_until_corrected(form: Form) -> None:
    form.show_values(Thing())
    form.fields["name"].show(form.controls["name"], "too long")
    assert form.checked() is None
    assert form.wrong(form.values()) == ("name",)
    assert form.errors["name"].text() == "is too long: 8 characters; the maximum is 4"
    assert not form.errors["url"].text()
    form.fields["name"].show(form.controls["name"], "ok")
    assert form.checked() == Thing(name="ok")
    assert form.errors["name"].isHidden()


def test_a_choice_stays_when_the_offered_ones_change(form: Form) -> None:
    form.show_values(Thing(model="mine"))
    form.offer("model", ["theirs", "others"])
    assert (form.read()["model"], form.edited()) == ("mine", False)


@pytest.mark.parametrize("key", ["url", "model"])
def test_a_long_value_is_shown_from_its_start_and_keeps_the_cursor_position(form: Form, key: str) -> None:
    form.show_values(Thing(url="https://example.org/" + "v1" * 99, model="vendor/" + "model" * 99))
    made = form.controls[key]
    line = made.lineEdit() if isinstance(made, QComboBox) else made
    assert isinstance(line, QLineEdit)
    assert line.cursorPosition() == 0
    line.setCursorPosition(6)
    form.offer("model", ["one", "two"])
    assert line.cursorPosition() == 6


def test_input_for_one_choice_is_not_used_for_another_and_is_restored(qtbot: QtBot) -> None:
    """The address of one service would get the key of another."""
    parent = QWidget()
    qtbot.addWidget(parent)
    way = Choice("way", "Way", choices=((None, "Any"), ("up", "Up")), owns=("url", "key"))
    made = Form(Thing, parent, "thing", way, Address("url", "Address"), Secret("key", "Key"))
    made.show_values(Thing(url="https://any.org"))
    box, url, key = (made.controls[name] for name in ("way", "url", "key"))
    assert isinstance(box, QComboBox)
    assert isinstance(url, QLineEdit)
    assert isinstance(key, QLineEdit)
    key.setText("k")
    box.setCurrentIndex(1)
    assert (url.text(), key.text(), made.secrets()) == ("", "", {})
    url.setText("https://up.org")
    box.setCurrentIndex(0)
    assert (url.text(), key.text()) == ("https://any.org", "k")
    box.setCurrentIndex(1)
    assert url.text() == "https://up.org"
    made.show_values(Thing(way="up", url="https://kept.org"))
    box.setCurrentIndex(0)
    assert (url.text(), key.text()) == ("", "")
