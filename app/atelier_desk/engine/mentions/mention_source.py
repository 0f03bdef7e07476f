"""What a source of mentions is, and the list of them.

    @mentionable(order=20)
    class Tasks:
        kind, title, icon = "task", N_("Tasks"), "list-todo"
        async def find(self, where, query, most): ...
        async def read(self, where, key): ...

Nothing else has to be told of it: the composer asks it, shows what it finds and attaches what is chosen. A source of
MCP resources is one more.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from atelier_desk.engine.attachments.reading import PreparedAttachments
    from atelier_desk.engine.services.common.service_context import ServiceContext


@dataclass(frozen=True, slots=True)
class Mention:
    """One item that can be mentioned: ``kind`` names its source, ``key`` locates it there; ``detail`` distinguishes
    equal names.

    ``needs`` are placeholders of its address to fill in first, of which those in ``may`` can stay empty.
    """

    kind: str
    key: str
    name: str
    detail: str = ""
    icon: str = "file-text"
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MentionScope:
    """Context of a search: the open engine, the workflow (empty if the next message begins one) and the granted
    folders.
    """

    context: ServiceContext
    workflow_id: str
    folders: tuple[str, ...]


class MentionSource(Protocol):
    """Finds and reads one kind of item. ``title`` is an English ``N_`` text, ``icon`` one of the theme."""

    kind: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str]

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        """Return at most ``most`` items whose names contain the words of ``query``, best first.

        An empty query gives likely ones.
        """
        ...

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        """Read an item for the model.

        Raises:
            NotFoundError, UsageError: it no longer exists, or cannot be read.
        """
        ...


S = TypeVar("S", bound=type[Any])
_declared: dict[str, tuple[int, MentionSource]] = {}


def mentionable(*, order: int) -> Callable[[S], S]:
    """Declare a source (class decorator); ``order`` is its position among all, low first."""

    def declare(cls: S) -> S:
        _declared[cls.kind] = (order, cls())
        return cls

    return declare


def sources() -> list[MentionSource]:
    """Return all sources in order."""
    package = importlib.import_module("atelier_desk.engine.mentions")
    for file in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(file.name)
    return [source for _order, source in sorted(_declared.values(), key=lambda each: each[0])]


def source(kind: str) -> MentionSource | None:
    return next((each for each in sources() if each.kind == kind), None)


def best(found: Iterable[Mention], query: str, most: int) -> list[Mention]:
    """Return the items whose name, detail or path (``detail/name``) contains every word of the query.

    Names that begin with the query first, then names that contain it, then the others.
    """
    words = query.casefold().split()

    def place(each: Mention) -> int | None:
        name = each.name.casefold()
        above = each.detail.casefold()
        haystack = f"{name} {above}/{name}"
        if not all(word in haystack for word in words):
            return None
        return 0 if name.startswith(query.casefold().strip()) else 1 if all(word in name for word in words) else 2

    ranked = [(rank, index, each) for index, each in enumerate(found) if (rank := place(each)) is not None]
    return [each for _rank, _index, each in sorted(ranked, key=lambda one: one[:2])[:most]]
