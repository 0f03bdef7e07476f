"""Documents without pages: their sections."""

from __future__ import annotations

import pytest

from atelier_desk.knowledge.parsing.documents import office
from atelier_desk.knowledge.parsing.parse import ParseError, parse
from tests.helpers.sample_documents import ALL


def test_headings_become_sections_and_links_are_stored() -> None:
    found = parse("sub/a.docx", ALL["a.docx"]())
    assert (found.kind, found.language) == ("document", "docx")
    assert [(each.title, each.level, each.parent) for each in found.sections] == [
        ("Contrat", 1, -1),
        ("Article premier", 1, -1),
        ("Prix", 2, 1),
    ]
    assert "| wide |  | b\\|c |" in found.sections[2].text
    assert [(each.target, each.words, each.section) for each in found.links] == [("https://a.example/", "ici", 1)]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("a.xlsx", ["Sheet: Ventes", "Sheet: Notes (hidden)"]),
        ("a.pptx", ["Slide 1: Bilan", "Notes", "Slide 2"]),
        ("a.ods", ["Sheet: Ventes"]),
        ("a.odt", ["Titre"]),
        ("a.epub", ["Title: Un livre", "Été"]),
    ],
)
def test_sheets_slides_and_chapters_are_sections(name: str, titles: list[str]) -> None:
    assert [each.title for each in parse(name, ALL[name]()).sections] == titles


@pytest.mark.parametrize("name", ["a.rtf", "a.eml", "a.odp"])
def test_other_formats_are_documents_too(name: str) -> None:
    found = parse(name, ALL[name]())
    assert (found.kind, found.language) == ("document", name.removeprefix("a."))
    assert found.sections


def test_an_unreadable_document_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParseError, match=r"a\.docx is damaged"):
        parse("sub/a.docx", b"PK\3\4" + b"x" * 100)
    with pytest.raises(ParseError, match=r"a\.doc is in an older format.*Save it as \.docx"):
        parse("a.doc", b"\xd0\xcf\x11\xe0")
    monkeypatch.setattr(office, "LIMIT_S", 0.01)
    with pytest.raises(ParseError, match="within 0 seconds"):
        parse("a.docx", ALL["a.docx"]())
