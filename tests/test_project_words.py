"""What the window and the command line call the parts of a project."""

from __future__ import annotations

import re

from atelier_desk.domain.project import Entity, EntityKind
from atelier_desk.i18n import spoken
from atelier_desk.knowledge.parsing.languages import registry
from atelier_desk.project_words import kind_word


def test_every_part_of_code_that_a_grammar_finds_has_a_french_word() -> None:
    types = {found for grammar in registry.grammars().values() for found in re.findall(r"@scope\.(\w+)", grammar.query)}
    with spoken("fr"):
        words = {each: kind_word(Entity(id="", project_id="", kind=EntityKind.SCOPE, name="x", type=each)) for each in types}
    same_in_french = {"interface", "variable", "module", "macro", "type", "trait"}
    assert {each for each in types if words[each] == each} <= same_in_french
    assert words["namespace"] == "espace de noms"


def test_a_section_is_called_one_and_not_by_its_depth() -> None:
    section = Entity(id="", project_id="", kind=EntityKind.SECTION, name="Herons", type="level 2", language="markdown")
    assert kind_word(section) == "section"
    assert kind_word(section.model_copy(update={"language": "pdf"})) == "page of a PDF"
