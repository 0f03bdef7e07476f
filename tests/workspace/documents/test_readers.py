"""Documents of each kind, read as Markdown."""

from __future__ import annotations

import base64
import email
from email.message import EmailMessage

import pytest

from atelier_desk.domain.document_formats import ENDINGS, kind_of
from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.documents import markdown_output
from atelier_desk.workspace.documents.extraction_process import READERS, answer
from tests.helpers import sample_documents
from tests.helpers.error_codes import raises_code
from tests.helpers.sample_documents import ALL
from tests.workspace.documents.expected_document_texts import SAID


def read(name: str, data: bytes, characters: int = 100_000) -> str:
    kind = kind_of(name, data[:1_024])
    return str(answer(data, kind, 1, 1, characters)["pages"][0])


@pytest.mark.parametrize("name", ALL)
def test_words_tables_headings_and_links_are_read(name: str) -> None:
    assert read(name, ALL[name]()) == SAID[name]


def test_every_kind_has_a_reader_and_a_document_to_try() -> None:
    assert set(READERS) == set(ENDINGS.values())
    assert set(READERS) - {"ole"} == {kind_of(name, make()[:1_024]) for name, make in ALL.items()}


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("Plan.DOCX", b"PK\3\4", "docx"),
        ("plan.docx", b"only text", ""),
        ("plan.zip", b"PK\3\4", ""),
        ("plan.xlsm", b"\xd0\xcf\x11\xe0", "xlsx"),
        ("plan.xls", b"\xd0\xcf\x11\xe0", "ole"),
        ("a.doc", b"{\\rtf1", ""),
        ("a.EML", b"", "eml"),
        ("anything", b"\r\n%PDF-1.7", "pdf"),
        ("The head of a file", b"is %PDF-1.7", ""),
        ("docx", b"PK", ""),
    ],
)
def test_the_kind_is_recognised_by_name_and_first_bytes(name: str, head: bytes, kind: str) -> None:
    assert kind_of(name, head) == kind


def typed(data: bytes, before: str, after: str) -> bytes:
    parts = sample_documents.parts_of(data)
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(before.encode(), after.encode())
    return sample_documents.archived(parts)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        (
            "a.docm",
            lambda: typed(
                sample_documents.word(),
                "vnd.openxmlformats-officedocument.wordprocessingml.document.main",
                "vnd.ms-word.document.macroEnabled.main",
            ),
            "Contrat",
        ),
        ("a.ppsx", lambda: typed(sample_documents.slides(), "presentation.main", "slideshow.main"), "Bilan"),
        ("a.potx", lambda: typed(sample_documents.slides(), "presentation.main", "template.main"), "Bilan"),
        ("a.xltx", lambda: typed(sample_documents.sheets(), "sheet.main", "template.main"), "Ventes"),
    ],
)
def test_templates_and_documents_with_macros_are_read_like_others(name: str, data: object, says: str) -> None:
    assert says in read(name, data())  # type: ignore[operator]


def test_automatic_clause_numbers_are_computed() -> None:
    from docx import Document
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = Document()
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(
            [("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "%3)"), ("upperRoman", "%4")]
        )
    )
    root = document.part.numbering_part.element
    root.insert(0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="90">{levels}</w:abstractNum>'))
    root.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="90"><w:abstractNumId w:val="90"/></w:num>'))
    for level, text in [
        (0, "Objet"),
        (1, "Prix"),
        (2, "net"),
        (2, "brut"),
        (1, "Durée"),
        (2, "fin"),
        (0, "Droit"),
        (1, "Lieu"),
        (3, "x"),
    ]:
        numbered = parse_xml(f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="90"/></w:numPr>')
        document.add_paragraph(text)._p.get_or_add_pPr().append(numbered)
    assert read("a.docx", sample_documents.saved(document)).split("\n") == [
        "1. Objet", "1.1 Prix", "a) net", "b) brut", "1.2 Durée", "a) fin", "2. Droit", "2.1 Lieu", "I x",
    ]  # fmt: skip


HEAD = b"From: Ada <a@example.org>\r\nSubject: =?utf-8?q?R=C3=A9union?=\r\nMIME-Version: 1.0\r\n"


def encoded(kind: str, encoding: str, body: bytes) -> bytes:
    return HEAD + f"Content-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "data",
    [
        encoded("text/plain; charset=utf-8", "base64", base64.b64encode("lettre été".encode())),
        encoded("text/plain; charset=utf-8", "quoted-printable", b"lettre =C3=A9t=C3=A9"),
        encoded("text/plain; charset=iso-8859-1", "8bit", "lettre été".encode("latin-1")),
        encoded("text/plain; charset=no-such-thing", "8bit", "lettre été".encode()),
        sample_documents.mail(html="<style>p{}</style><p>lettre été</p><script>x</script>").as_bytes(),
    ],
)
def test_headers_and_text_of_mails_are_decoded(data: bytes) -> None:
    assert read("a.eml", data) == "From: Ada <a@example.org>\nSubject: Réunion\n\nlettre été"


def test_mail_attachments_are_named_and_a_forwarded_mail_is_read() -> None:
    message = sample_documents.mail("see there")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="plan.pdf")
    message.add_attachment(sample_documents.mail("the first letter"))
    text = read("a.eml", message.as_bytes())
    assert "see there\n\n--- Attached mail ---\nFrom: Ada" in text
    assert text.endswith("the first letter\n\n[Attached and not read: plan.pdf]")


def test_nested_mails_are_read_to_a_limited_depth() -> None:
    message = sample_documents.mail("innermost")
    for _ in range(12):
        outer = EmailMessage()
        outer.set_content("outer")
        outer.add_attachment(email.message_from_bytes(message.as_bytes(), policy=email.policy.default))
        message = outer
    text = read("a.eml", message.as_bytes())
    assert "innermost" not in text
    assert text.count("--- Attached mail ---") == 5


@pytest.mark.parametrize(
    "data", [b"", b"\0\xff\xfe", b"no headers at all", HEAD + b"Content-Type: multipart/mixed\r\n\r\nno parts"]
)
def test_no_input_makes_the_mail_reader_fail(data: bytes) -> None:
    assert isinstance(read("a.eml", data), str)


def test_text_is_cut_at_the_limit_and_the_cut_is_reported() -> None:
    found = answer(sample_documents.sheets(5_000), "xlsx", 1, 1, 500)
    assert (len(found["pages"][0]) <= 501, found["cut"]) == (True, True)
    whole = answer(sample_documents.sheets(50), "xlsx", 1, 1, 100_000)
    assert (whole["cut"], whole["pages"][0].count("\n| mois")) == (False, 49)


def test_at_the_time_limit_the_text_so_far_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown_output, "ENOUGH_S", -1.0)
    assert answer(sample_documents.sheets(50), "xlsx", 1, 1, 100_000) == {"total": 1, "pages": [""], "cut": True}


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx"])
def test_protected_and_outdated_documents_are_refused_with_advice(name: str) -> None:
    kind = name.removeprefix("a.")
    for data, code in (
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"\xd0\xcf\x11\xe0", "old_format"),
    ):
        with raises_code(Refused, code):
            answer(data, kind, 1, 1, 100)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "a.odt",
            lambda: sample_documents.open_document(
                "<office:text/>", **{"META-INF/manifest.xml": "<m><encryption-data/></m>"}
            ),
        ),
        ("a.epub", lambda: sample_documents.book("http://www.w3.org/2001/04/xmlenc#aes128-cbc")),
    ],
)
def test_documents_with_encrypted_content_are_refused(name: str, data: object) -> None:
    with raises_code(Refused, "encrypted"):
        read(name, data())  # type: ignore[operator]


def test_a_book_with_only_its_fonts_obfuscated_is_read() -> None:
    assert "premier" in read("a.epub", sample_documents.book("http://www.idpf.org/2008/embedding"))
