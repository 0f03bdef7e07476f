"""Documents of each kind, made by the libraries that read them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from io import BytesIO
from typing import Any

ODF = "urn:oasis:names:tc:opendocument:xmlns"
_SPACES = " ".join(f'xmlns:{each}="{ODF}:{each}:1.0"' for each in ("office", "text", "table"))
_SPACES += (
    f' xmlns:draw="{ODF}:drawing:1.0" xmlns:presentation="{ODF}:presentation:1.0" '
    f'xmlns:xlink="http://www.w3.org/1999/xlink"'
)


def archived(parts: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def saved(document: Any) -> bytes:
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def word(text: str = "Le café est prêt") -> bytes:
    from docx import Document
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    document = Document()
    document.add_heading("Contrat", 0)
    document.add_heading("Article premier", 1)
    paragraph = document.add_paragraph(f"{text}, voir ")
    link, run, words = OxmlElement("w:hyperlink"), OxmlElement("w:r"), OxmlElement("w:t")
    link.set(qn("r:id"), document.part.relate_to("https://a.example/", RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    words.text = "ici"
    run.append(words)
    link.append(run)
    paragraph._p.append(link)
    document.add_paragraph("first", "List Number")
    document.add_paragraph("second", "List Number")
    document.add_paragraph("point", "List Bullet")
    inserted = document.add_paragraph("kept ")
    wrapper = OxmlElement("w:ins")
    wrapper.append(inserted.add_run("inserted")._r)
    inserted._p.append(wrapper)
    deleted = OxmlElement("w:del")
    removed = inserted.add_run("deleted")._r
    deleted.append(removed)
    inserted._p.append(deleted)
    document.add_heading("Prix", 2)
    table = document.add_table(rows=2, cols=3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text = "b|c"
    table.cell(1, 0).text = "1"
    document.add_comment(inserted.runs, text="à vérifier", author="Ada")
    document.sections[0].header.paragraphs[0].text = "Dossier 7"
    return saved(document)


def sheets(rows: int = 2) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    first = book.active
    assert first is not None
    first.title = "Ventes"
    first.append(["Mois", "Total", None])
    for number in range(1, rows):
        first.append([f"mois {number}", number * 1.5])
    first.append(["somme", "=SUM(B2:B9)"])
    hidden = book.create_sheet("Notes")
    hidden["C5"] = "été"
    hidden.sheet_state = "hidden"
    return saved(book)


def slides() -> bytes:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Bilan"
    slide.placeholders[1].text_frame.text = "premier point"
    slide.notes_slide.notes_text_frame.text = "dire bonjour"
    other = show.slides.add_slide(show.slide_layouts[6])
    size = [Inches(1)] * 4
    table = other.shapes.add_table(2, 2, *size).table
    for at, text in enumerate("abcd"):
        table.cell(at // 2, at % 2).text = text
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Nord", "Sud"]
    data.add_series("2026", (1.5, 2))
    other.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *size, data)
    return saved(show)


def open_document(body: str, **parts: str) -> bytes:
    content = (
        f'<?xml version="1.0"?><office:document-content '
        f"{_SPACES}><office:body>{body}</office:body></office:document-content>"
    )
    return archived({"mimetype": "application/vnd.oasis.opendocument", "content.xml": content, **parts})


def open_text() -> bytes:
    return open_document(
        '<office:text><text:h text:outline-level="2">Titre</text:h><text:p>Le<text:s/>café <text:a '
        'xlink:href="https://a.example/">ici'
        "</text:a></text:p><text:list><text:list-item><text:p>un</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table></office:text>"
    )


def open_sheets(repeated: int = 2) -> bytes:
    return open_document(
        "<office:spreadsheet><table:table "
        'table:name="Ventes"><table:table-row><table:table-cell><text:p>Mois</text:p></table:table-cell>'
        f"<table:table-cell "
        f'table:number-columns-repeated="{repeated}"><text:p>x</text:p></table:table-cell></table:table-row>'
        f'<table:table-row table:number-rows-repeated="{repeated}"><table:table-cell '
        f'table:number-columns-repeated="{repeated}"/>'
        f"</table:table-row><table:table-row "
        f'table:number-rows-repeated="{repeated}"><table:table-cell><text:p>mai</text:p>'
        "</table:table-cell></table:table-row></table:table></office:spreadsheet>"
    )


def open_slides() -> bytes:
    return open_document(
        "<office:presentation><draw:page "
        'draw:name="Bilan"><draw:frame><draw:text-box><text:p>bonjour</text:p></draw:text-box></draw:frame>'
        "<presentation:notes><draw:frame><draw:text-box><text:p>lentement</text:p></draw:text-box></draw:frame></presentation:notes>"
        "</draw:page></office:presentation>"
    )


def rich_text() -> bytes:
    return (
        rb"{\rtf1\ansi\ansicpg1252 Le caf\'e9 {\b est} pr\u234?t\par next\par{\pict "
        + b"ab" * 5_000
        + rb"}{\bin4 }}}}end}"
    )


def book(encryption: str = "") -> bytes:
    parts = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<metadata><dc:title>Un livre</dc:title><dc:creator>Ada</dc:creator></metadata>"
        '<manifest><item id="b" href="b.xhtml"/><item id="a" href="a%20one.xhtml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
        "OEBPS/a one.xhtml": '<?xml version="1.0" encoding="utf-8"?>'
        "<!DOCTYPE html><html><head><style>p{}</style></head>"
        "<body><h1>Été</h1><p>premier</p></body></html>",
        "OEBPS/b.xhtml": "<html><body><p>second</p></body></html>",
    }
    return archived(
        parts | ({"META-INF/encryption.xml": f'<e><m Algorithm="{encryption}"/></e>'} if encryption else {})
    )


def mail(body: str = "lettre été", html: str = "") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "Ada <a@example.org>", "Réunion"
    message.set_content(html or body, subtype="html" if html else "plain")
    return message


ALL: dict[str, Callable[[], bytes]] = {
    "a.docx": word,
    "a.xlsx": sheets,
    "a.pptx": slides,
    "a.odt": open_text,
    "a.ods": open_sheets,
    "a.odp": open_slides,
    "a.rtf": rich_text,
    "a.epub": book,
    "a.eml": lambda: mail().as_bytes(),
}
"""A small document of each kind, by name."""
