"""Settings as declarations: a page lists the rows of its sections, and one builder makes, fills and stores them.

A row names its setting by its key in ``domain.settings.Settings`` (``approvals.timeout_s`` for one inside another); a number takes its
bounds from there. What a control says is stored at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import BaseModel
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QComboBox, QSpinBox, QWidget

from atelier_desk.desktop.settings.page import SectionCard, SettingsPage
from atelier_desk.desktop.widgets import say
from atelier_desk.desktop.widgets.inputs import ComboBox, SpinBox
from atelier_desk.desktop.widgets.words import Text
from atelier_desk.domain.settings import Settings

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

Changed = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Field:
    """A setting's key, caption and hint; ``name`` is the control's object name, ``done`` is told each new value before it is stored."""

    key: str
    caption: Text
    hint: Text = ""
    name: str = ""
    done: Changed | None = None

    def make(self, page: SettingsPage, changed: Changed) -> QWidget:
        """The control, which tells ``changed`` what a person chooses."""
        raise NotImplementedError

    def show(self, control: QWidget, value: Any) -> None:
        """Put the stored value into the control; nobody is told of it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Toggle(Field):
    """On or off."""

    def make(self, page: SettingsPage, changed: Changed) -> QWidget:
        made = QCheckBox(page)
        made.clicked.connect(lambda on: changed(on))
        return made

    def show(self, control: QWidget, value: Any) -> None:
        cast(QCheckBox, control).setChecked(value)


@dataclass(frozen=True, slots=True)
class Number(Field):
    """A whole number within the setting's own bounds; ``zero`` is what 0 is called, ``box`` makes another spin box."""

    step: int = 1
    suffix: Text = ""
    zero: Text = ""
    box: Callable[[QWidget], QSpinBox] = SpinBox

    def make(self, page: SettingsPage, changed: Changed) -> QWidget:
        made = self.box(page)
        if (least_most := bounds(self.key)) is not None:
            made.setRange(*least_most)
        made.setSingleStep(self.step)
        made.setKeyboardTracking(False)  # a number half typed is not meant
        for part, text in (("suffix", self.suffix), ("least", self.zero)):
            if text:
                say(made, **{part: text})  # type: ignore[misc]
        made.valueChanged.connect(lambda value: changed(value))
        return made

    def show(self, control: QWidget, value: Any) -> None:
        cast(QSpinBox, control).setValue(round(value))


@dataclass(frozen=True, slots=True)
class Choice(Field):
    """One of several values, each with what it is called."""

    choices: Sequence[tuple[Any, Text]] = ()

    def make(self, page: SettingsPage, changed: Changed) -> QWidget:
        made = ComboBox(page)
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)  # another language has longer words
        for value, _text in self.choices:
            made.addItem("", value)
        say(made, items=[text for _value, text in self.choices])
        made.activated.connect(lambda _index: changed(made.currentData()))
        return made

    def show(self, control: QWidget, value: Any) -> None:
        box = cast(QComboBox, control)
        box.setCurrentIndex(box.findData(value))


class Section:
    """A heading and the rows under it."""

    def __init__(self, title: Text, *fields: Field) -> None:
        self.title, self.fields = title, fields


class RowsPage(SettingsPage):
    """A page of declared ``sections``; one that shows more than rows builds itself, with ``add`` where a section belongs."""

    topics: tuple[Topic, ...] = ("settings",)
    sections: ClassVar[tuple[Section, ...]] = ()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._bound: dict[str, tuple[Field, QWidget]] = {}
        self.build()
        self.end()

    def build(self) -> None:
        for section in self.sections:
            self.add(section)

    def add(self, section: Section) -> SectionCard:
        """Make a section's rows; gives its card."""
        card = self.section(section.title)
        for field in section.fields:
            control = field.make(self, partial(self._chosen, field))
            if not control.objectName():
                control.setObjectName(field.name or field.key)
            self._bound[field.key] = field, control
            self.row(card, control, field.caption, field.hint)
        return card

    def control(self, key: str) -> QWidget:
        """The control of a setting."""
        return self._bound[key][1]

    async def load(self) -> None:
        self.show_settings(await self.bridge.engine.settings.get())

    def show_settings(self, settings: Settings) -> None:
        """Put the stored values into the controls."""
        for key, (field, control) in self._bound.items():
            value: Any = settings
            for part in key.split("."):
                value = getattr(value, part)
            with QSignalBlocker(control):
                field.show(control, value)

    def store(self, key: str, value: object) -> None:
        """Change one setting, and show what is kept then."""
        self.call(self.bridge.engine.settings.set(key, value))

    def _chosen(self, field: Field, value: object) -> None:
        if field.done is not None:
            field.done(value)
        self.store(field.key, value)


def bounds(key: str) -> tuple[int, int] | None:
    """Least and most of a number among the settings; None where its field names none."""
    model: type[BaseModel] = Settings
    *above, name = key.split(".")
    for part in above:
        model = cast("type[BaseModel]", model.model_fields[part].annotation)
    found = model.model_fields[name].metadata
    least, most = (next((getattr(each, bound) for each in found if hasattr(each, bound)), None) for bound in ("ge", "le"))
    return (least, most) if isinstance(least, int) and isinstance(most, int) else None
