"""The names of the parts of a project in window and command line."""

from __future__ import annotations

import re

from atelier_desk.domain.document_formats import DOCUMENTS
from atelier_desk.domain.project import Entity, EntityKind, IngestStage, IngestState
from atelier_desk.knowledge.parsing.languages import registry
from atelier_desk.presentation.project_text import kind_word, language_word, state_word
from atelier_desk.support.i18n import spoken


def test_every_kind_of_code_symbol_has_a_french_word() -> None:
    types = {found for grammar in registry.grammars().values() for found in re.findall(r"@scope\.(\w+)", grammar.query)}
    with spoken("fr"):
        words = {
            each: kind_word(Entity(id="", project_id="", kind=EntityKind.SCOPE, name="x", type=each)) for each in types
        }
    same_in_french = {"interface", "variable", "module", "macro", "type", "trait"}
    assert {each for each in types if words[each] == each} <= same_in_french
    assert words["namespace"] == "espace de noms"


def test_a_section_has_the_same_name_at_every_depth() -> None:
    section = Entity(id="", project_id="", kind=EntityKind.SECTION, name="Herons", type="level 2", language="markdown")
    assert kind_word(section) == "section"
    assert kind_word(section.model_copy(update={"language": "pdf"})) == "page of a PDF"


def test_an_empty_progress_is_not_shown() -> None:
    for stage in (IngestStage.READING, IngestStage.RELATING, IngestStage.EMBEDDING, IngestStage.PAUSED):
        assert "0" not in state_word(IngestState(project_id="p", stage=stage))
        assert "3 of 7" in state_word(IngestState(project_id="p", stage=stage, done=3, total=7))


def test_each_kind_of_document_has_its_own_name_in_the_shares_of_a_project() -> None:
    """OpenDocument was listed three times, for texts, sheets and slides."""
    assert len({language_word(kind) for kind in DOCUMENTS}) == len(DOCUMENTS)
