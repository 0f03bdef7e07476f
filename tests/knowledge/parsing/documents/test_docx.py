"""Word documents."""

from __future__ import annotations

import tracemalloc
import zipfile
from io import BytesIO

import pytest
from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from atelier_desk.knowledge.parsing.documents import docx
from atelier_desk.knowledge.parsing.parse import ParseError, parse


def _document() -> bytes:
    document = Document()
    document.add_heading("Report", 0)
    document.add_heading("Part", 1)
    paragraph = document.add_paragraph("See ")
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), document.part.relate_to("https://a.example/", RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run = OxmlElement("w:r")
    words = OxmlElement("w:t")
    words.text = "there"
    run.append(words)
    link.append(run)
    paragraph._p.append(link)
    document.add_heading("Inner", 2)
    table = document.add_table(rows=1, cols=3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text = "b"
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def test_headings_text_tables_and_links() -> None:
    found = parse("a.docx", _document())
    assert (found.kind, found.language) == ("document", "docx")
    assert [(each.title, each.level, each.parent, each.text) for each in found.sections] == [
        ("Report", 1, -1, ""),
        ("Part", 1, -1, "See there"),
        ("Inner", 2, 1, "| wide | b |"),
    ]
    assert [(each.target, each.words, each.section) for each in found.links] == [("https://a.example/", "there", 1)]


def test_broken_and_unfolding_documents_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParseError, match="broken"):
        parse("a.docx", b"PK\3\4" + b"x" * 100)
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a>" * 1_000_000)
    monkeypatch.setattr(docx, "UNFOLDED", 1 << 20)
    with pytest.raises(ParseError, match="unfolds to 2 MB; at most 1 MB"):
        parse("a.docx", out.getvalue())


def test_what_unfolds_to_more_than_it_says_and_pictures_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes in the list of an archive are what whoever made it wrote there; pictures are unfolded though nobody looks at them."""
    with zipfile.ZipFile(BytesIO(_document())) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    liar = _archived({**parts, "word/document.xml": bytes(64 << 20)})
    entry = liar.rindex(b"word/document.xml") - 46
    liar[entry + 24 : entry + 28] = (2_000).to_bytes(4, "little")
    tracemalloc.start()
    with pytest.raises(ParseError, match="broken"):
        parse("a.docx", bytes(liar))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16 << 20
    with pytest.raises(ParseError, match="broken"):
        parse("a.docx", bytes(_archived(parts, zipfile.ZIP_BZIP2)))
    monkeypatch.setattr(docx, "PICTURES", 1 << 20)
    with pytest.raises(ParseError, match="unfolds to 2 MB; at most 1 MB"):
        parse("a.docx", bytes(_archived({**parts, "word/media/a.bmp": bytes(3_000_000)})))
    assert parse("a.docx", _document()).sections


def _archived(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return bytearray(out.getvalue())
