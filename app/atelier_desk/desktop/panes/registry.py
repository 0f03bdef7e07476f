"""The list of panes. A pane registers itself when its module in ``panes/shown`` is imported; adding one is adding a file there.

``@pane("tasks", order=10, icon="list-todo", title=N_("Tasks"), command=N_("Show tasks"))`` stands above a ``Pane`` subclass, or above a
function that makes one: the files are imported before the window is first painted, and what is dear to import can wait in a function.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.panes.base import Pane
    from atelier_desk.desktop.questions.presenter import QuestionPresenter

Place = Literal["stack", "behind", "drawer"]
"""One above the other in the right rail; as a tab behind the lowest of those; below the conversation, closed until it is asked for."""


@dataclass(frozen=True, slots=True)
class PaneHost:
    """What a pane can be given when it is made."""

    bridge: Bridge
    presenter: QuestionPresenter


@dataclass(frozen=True, slots=True)
class PaneEntry:
    """A registered pane. ``title`` and ``command``, the action that shows it, are English ``N_`` strings; ``order`` sorts, low first;
    ``height`` is that of a stacked pane in pixels at 100 %.
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
    """Decorator that puts a pane on the list; a name that another module has is an error."""

    def register(made: Made) -> Made:
        taken = _entries.get(name)
        if taken is not None and taken.make.__module__ != made.__module__:
            raise ValueError(f"pane {name!r} is registered by {taken.make.__module__} already")

        def make(host: PaneHost) -> Pane:
            return made(host.bridge) if isinstance(made, type) else made(host)

        make.__module__ = made.__module__
        _entries[name] = PaneEntry(name, order, icon, title, command, make, place, height, shortcut, keywords)
        return made

    return register


def panes() -> list[PaneEntry]:
    """All panes of ``atelier_desk.desktop.panes.registered``, in their order."""
    from atelier_desk.desktop.panes import registered as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_entries.values(), key=lambda entry: (entry.order, entry.name))
