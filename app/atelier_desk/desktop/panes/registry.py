"""The registry of panes.

A pane registers itself when its module in ``panes/registrations`` is imported; to add one, add a file there.

``@pane("tasks", order=10, icon="list-todo", title=N_("Tasks"), command=N_("Show tasks"))`` decorates a ``Pane``
subclass, or a function that creates one of ``pane_classes``: the files are imported before the first paint, so slow
imports belong there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from atelier_desk.desktop.panes import registrations as package
from atelier_desk.support.lazy_module import LateModule

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.panes import pane_classes as pane_classes
    from atelier_desk.desktop.panes.pane_base import Pane
    from atelier_desk.desktop.questions.presenter import QuestionPresenter
else:
    pane_classes = LateModule("atelier_desk.desktop.panes.pane_classes")

Place = Literal["stack", "behind", "drawer"]
"""Stacked on the right; as a tab behind the lowest of those; or below the chat, closed by default."""


class PaneHost(NamedTuple):
    """What a pane receives when it is created."""

    bridge: Bridge
    presenter: QuestionPresenter


class PaneEntry(NamedTuple):
    """A registered pane.

    Attributes:
        title: an English ``N_`` string.
        command: the label of the action that shows it, also an ``N_`` string.
        order: sorts, lowest first.
        height: of a stacked pane, in pixels at 100 %.
    """

    name: str
    order: int
    icon: str
    title: str
    command: str
    make: Callable[[PaneHost], Pane]
    place: Place = "behind"
    height: int = 0
    shortcut: str = ""
    keywords: str = ""


Made = TypeVar("Made", bound="type[Pane] | Callable[[PaneHost], Pane]")
_entries: dict[str, PaneEntry] = {}


def pane(
    name: str,
    *,
    order: int,
    icon: str,
    title: str,
    command: str,
    place: Place = "behind",
    height: int = 0,
    shortcut: str = "",
    keywords: str = "",
) -> Callable[[Made], Made]:
    """Register a pane; a name used by another module is an error."""

    def register(made: Made) -> Made:
        existing = _entries.get(name)
        if existing is not None and existing.make.__module__ != made.__module__:
            raise ValueError(f"pane {name!r} is registered by {existing.make.__module__} already")

        def make(host: PaneHost) -> Pane:
            return made(host.bridge) if isinstance(made, type) else made(host)

        make.__module__ = made.__module__
        _entries[name] = PaneEntry(name, order, icon, title, command, make, place, height, shortcut, keywords)
        return made

    return register


def panes() -> list[PaneEntry]:
    """All panes of ``atelier_desk.desktop.panes.registrations``, in order."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_entries.values(), key=lambda entry: (entry.order, entry.name))
