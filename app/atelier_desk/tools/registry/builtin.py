"""The tools that come with Atelier: each declares itself, in a file of its own in one of the rooms of
``atelier_desk.tools``.

    @builtin(order=130)
    class Compass(DescribedTool):
        ...

Nothing else has to be told of it: it is registered, offered in the agent form, listed, approved and shown with what it
says of itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TypeVar

from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.tools.base import Tool
from atelier_desk.tools.calls.argument_validation import validate
from atelier_desk.tools.registry.sections import rooms
from atelier_desk.tools.registry.tool_services import ToolServices


class BuiltinTool(Tool):
    """A tool that comes with Atelier; ``services`` are the objects it works on."""

    def __init__(self, services: ToolServices | None = None) -> None:
        self.services = services or ToolServices()


T = TypeVar("T", bound=BuiltinTool)
_declared: dict[str, tuple[int, type[BuiltinTool]]] = {}
_loaded: set[ModuleType] = set()


def builtin(*, order: int) -> Callable[[type[T]], type[T]]:
    """Declare a tool (class decorator).

    ``order`` is its position among all, low first: models see tools in this order.

    Raises:
        ValueError: another class has the name.
    """

    def declare(cls: type[T]) -> type[T]:
        existing = _declared.get(cls.name)
        if existing is not None and (existing[1].__module__, existing[1].__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            raise ValueError(f"the tool {cls.name!r} is declared by {existing[1].__module__} already")
        _declared[cls.name] = (order, cls)
        return cls

    return declare


def load() -> None:
    """Import every module of every folder, so that its tools are declared. Calling it again finds later folders."""
    for room in rooms():
        if room not in _loaded:
            for file in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
                importlib.import_module(file.name)
            _loaded.add(room)


def builtin_tools(services: ToolServices) -> list[BuiltinTool]:
    """Instantiate each declared tool, in order."""
    load()
    return [cls(services) for _order, cls in sorted(_declared.values(), key=lambda each: (each[0], each[1].name))]


def title_of(name: str) -> str:
    """Return the display name of a built-in tool: an English ``N_`` text; empty for other tools."""
    if name not in _declared:
        load()
    found = _declared.get(name)
    return found[1].title if found is not None else ""


def presentation_of(name: str, arguments: Mapping[str, object]) -> Presentation:
    """Return the display data of a call of a built-in tool that was never prepared; empty for other tools."""
    if name not in _declared:
        load()
    if name not in _declared:
        return Presentation()
    tool = _declared[name][1]()
    named = Presentation(icon=tool.icon, title=tool.title)
    try:
        said = tool.describe(validate(tool, tool.read_arguments(dict(arguments))))
    except Exception:  # the model's arguments were not checked yet, and a stop must not fail
        return named
    return named.model_copy(update={"summary": said.summary, "done": said.done})
