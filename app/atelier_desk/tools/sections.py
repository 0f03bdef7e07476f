"""Sections: every tool but the control tools belongs to exactly one. A section may be known before any of its tools exists.

A section declares itself: a room of ``atelier_desk.tools`` (a folder, one file a tool) does so in its ``__init__``.

    SECTION = section("garden_ops", order=90, name=N_("Garden"), description=N_("Plant, water and harvest"))
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.support.i18n import N_

CORE = "core_ops"
PLANNING = "planning_ops"
CUSTOM = "custom_ops"
FILES = "file_ops"
SHELL = "shell_ops"
CONTEXT = "context_ops"
WEB = "web_ops"
FILE_READERS = (FILES, "read_file")
PAGE_READER = "fetch_web_page"
"""Whose rules about paths, and about hosts, hold for whatever else tells what files and pages say."""
MEDIA = "media_ops"
KNOWLEDGE = "rag_ops"
SERVERS = "mcp:"
"""What the sections of MCP servers begin with."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section.

    Attributes:
        name, description: English ``N_`` texts, read by people and models.
        kind: which approval flag the calls of its tools fall under.
        order: its place among the others, low first; those that are added while the program runs come last.
        always_available: no choice of sections takes it away.
        instructions: what an MCP server tells models of its tools, in its own words.
    """

    id: str
    name: str
    description: str
    kind: ApprovalKind = ApprovalKind.TOOL
    order: int = 2000
    always_available: bool = False
    instructions: str = ""


_declared: dict[str, Section] = {}


def section(
    id: str,
    *,
    order: int,
    name: str,
    description: str,
    kind: ApprovalKind = ApprovalKind.TOOL,
    always_available: bool = False,
) -> Section:
    """Declare a section of Atelier's own; the same id again, with other words, is an error."""
    made = Section(id, name, description, kind, order, always_available)
    if _declared.setdefault(id, made) != made:
        raise ValueError(f"section {id!r} is declared already")
    return made


_PACKAGE = __name__.rpartition(".")[0]
NO_ROOM = f"{_PACKAGE}.own"
"""The folder that has no tools of Atelier's: how a user's own files run."""


def rooms() -> list[ModuleType]:
    """The folders of ``atelier_desk.tools``, imported, so that their sections declare themselves."""
    package = importlib.import_module(_PACKAGE)  # by its name: it names modules that import this one
    found = pkgutil.iter_modules(package.__path__, f"{_PACKAGE}.")
    return [importlib.import_module(each.name) for each in found if each.ispkg and each.name != NO_ROOM]


def declared() -> list[Section]:
    """The sections that were declared, in their order."""
    rooms()
    return sorted(_declared.values(), key=lambda each: (each.order, each.id))


class SectionRegistry:
    """The known sections, in their order; those of one order as they were registered."""

    def __init__(self, sections: Iterable[Section] | None = None) -> None:
        self._sections = {each.id: each for each in (declared() if sections is None else sections)}

    def register(self, section: Section) -> None:
        """Add a section, for example ``mcp:<server>``.

        Raises:
            ConflictError: a section with this id exists.
        """
        if section.id in self._sections:
            raise ConflictError(N_("The tool section {name} exists already."), name=section.id)
        self._sections[section.id] = section

    def unregister(self, section_id: str) -> None:
        """Forget a section; one that is not known is left alone."""
        self._sections.pop(section_id, None)

    def get(self, section_id: str) -> Section:
        """The section.

        Raises:
            NotFoundError: no such section; the message lists the known ones.
        """
        if section_id not in self._sections:
            raise NotFoundError(N_("There is no tool section {name}. Known: {known}."), name=section_id, known=", ".join(self._sections))
        return self._sections[section_id]

    def has(self, section_id: str) -> bool:
        return section_id in self._sections

    def all(self) -> list[Section]:
        return sorted(self._sections.values(), key=lambda each: each.order)

    def always_available(self) -> list[str]:
        """The ids of those no choice of sections takes away."""
        return [each.id for each in self.all() if each.always_available]


def of_server(server: str) -> str:
    """The section of an MCP server's tools."""
    return f"{SERVERS}{server}"


section(
    FILES,
    order=30,
    name=N_("Files"),
    description=N_("Read, write, edit, find, move, copy and delete files"),
    kind=ApprovalKind.FILE_OP,
)
section(SHELL, order=40, name=N_("Shell"), description=N_("Run commands, git and scripts"), kind=ApprovalKind.FILE_OP)
section(WEB, order=50, name=N_("Web"), description=N_("Search the web and read pages"))
section(MEDIA, order=60, name=N_("Images and 3D"), description=N_("Read, describe and make images and 3D models"))
section(
    CONTEXT,
    order=70,
    name=N_("Context"),
    description=N_("Where the agent works: folder, environment, project"),
    always_available=True,
)
section(
    "project_ops",
    order=80,
    name=N_("Projects"),
    description=N_("Create, load, ingest and switch projects"),
    kind=ApprovalKind.DB_OP,
)
section(KNOWLEDGE, order=90, name=N_("Knowledge"), description=N_("Query and search the knowledge graph"), kind=ApprovalKind.DB_OP)
section(CUSTOM, order=1000, name=N_("Your own tools"), description=N_("Tools from the tools folder"))
