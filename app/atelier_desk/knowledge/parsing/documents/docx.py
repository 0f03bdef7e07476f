"""Word documents: headings by their styles, paragraphs, lists and tables in their order, links."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

from atelier_desk.i18n import N_
from atelier_desk.knowledge.parsing.documents.sections import Outline
from atelier_desk.knowledge.parsing.errors import ParseError
from atelier_desk.knowledge.parsing.parsed import Parsed

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

UNFOLDED = 64 << 20
"""Bytes of all its parts but pictures: a small file may unfold to gigabytes."""
PICTURES = 256 << 20
"""Bytes of its pictures, which are unfolded as well though nobody looks at them."""
LINES = 200_000
"""Paragraphs and rows of tables of one document."""
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PICTURES = ("word/media/", "word/embeddings/", "word/fonts/")


def read(data: bytes) -> Parsed:
    """Lines are paragraphs and table rows.

    Raises:
        ParseError: it is broken or unfolds to more than ``UNFOLDED`` or ``PICTURES``.
    """
    parsed = Parsed("document", "docx")
    lines: list[str] = []
    outline = Outline(parsed, lines)
    links: list[tuple[int, str, str, bool]] = []
    try:
        _check(data)
        for block in _blocks(data):
            if len(lines) >= LINES:
                break
            if hasattr(block, "rows"):
                lines.extend(_row(row) for row in block.rows)
                continue
            text, row = block.text.strip(), len(lines)
            links.extend((row, link.address, link.text, False) for link in block.hyperlinks if link.address)
            match = _HEADING.match(_style(block))
            if text and (match or _style(block).lower() == "title"):
                outline.heading(text, int(match[1]) if match else 1, row, row + 1)
            lines.append(text)
    except ParseError:
        raise
    except Exception as error:  # whatever a broken file makes of zipfile, lxml and docx
        raise ParseError(N_("The Word document is broken."), code="broken") from error
    parsed.lines = len(lines)
    outline.finish()
    for row, target, words, picture in links:
        outline.link(target, words, row, picture)
    return parsed


def text_of(data: bytes) -> str:
    """Its words: a line a paragraph or row of a table, headings marked as in Markdown. Raises what the libraries raise of a broken file."""
    _check(data)
    lines: list[str] = []
    for block in _blocks(data):
        if len(lines) >= LINES:
            break
        if hasattr(block, "rows"):
            lines += [_row(row) for row in block.rows]
            continue
        text = block.text.strip()
        match = _HEADING.match(_style(block))
        lines.append(f"{'#' * int(match[1])} {text}" if match and text else text)
    return "\n".join(lines)


def _check(data: bytes) -> None:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = archive.infolist()
        pictures = sum(each.file_size for each in parts if each.filename.startswith(_PICTURES))
        text = sum(each.file_size for each in parts) - pictures
        for size, most in ((text, UNFOLDED), (pictures, PICTURES)):
            if size > most:
                raise ParseError(
                    N_("The Word document unfolds to {size} MB; at most {most} MB are read."),
                    code="too_large",
                    size=size >> 20,
                    most=most >> 20,
                )
        # The sizes are what the file says of itself: only piece by piece it cannot unfold to more. What Word does not write cannot be
        # unfolded so.
        if any(each.compress_type not in _METHODS for each in parts) or archive.testzip() is not None:
            raise zipfile.BadZipFile


def _blocks(data: bytes) -> Any:
    from docx import Document

    return Document(BytesIO(data)).iter_inner_content()


def _row(row: Any) -> str:
    cells: dict[Any, str] = {}
    for cell in row.cells:
        cells.setdefault(cell._tc, " ".join(cell.text.split()))  # a merged cell comes once for each of its places
    return "| " + " | ".join(cells.values()) + " |"


def _style(paragraph: Paragraph) -> str:
    style = paragraph.style
    return (style.name or "") if style is not None else ""
