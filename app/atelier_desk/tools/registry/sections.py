"""Sections: every tool but the control tools belongs to exactly one. A section may be known before any of its tools
exists.

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
"""Tool whose path and host rules also apply to other tools that reveal files and pages."""
MEDIA = "media_ops"
KNOWLEDGE = "rag_ops"
SERVERS = "mcp:"
"""Prefix of sections of MCP servers."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section.

    Attributes:
        name, description: English ``N_`` texts for people and models.
        kind: approval flag of its tools.
        order: position among the others, low first; sections added at runtime come last.
        always_available: no choice of sections removes it.
        instructions: an MCP server's own instructions about its tools.
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
    """Declare a section of Atelier's own; declaring an id again with other texts is an error."""
    made = Section(id, name, description, kind, order, always_available)
    if _declared.setdefault(id, made) != made:
        raise ValueError(f"section {id!r} is declared already")
    return made


_PACKAGE = "atelier_desk.tools"
NO_TOOLS = {f"{_PACKAGE}.{name}" for name in ("user_tools", "registry", "definition", "calls")}
"""Packages without built-in tools."""


def rooms() -> list[ModuleType]:
    """Import and return the packages below ``atelier_desk.tools``, so that their sections are declared."""
    package = importlib.import_module(_PACKAGE)  # by name: it contains modules that import this one
    found = pkgutil.iter_modules(package.__path__, f"{_PACKAGE}.")
    return [importlib.import_module(each.name) for each in found if each.ispkg and each.name not in NO_TOOLS]


def declared() -> list[Section]:
    """Return the declared sections, in order."""
    rooms()
    return sorted(_declared.values(), key=lambda each: (each.order, each.id))


class SectionRegistry:
    """The known sections in order; those of equal order by registration."""

    def __init__(self, sections: Iterable[Section] | None = None) -> None:
        self._sections = {each.id: each for each in (declared() if sections is None else sections)}

    def register(self, section: Section) -> None:
        """Add a section, for example ``mcp:<server>``.

        Raises:
            ConflictError: a section with this id exists.
        """
        if section.id in self._sections:
            raise ConflictError(N_("The tool section {name} already exists."), name=section.id)
        self._sections[section.id] = section

    def unregister(self, section_id: str) -> None:
        """Remove a section; unknown ones are ignored."""
        self._sections.pop(section_id, None)

    def get(self, section_id: str) -> Section:
        """Return a section.

        Raises:
            NotFoundError: no such section; the message lists the known ones.
        """
        if section_id not in self._sections:
            raise NotFoundError(
                N_("There is no tool section {name}. Sections: {known}."),
                name=section_id,
                known=", ".join(self._sections),
            )
        return self._sections[section_id]

    def has(self, section_id: str) -> bool:
        return section_id in self._sections

    def all(self) -> list[Section]:
        return sorted(self._sections.values(), key=lambda each: each.order)

    def always_available(self) -> list[str]:
        """Return the ids of sections that no choice removes."""
        return [each.id for each in self.all() if each.always_available]


def of_server(server: str) -> str:
    """Return the section id of an MCP server's tools."""
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
section(MEDIA, order=60, name=N_("Images and 3D"), description=N_("Read, describe and generate images and 3D models"))
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
    description=N_("Create, load, index and switch projects"),
    kind=ApprovalKind.DB_OP,
)
section(
    KNOWLEDGE,
    order=90,
    name=N_("Knowledge"),
    description=N_("Query and search the knowledge graph"),
    kind=ApprovalKind.DB_OP,
)
section(CUSTOM, order=1000, name=N_("Your own tools"), description=N_("Tools from the tools folder"))
