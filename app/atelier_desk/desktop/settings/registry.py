"""The settings pages and their sections, registered when their modules are imported; to add one, add a file.

``@settings_page("general", order=10, icon="sliders", title=N_("General"))`` decorates a ``SettingsPage`` subclass.
With ``part_of`` it is a further section of another page, whose own first one is called ``section``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from atelier_desk.desktop.settings import pages as package

if TYPE_CHECKING:
    from atelier_desk.desktop.settings.page_base import SettingsPage

PageClass = TypeVar("PageClass", bound="type[SettingsPage]")


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A registered page, or a section of one.

    ``title`` and ``section`` are English ``N_`` strings; ``order`` sorts, lowest first, sections after their page.
    """

    name: str
    order: int
    icon: str
    title: str
    page: type[SettingsPage]
    section: str = ""
    part_of: str = ""

    @property
    def host(self) -> str:
        """Name of its page."""
        return self.part_of or self.name

    @property
    def tab(self) -> str:
        """Its title among the sections of its page."""
        return self.section or self.title


_entries: dict[str, PageEntry] = {}


def settings_page(
    name: str, *, order: int, icon: str, title: str, section: str = "", part_of: str = ""
) -> Callable[[PageClass], PageClass]:
    """Register a page; a name used by another class is an error."""

    def register(page: PageClass) -> PageClass:
        existing = _entries.get(name)
        if existing is not None and (existing.page.__module__, existing.page.__qualname__) != (
            page.__module__,
            page.__qualname__,
        ):
            raise ValueError(f"settings page {name!r} is registered by {existing.page.__module__} already")
        _entries[name] = PageEntry(name, order, icon, title, page, section, part_of)
        return page

    return register


def pages() -> list[PageEntry]:
    """The pages, in order."""
    return [entry for entry in sections() if not entry.part_of]


def sections() -> list[PageEntry]:
    """All modules of ``atelier_desk.desktop.settings.pages``: the pages, each followed by its further sections."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_entries.values(), key=lambda entry: (entry.order, entry.name))
