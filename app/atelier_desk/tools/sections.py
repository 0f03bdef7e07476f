"""Sections: every tool but the control tools belongs to exactly one. A section may be known before any of its tools exists."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.i18n import N_

CORE = "core_ops"
PLANNING = "planning_ops"
CUSTOM = "custom_ops"
ALWAYS_AVAILABLE = ("context_ops",)
"""Sections that a choice of sections never takes away."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section's id and what to call it; ``description`` is read by people and models."""

    id: str
    name: str
    description: str


_KNOWN = (
    Section(CORE, N_("Basics"), N_("Tasks, memory, calculation, questions to the user and reports")),
    Section(PLANNING, N_("Teams and planning"), N_("Plan actions, spawn agents, delegate and run tasks side by side")),
    Section("file_ops", N_("Files"), N_("Read, write, edit, find, move, copy and delete files")),
    Section("shell_ops", N_("Shell"), N_("Run commands, git and scripts")),
    Section("web_ops", N_("Web"), N_("Search the web and read pages")),
    Section("media_ops", N_("Images and 3D"), N_("Read, describe and make images and 3D models")),
    Section("context_ops", N_("Context"), N_("Where the agent works: folder, environment, project")),
    Section("project_ops", N_("Projects"), N_("Create, load, ingest and switch projects")),
    Section("rag_ops", N_("Knowledge"), N_("Query and search the knowledge graph")),
    Section(CUSTOM, N_("Your own tools"), N_("Tools from the tools folder")),
)


class SectionRegistry:
    """The known sections, in the order they were registered."""

    def __init__(self, sections: tuple[Section, ...] = _KNOWN) -> None:
        self._sections = {section.id: section for section in sections}

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
        return list(self._sections.values())
