"""Markdown as a Word document, with its own styles for headings, lists, tables and code."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

from docx import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.oxml.numbering import CT_Num
from docx.oxml.table import CT_Tbl
from docx.shared import RGBColor
from docx.text.paragraph import Paragraph

from atelier_desk.markdown.link_targets import safe_target
from atelier_desk.markdown.parser import markdown
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_UNWRITTEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed in XML."""
_MONO = "Consolas"
_ALIGNMENTS = {"text-align:center": WD_ALIGN_PARAGRAPH.CENTER, "text-align:right": WD_ALIGN_PARAGRAPH.RIGHT}
_DEEPEST = 3
"""Number of list levels in Word's styles."""


def document(text: str, title: str) -> bytes:
    """Return the bytes of a ``.docx``."""
    made = Document()
    _Writer(made).write(markdown().parse(text, {}))
    about = made.core_properties
    about.title, about.author, about.comments = _written(title)[:255], "", ""
    out = BytesIO()
    made.save(out)
    return out.getvalue()


class _Writer:
    """Appends elements directly: the library searches the whole document for each insertion."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._body, self._width = document.element.body, document._block_width
        self._numbering = document.part.numbering_part.element
        self._next = max((each.numId for each in self._numbering.num_lst), default=0) + 1
        self._styles = {style.name: style.style_id for style in document.styles}
        self._forms = {name: self._form(name) for name in self._styles if name.startswith("List Number")}
        self._links: dict[str, str] = {}
        """Relationship ids by address."""
        self._lists: list[object] = []
        """The open lists: None for bullets, otherwise the id of the numbering."""
        self._quotes = 0
        self._mark = ""
        self._first = False

    def write(self, tokens: Sequence[Token]) -> None:
        section = self._body.sectPr
        self._body.remove(section)
        at = 0
        while at < len(tokens):
            token = tokens[at]
            match token.type:
                case "heading_open":
                    at += 1
                    self._inline(self._paragraph(f"Heading {token.tag[1]}"), tokens[at])
                case "inline":
                    self._inline(self._text(), token)
                case "bullet_list_open":
                    self._lists.append(None)
                case "ordered_list_open":
                    self._lists.append(self._numbers(token.attrGet("start")))
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._first = True
                    checked = token.meta.get("checked")
                    self._mark = "" if checked is None else "☒ " if checked else "☐ "
                case "blockquote_open":
                    self._quotes += 1
                case "blockquote_close":
                    self._quotes -= 1
                case "fence" | "code_block" | "math_block":
                    self._code(token.content.rstrip("\n"))
                case "hr":
                    self._rule()
                case "table_open":
                    end = next(index for index in range(at, len(tokens)) if tokens[index].type == "table_close")
                    self._table(tokens[at:end])
                    at = end
            at += 1
        self._body.append(section)

    def _paragraph(self, style: str) -> Paragraph:
        made: Any = OxmlElement("w:p")
        self._body.append(made)
        if style != "Normal":
            made.style = self._styles[style]
        return Paragraph(made, self._document._body)

    def _text(self) -> Paragraph:
        if not self._lists:
            return self._paragraph("Quote" if self._quotes else "Normal")
        depth = min(len(self._lists), _DEEPEST)
        level = f" {depth}" if depth > 1 else ""
        if not self._first:
            return self._paragraph(f"List Continue{level}")
        self._first = False
        number = self._lists[-1]
        made = self._paragraph(f"List {'Bullet' if number is None else 'Number'}{level}")
        if number is not None:
            made._p.get_or_add_pPr().get_or_add_numPr().get_or_add_numId().val = number
        if self._mark:
            made.add_run(self._mark)
            self._mark = ""
        return made

    def _form(self, style: str) -> int:
        """Return the template list whose numbering a style has."""
        known = self._document.styles[style].element.pPr.numPr.numId.val
        return int(next(each for each in self._numbering.num_lst if each.numId == known).abstractNumId.val)

    def _numbers(self, start: object) -> int:
        """Create a separate numbering; otherwise a list would continue the previous one's numbers."""
        depth = min(len(self._lists) + 1, _DEEPEST)
        made: Any = CT_Num.new(  # type: ignore[no-untyped-call]
            self._next, self._forms[f"List Number{f' {depth}' if depth > 1 else ''}"]
        )
        made.add_lvlOverride(ilvl=0).add_startOverride(start if isinstance(start, int) else 1)
        self._numbering.append(made)
        self._next += 1
        return self._next - 1

    def _code(self, text: str) -> None:
        made = self._paragraph("No Spacing")
        run = made.add_run(_written(text))
        run.font.name = _MONO

    def _rule(self) -> None:
        line = f'<w:pBdr {nsdecls("w")}><w:bottom w:val="single" w:sz="6" w:space="1" w:color="auto"/></w:pBdr>'
        self._paragraph("Normal")._p.get_or_add_pPr().append(parse_xml(line))

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[tuple[Token, WD_ALIGN_PARAGRAPH | None]]] = []
        alignment = None
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                alignment = _ALIGNMENTS.get(str(token.attrGet("style")))
            elif token.type == "inline":
                rows[-1].append((token, alignment))
        width = max((len(row) for row in rows), default=0)
        if not width:
            return
        table = CT_Tbl.new_tbl(len(rows), width, self._width)
        table.tblPr.style = self._styles["Table Grid"]
        self._body.append(table)
        for number, (row, line) in enumerate(zip(rows, table.tr_lst, strict=True)):
            for cell, (token, alignment) in zip(line.tc_lst, row, strict=False):
                paragraph = Paragraph(cell.p_lst[0], self._document._body)
                if alignment is not None:
                    paragraph.alignment = alignment
                self._inline(paragraph, token, bold=number == 0)
        self._paragraph("No Spacing")

    def _inline(self, paragraph: Paragraph, inline: Token, *, bold: bool = False) -> None:
        strong, slanted, struck = int(bold), 0, 0
        into: object = paragraph
        for token in inline.children or ():
            match token.type:
                case "strong_open" | "strong_close":
                    strong += token.nesting
                case "em_open" | "em_close":
                    slanted += token.nesting
                case "s_open" | "s_close":
                    struck += token.nesting
                case "link_open":
                    into = self._link(paragraph, str(token.attrGet("href") or ""))
                case "link_close":
                    into = paragraph
                case _:
                    text = {"softbreak": " ", "hardbreak": "\n"}.get(token.type, token.content)
                    if token.type == "image":
                        text = f"[{token.content}]"
                    run = _run(paragraph, into, visible(text) if token.type == "code_inline" else text)
                    run.bold, run.italic, run.font.strike = strong > 0 or None, slanted > 0 or None, struck > 0 or None
                    if token.type in ("code_inline", "math_inline"):
                        run.font.name = _MONO
                    if token.type == "footnote":
                        run.font.superscript = True

    def _link(self, paragraph: Paragraph, target: str) -> object:
        if not (target := safe_target(target)):
            return paragraph
        target = _written(target)
        if target not in self._links:
            # The library's own search for an address and for a free id reads all earlier ones.
            self._links[target] = f"link{len(self._links) + 1}"
            paragraph.part.rels.add_relationship(
                RELATIONSHIP_TYPE.HYPERLINK, target, self._links[target], is_external=True
            )
        link = OxmlElement("w:hyperlink")
        link.set(qn("r:id"), self._links[target])
        paragraph._p.append(link)
        return link


def _run(paragraph: Paragraph, into: Any, text: str) -> Any:
    run = paragraph.add_run(_written(text))
    if into is not paragraph:
        into.append(run._r)
        run.font.color.rgb, run.font.underline = RGBColor(0x2A, 0x5D, 0xB0), True
    return run


def _written(text: str) -> str:
    return _UNWRITTEN.sub("", text)
