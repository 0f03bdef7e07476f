"""Malicious and broken documents: they give a text or a refusal, within the limits."""

from __future__ import annotations

import os
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atelier_desk.domain.document_formats import kind_of
from atelier_desk.domain.errors import ToolError
from atelier_desk.support.worker.errors import Refused
from atelier_desk.tools.files.document_text import extracted
from atelier_desk.workspace.documents import extraction_process, xml_archive
from atelier_desk.workspace.documents.extraction_process import answer
from tests.helpers import sample_documents
from tests.helpers.error_codes import raises_code
from tests.helpers.sample_documents import ALL, archived, parts_of

MADE = {name: make() for name, make in ALL.items()}
ARCHIVES = [name for name, data in MADE.items() if data.startswith(b"PK")]
MAIN = {
    "a.docx": "word/document.xml",
    "a.xlsx": "xl/worksheets/sheet1.xml",
    "a.pptx": "ppt/slides/slide1.xml",
    "a.odt": "content.xml",
    "a.ods": "content.xml",
    "a.odp": "content.xml",
    "a.epub": "OEBPS/book.opf",
}


def tried(name: str, data: bytes) -> str:
    """The text, or the code of the refusal."""
    try:
        return str(answer(data, kind_of(name, MADE[name][:1_024]), 1, 1, 5_000)["pages"][0])
    except Refused as refused:
        return refused.code


def with_part(name: str, change: object) -> bytes:
    parts = parts_of(MADE[name])
    parts[MAIN[name]] = change(parts[MAIN[name]])  # type: ignore[operator]
    return archived(parts)


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_document_broken_anywhere_gives_a_text_or_a_refusal(name: str, data: st.DataObject) -> None:
    whole = MADE[name]
    at = data.draw(st.integers(0, len(whole)))
    noise = data.draw(st.binary(max_size=20))
    for broken in (whole[:at], whole[:at] + noise + whole[at + len(noise) :]):
        assert len(tried(name, broken)) <= 5_001


@pytest.mark.parametrize("name", MAIN)
@given(data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_broken_part_in_a_valid_archive_gives_a_text_or_a_refusal(name: str, data: st.DataObject) -> None:
    parts = parts_of(MADE[name])
    part = data.draw(st.sampled_from(sorted(parts)))
    content = parts[part]
    at = data.draw(st.integers(0, len(content)))
    for changed in (content[:at], content[:at] + data.draw(st.binary(max_size=20)) + content[at + 5 :]):
        assert len(tried(name, archived({**parts, part: changed}))) <= 5_001


@pytest.mark.parametrize("name", MAIN)
def test_entities_are_neither_expanded_nor_fetched(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("THE-SECRET", "utf-8")
    bomb = '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    for entity, use in ((f'<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">', b"&x;"), (bomb, b"&a11;")):

        def poisoned(content: bytes, entity: str = entity, use: bytes = use) -> bytes:
            start = content.index(b"?>") + 2 if content.startswith(b"<?xml") else 0
            end = content.rindex(b"</")
            return content[:start] + f"<!DOCTYPE r [{entity}]>".encode() + content[start:end] + use + content[end:]

        tracemalloc.start()
        said = tried(name, with_part(name, poisoned))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "SECRET" not in said
        assert "lollol" not in said
        assert most < extraction_process.MEMORY // 2  # expat stops at 8 MiB of text


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_decompression_bomb_is_refused_with_the_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("UNFOLDED", "ROWS"):
        monkeypatch.setattr(xml_archive, limit, 1 << 20)
    with pytest.raises(Refused) as caught:
        answer(with_part(name, lambda content: content + b" " * (3 << 20)), kind_of(name, b"PK"), 1, 1, 100)
    assert (caught.value.code, caught.value.params) == ("too_large", {"size": 4, "most": 1})
    monkeypatch.undo()
    monkeypatch.setattr(xml_archive, "PICTURES", 1 << 20)
    with raises_code(Refused, "too_large"):
        answer(archived({**parts_of(MADE[name]), "media/a.BMP": bytes(3 << 20)}), kind_of(name, b"PK"), 1, 1, 100)


def test_an_archive_with_false_sizes_is_broken_and_allocates_no_memory() -> None:
    liar = bytearray(archived({**parts_of(MADE["a.docx"]), "word/document.xml": bytes(64 << 20)}))
    entry = liar.rindex(b"word/document.xml") - 46
    liar[entry + 24 : entry + 28] = (2_000).to_bytes(4, "little")
    tracemalloc.start()
    assert tried("a.docx", bytes(liar)) == "broken"
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16 << 20


@pytest.mark.parametrize("name", ARCHIVES)
def test_structures_that_no_office_program_writes_are_broken(name: str) -> None:
    assert tried(name, archived(parts_of(MADE[name]), zipfile.ZIP_BZIP2)) == "broken"
    assert tried(name, archived({"a.txt": "x"})) == "broken"
    assert tried(name, b"PK\3\4" + b"x" * 100) == "broken"


def test_endlessly_repeated_cells_and_rows_stay_within_the_limits() -> None:
    text = answer(sample_documents.open_sheets(1_000_000_000), "ods", 1, 1, 200_000)["pages"][0]
    assert len(text) < 200_002
    assert text.count("x") == 255


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>end</t></is></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="2000000000"><c r="A2000000000"><v>2</v></c></row>',
        (
            '<row r="1"><c r="A1" s="999999"><v>1e400</v></c><c r="B1" t="s"><v>77</v></c><c r="C1" '
            't="d"><v>never</v></c></row>'
        ),
    ],
)
def test_a_sheet_that_declares_endless_rows_ends(rows: str) -> None:
    parts = parts_of(MADE["a.xlsx"])
    main = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension '
        'ref="A1:XFD1048576"/><sheetData>'
    )
    parts[MAIN["a.xlsx"]] = (main + rows + "</sheetData></worksheet>").encode()
    assert isinstance(tried("a.xlsx", archived(parts)), str)


def test_deep_nesting_is_a_refusal_or_a_text() -> None:
    deep = "<text:list><text:list-item>" * 5_000 + "<text:p>x</text:p>" + "</text:list-item></text:list>" * 5_000
    assert tried("a.odt", sample_documents.open_document(f"<office:text>{deep}</office:text>")) == "broken"
    assert isinstance(tried("a.eml", sample_documents.mail(html="<div>" * 20_000 + "x").as_bytes()), str)
    assert isinstance(tried("a.rtf", b"{\\rtf1 " + b"{" * 200_000), str)


_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
NESTED: dict[str, tuple[str, str, str]] = {
    "text boxes of Word": ("a.docx", "<w:p><w:r><w:pict><w:txbxContent>", "</w:txbxContent></w:pict></w:r></w:p>"),
    "notes": ("a.odt", "<text:p><text:note><text:note-body>", "</text:note-body></text:note></text:p>"),
    "comments": ("a.odt", "<text:p><text:p><office:annotation>", "</office:annotation></text:p></text:p>"),
    "text boxes": (
        "a.odt",
        "<text:p><draw:frame><draw:text-box><draw:text-box>",
        "</draw:text-box></draw:text-box></draw:frame></text:p>",
    ),
}


@pytest.mark.parametrize("what", NESTED)
def test_nested_content_is_read_once(what: str) -> None:
    name, opens, closes = NESTED[what]
    if name == "a.docx":
        inner = opens * 12 + "<w:p><w:r><w:t>deepest</w:t></w:r></w:p>" + closes * 12
        parts = parts_of(MADE[name])
        parts[MAIN[name]] = f"<w:document {_WORD}><w:body>{inner}</w:body></w:document>".encode()
        data = archived(parts)
    else:
        inner = opens * 12 + "<text:p>deepest</text:p>" + closes * 12
        data = sample_documents.open_document(f"<office:text>{inner}</office:text>")
    assert tried(name, data).count("deepest") == 1, "read twice at each level, thirty of them would take for ever"


def test_an_unclosed_rtf_picture_is_read_quickly() -> None:
    data = b"{\\rtf1 " + (b"abcdef 12345 " * 39 + b"z") * 8_000
    began = time.process_time()
    assert tried("a.rtf", data).startswith("abcdef 12345")
    assert (
        time.process_time() - began < 6
    )  # ten seconds or more, when the same characters are scanned again from each of them


def test_running_out_of_memory_ends_only_the_worker_process() -> None:
    cells = "<table:table-cell><text:p>a</text:p></table:table-cell>" * 10
    rows = f"<table:table-row>{cells}</table:table-row>" * 100_000
    bomb = sample_documents.open_document(f"<office:spreadsheet><table:table>{rows}</table:table></office:spreadsheet>")
    assert len(bomb) < 1 << 20
    if os.name == "posix":
        try:
            extracted(ToolError, "ods", "a.ods", bomb, 1, 1, 1_000)
        except ToolError as error:
            assert error.code in ("broken", "timeout")  # noqa: PT017
