"""Declarative settings: a page lists the rows of its sections, and one builder creates, fills and stores them.

A row names its setting by key in ``domain.settings.Settings`` (``approvals.timeout_s`` for a nested one), which also
provides the bounds of numbers. Changes are stored at once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtWidgets import QAbstractSpinBox, QWidget

from atelier_desk.desktop.settings.fields import Field, value_of
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.setting_rows_and_footer import SectionCard
from atelier_desk.desktop.widgets.language_theme_bindings import Text
from atelier_desk.domain.settings import Settings

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic


class Section:
    """A heading and its rows, below what they are ``about``."""

    def __init__(self, title: Text, *fields: Field, about: Text = "") -> None:
        self.title, self.fields, self.about = title, fields, about


class RowsPage(SettingsPage):
    """A page of declared ``sections``; a page with more than rows builds itself, calling ``add`` for each section."""

    topics: tuple[Topic, ...] = ("settings",)
    sections: ClassVar[tuple[Section, ...]] = ()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._bound: dict[str, tuple[Field, QWidget]] = {}
        self._filling = False
        self.build()
        self.end()

    def build(self) -> None:
        for section in self.sections:
            self.add(section)

    def add(self, section: Section) -> SectionCard:
        """Create a section's rows; returns its card."""
        card = self.section(section.title, about=section.about)
        for field in section.fields:
            control = field.make(self, Settings, partial(self._chosen, field))
            if isinstance(control, QAbstractSpinBox):
                control.setKeyboardTracking(False)  # not while a number is being typed
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
        """Show the stored values."""
        self._filling = True
        for key, (field, control) in self._bound.items():
            field.show(control, value_of(settings, key))
        self._filling = False

    def store(self, key: str, value: object) -> None:
        """Change a setting, and show the stored value; what depends on it follows the announcement."""

        async def job() -> None:
            try:
                self.show_settings(await self.bridge.engine.settings.set(key, value))
            except Exception:
                await self.load()
                raise

        self.jobs.start(job())

    def _chosen(self, field: Field, value: object) -> None:
        if not self._filling:
            self.store(field.key, value)
