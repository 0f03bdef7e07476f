"""The list of settings pages. A page registers itself when its module is imported; adding one is adding a file.

``@settings_page("general", order=10, icon="sliders", title=N_("General"))`` stands above a ``SettingsPage`` subclass.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from atelier_desk.desktop.settings.page import SettingsPage

PageClass = TypeVar("PageClass", bound="type[SettingsPage]")


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A registered page. ``title`` is an English ``N_`` string; ``order`` sorts the list on the left, low first."""

    name: str
    order: int
    icon: str
    title: str
    page: type[SettingsPage]


_entries: dict[str, PageEntry] = {}


def settings_page(name: str, *, order: int, icon: str, title: str) -> Callable[[PageClass], PageClass]:
    """Class decorator that puts a page on the list; a name that another class has is an error."""

    def register(page: PageClass) -> PageClass:
        taken = _entries.get(name)
        if taken is not None and (taken.page.__module__, taken.page.__qualname__) != (page.__module__, page.__qualname__):
            raise ValueError(f"settings page {name!r} is registered by {taken.page.__module__} already")
        _entries[name] = PageEntry(name, order, icon, title, page)
        return page

    return register


def pages() -> list[PageEntry]:
    """All pages of ``atelier_desk.desktop.settings.pages``, in their order."""
    from atelier_desk.desktop.settings import pages as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_entries.values(), key=lambda entry: (entry.order, entry.name))
