"""Sections are known before their tools, and register themselves."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.tools.registry.sections import Section, SectionRegistry


def test_the_specified_sections_exist() -> None:
    sections = SectionRegistry()
    known = "core_ops planning_ops file_ops shell_ops web_ops media_ops context_ops project_ops rag_ops custom_ops"
    assert [section.id for section in sections.all()] == known.split()
    for name in known.split():
        assert sections.get(name).name
        assert sections.get(name).description
    assert sections.always_available() == ["context_ops"]


def test_a_server_registers_its_own_section() -> None:
    sections = SectionRegistry()
    sections.register(Section("mcp:files", "Files server", "What the server offers"))
    assert sections.all()[-1].id == "mcp:files"
    with pytest.raises(ConflictError):
        sections.register(Section("mcp:files", "Again", ""))
    sections.unregister("mcp:files")
    sections.unregister("mcp:files")
    assert not sections.has("mcp:files")


def test_an_unknown_section_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="file_ops"):
        SectionRegistry().get("fileops")
