"""``read_file`` for documents: a PDF by page, others as Markdown, and unreadable ones reported."""

from __future__ import annotations

import unicodedata
from io import BytesIO
from pathlib import Path

import psutil
import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, TextStringObject

from atelier_desk.domain.document_formats import COMPOUND, is_pdf
from atelier_desk.domain.errors import ToolError
from atelier_desk.tools.files import document_text
from atelier_desk.tools.files.document_text import NO_TEXT
from atelier_desk.workspace.documents import pdf
from atelier_desk.workspace.path_resolution import WorkspacePath
from tests.helpers.error_codes import raises_code
from tests.helpers.sample_documents import ALL, word
from tests.tools.conftest import Calls
from tests.tools.files.sample_pdf import document
from tests.workspace.documents.expected_document_texts import SAID


async def test_pages_are_numbered_and_can_be_read_in_parts(call: Calls, ws: Path) -> None:
    (ws / "a.pdf").write_bytes(document("Le café est prêt", "second page", "third page"))
    first = await call("read_file", path="a.pdf", limit=2)
    assert first["content"] == "--- Page 1 of 3 ---\nLe café est prêt\n\n--- Page 2 of 3 ---\nsecond page"
    assert (first["total_pages"], first["next_offset"]) == (3, 3)
    rest = await call("read_file", path="a.pdf", offset=first["next_offset"])
    assert rest["content"] == "--- Page 3 of 3 ---\nthird page"
    assert "next_offset" not in rest
    assert "3 pages" in (await call("read_file", path="a.pdf", offset=4))["error"]


async def test_a_long_document_is_returned_in_parts_that_fit(call: Calls, ws: Path) -> None:
    (ws / "a.pdf").write_bytes(document("x" * 30_000, "y" * 15_000, "z" * 15_000))
    first = await call("read_file", path="a.pdf")
    assert (first["next_offset"], first["note"]) == (2, "Page 1 is cut: 6000 characters more.")
    second = await call("read_file", path="a.pdf", offset=2)
    assert second["next_offset"] == 3
    assert "z" not in second["content"]


async def test_a_pdf_without_text_with_a_password_or_broken_is_reported(call: Calls, ws: Path) -> None:
    (ws / "scan.pdf").write_bytes(document("", ""))
    assert (await call("read_file", path="scan.pdf"))["code"] == "no_text"
    (ws / "plain.pdf").write_bytes(document("secret"))
    writer = PdfWriter(clone_from=PdfReader(ws / "plain.pdf"))
    writer.encrypt("word", algorithm="RC4-128")
    writer.write(ws / "locked.pdf")
    locked = await call("read_file", path="locked.pdf")
    assert (locked["code"], "password" in locked["error"]) == ("encrypted", True)
    (ws / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20)
    assert (await call("read_file", path="broken.pdf"))["code"] == "broken"
    with (ws / "huge.pdf").open("wb") as file:
        file.write(b"%PDF-1.7\n")
        file.truncate(30 * 1024 * 1024)
    assert (await call("read_file", path="huge.pdf"))["code"] == "too_large"


async def test_an_endless_pdf_is_stopped(call: Calls, ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "slow.pdf").write_bytes(document("end", extra=b"q 1 0 0 1 0 0 cm Q " * 1_000_000))
    monkeypatch.setattr(document_text, "LIMIT_S", 0.5)
    slow = await call("read_file", path="slow.pdf")
    assert slow["code"] == "timeout"
    assert "0 seconds" in slow["error"]


def test_a_stopped_call_ends_its_process_at_once(tmp_path: Path, real_start: None) -> None:
    before, looked = psutil.Process().children(), list[int]()

    def stopped() -> bool:
        # The second check: the process exists, and is reading.
        looked.append(len(psutil.Process().children()) - len(before))
        return len(looked) == 2

    slow = document("end", extra=b"q 1 0 0 1 0 0 cm Q " * 1_000_000)
    with pytest.raises(ToolError):
        document_text.pdf_pages(WorkspacePath(tmp_path, "slow.pdf", "slow.pdf"), slow, 1, 1, 100, stopped)
    assert looked[1] >= 1
    assert psutil.Process().children() == before


def test_a_decompression_bomb_is_only_a_broken_document() -> None:
    bomb = document("end", extra=b" " * 80_000_000)
    with raises_code(ToolError, "broken"):
        document_text.extracted(ToolError, "pdf", "a.pdf", bomb, 1, 1, 100)


async def test_a_page_without_text_is_named(call: Calls, ws: Path) -> None:
    (ws / "a.pdf").write_bytes(document("first page", "", "third page"))
    assert f"--- Page 2 of 3 ---\n{NO_TEXT}" in (await call("read_file", path="a.pdf"))["content"]


async def test_form_fields_are_read(call: Calls, ws: Path) -> None:
    writer = PdfWriter()
    page = writer.add_blank_page(600, 800)
    rect = ArrayObject([FloatObject(each) for each in (120, 690, 320, 710)])
    kind = {
        NameObject("/Type"): NameObject("/Annot"),
        NameObject("/Subtype"): NameObject("/Widget"),
        NameObject("/FT"): NameObject("/Tx"),
    }
    said = {
        NameObject("/T"): TextStringObject("fullname"),
        NameObject("/V"): TextStringObject("Ada Lovelace"),
        NameObject("/Rect"): rect,
    }
    field = writer._add_object(DictionaryObject({**kind, **said}))
    page[NameObject("/Annots")] = ArrayObject([field])
    writer._root_object[NameObject("/AcroForm")] = writer._add_object(
        DictionaryObject({NameObject("/Fields"): ArrayObject([field])})
    )
    writer.add_attachment("terms.txt", b"x")
    out = BytesIO()
    writer.write(out)
    (ws / "a.pdf").write_bytes(out.getvalue())
    content = (await call("read_file", path="a.pdf"))["content"]
    assert "--- Filled into its form ---\nfullname: Ada Lovelace" in content
    assert "[Files are embedded in it and were not read: terms.txt]" in content


@pytest.mark.parametrize("before", [b"\r\n", b"\xef\xbb\xbf", b"\0\n"])
async def test_blank_bytes_before_the_header_are_accepted(call: Calls, ws: Path, before: bytes) -> None:
    (ws / "a.pdf").write_bytes(before + document("needle"))
    assert "needle" in (await call("read_file", path="a.pdf"))["content"]
    assert not is_pdf(b"The head of a file is %PDF-1.7")


def test_arabic_is_read_in_its_original_letters() -> None:
    assert pdf._ARABIC_FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), "ﻣﺮﺣﺒﺎ ½") == "مرحبا ½"


@pytest.mark.parametrize("name", ALL)
async def test_documents_are_read_as_markdown_by_line(call: Calls, ws: Path, name: str) -> None:
    (ws / name).write_bytes(ALL[name]())
    read = await call("read_file", path=name)
    rows = [row.partition("\t")[2] for row in read["content"].split("\n")]
    assert rows == SAID[name].split("\n")
    if name == "a.docx":
        rest = await call("read_file", path=name, offset=2, limit=1)
        assert rest["content"] == f"     2\t{rows[1]}"


async def test_a_paragraph_above_the_line_limit_is_read_completely(call: Calls, ws: Path) -> None:
    (ws / "a.docx").write_bytes(word("mot " * 2_000 + "fin"))
    rows = (await call("read_file", path="a.docx"))["content"].split("\n")
    assert sum(row.count("mot") for row in rows) == 2_000
    assert any("fin, voir" in row for row in rows)


@pytest.mark.parametrize(
    ("name", "data", "code", "says"),
    [
        ("b.docx", b"PK\x03\x04 broken", "broken", "save it again"),
        ("b.xlsx", COMPOUND + "EncryptedPackage".encode("utf-16-le"), "encrypted", "Save it without protection"),
        ("b.xls", COMPOUND, "old_format", "Save it as .xlsx"),
        ("b.msg", COMPOUND, "old_format", "Save it as .eml"),
    ],
)
async def test_an_unsupported_document_is_refused_with_advice(
    call: Calls, ws: Path, name: str, data: bytes, code: str, says: str
) -> None:
    (ws / name).write_bytes(data)
    read = await call("read_file", path=name)
    assert (read["code"], says in read["error"]) == (code, True)


async def test_a_too_large_document_is_reported_as_such(call: Calls, ws: Path) -> None:
    with (ws / "huge.xlsx").open("wb") as file:
        file.write(b"PK\3\4")
        file.truncate(30 * 1024 * 1024)
    read = await call("read_file", path="huge.xlsx")
    assert (read["code"], "document" in read["error"]) == ("too_large", True)
