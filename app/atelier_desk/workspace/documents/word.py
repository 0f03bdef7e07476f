"""Word documents: headings, numbering, lists, tables and links in order; text boxes, insertions, notes and comments."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from docx.opc.part import PartFactory
from docx.package import Package
from docx.parts.document import DocumentPart

from atelier_desk.workspace.documents.markdown_output import Lines, heading, one_line, table
from atelier_desk.workspace.documents.xml_archive import Element, attribute, local, opened, tree

if TYPE_CHECKING:
    from docx.opc.rel import _Relationship

_ALSO = tuple(
    f"application/vnd.{kind}.main+xml"
    for kind in (
        "ms-word.document.macroEnabled",
        "openxmlformats-officedocument.wordprocessingml.template",
        "ms-word.template.macroEnabledTemplate",
    )
)
"""Content types of documents with macros and of templates, which have the same structure."""
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_GONE = frozenset(("del", "moveFrom", "Fallback", "pPr", "rPr", "instrText", "delText", "sdtPr", "txbxContent"))
"""Deleted, duplicated or non-text elements; text boxes are read after their paragraph."""
_NOTES = {"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
_SPAN = 64


class _Level(NamedTuple):
    start: int
    form: str
    text: str


def lines(data: bytes) -> Lines:
    """Yield lines for ``gathered``; raises ``Refused``, or the libraries' errors for a broken file."""
    opened(data).close()
    part = _part(data)
    reader = _Reader(part)
    yield from reader.blocks(part.element.body)
    seen: set[str] = set()
    for end in part.rels.values():
        if end.is_external:
            continue
        name = end.reltype.rpartition("/")[2]
        if name in ("header", "footer"):
            text = " · ".join(filter(None, (one_line(reader.text(each)) for each in _root(end).iter("{*}p"))))
            if text and text not in seen:
                seen.add(text)
                yield ""
                yield f"[{name.title()}: {text}]"
        elif name in _NOTES:
            for note in _root(end).iter(f"{{*}}{_NOTES[name]}"):
                text = one_line(" ".join(reader.text(each) for each in note.iter("{*}p")))
                if text:
                    yield ""
                    yield f"[^{_mark(name, attribute(note, 'id'))}]: {text}"


def _part(data: bytes) -> DocumentPart:
    for each in _ALSO:
        PartFactory.part_type_for[each] = DocumentPart
    part = Package.open(BytesIO(data)).main_document_part
    if not isinstance(part, DocumentPart):
        raise ValueError(f"not a document but {part.content_type}")
    return part


def _root(relation: _Relationship) -> Element:
    return tree(relation.target_part.blob)


def _mark(name: str, number: str) -> str:
    return number if name == "footnotes" else f"{name[:-1]}-{number}"


class _Reader:
    def __init__(self, part: DocumentPart) -> None:
        self._links = {key: relation.target_ref for key, relation in part.rels.items() if relation.is_external}
        self._styles: dict[str, tuple[int, tuple[str, int] | None]] = {}
        for style in part.styles.element.iter("{*}style"):
            self._style(style)
        self._levels: dict[str, tuple[str, dict[int, _Level]]] = {}
        self._restarts: dict[tuple[str, int], int] = {}
        """Restart numbers of lists, by list and level."""
        if any(each.reltype.endswith("/numbering") for each in part.rels.values()):
            self._numbering(part.numbering_part.element)
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def blocks(self, parent: Element, *, deep: int = 0) -> Lines:
        for block in parent:
            match local(block):
                case "p":
                    yield from self._paragraph(block)
                case "tbl":
                    yield from table(
                        self._row(row) for row in block.iter("{*}tr") if next(row.iterancestors("{*}tbl")) is block
                    )
                case "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" | "smartTag" if deep < 50:
                    yield from self.blocks(block, deep=deep + 1)
                case _:
                    yield None

    def text(self, element: Element) -> str:
        """Return the text of a paragraph, with links as Markdown."""
        return "".join(self._parts(element))

    def _parts(self, element: Element) -> Iterator[str]:
        for each in element:
            name = local(each)
            match name:
                case "t":
                    yield each.text or ""
                case "tab" | "ptab":
                    yield " "
                case "br" | "cr":
                    yield "\n"
                case "noBreakHyphen":
                    yield "-"
                case "footnoteReference" | "endnoteReference" | "commentReference":
                    yield f"[^{_mark(name.removesuffix('Reference') + 's', attribute(each, 'id'))}]"
                case "hyperlink":
                    words, target = self.text(each), self._links.get(attribute(each, "id"), "")
                    yield f"[{words}]({target})" if target and words and not re.search(r"[\s()<>]", target) else words
                case _ if name and name not in _GONE:
                    yield from self._parts(each)

    def _paragraph(self, element: Element) -> Lines:
        outline, numbered = self._styles.get(_value(element, "pPr/pStyle"), (0, None))
        if own := _first(element, "pPr/numPr"):
            numbered = _number(own[0]) or numbered
        text = self.text(element).strip()
        if text and outline:
            yield from heading(f"{self._label(numbered)}{text}", outline)
        elif text and numbered and numbered[0] != "0":
            label = self._label(numbered) or "- "
            yield f"{'  ' * min(8, numbered[1]) if label == '- ' else ''}{label}{one_line(text)}"
        elif text:
            yield ""
            yield from text.split("\n")
            yield ""
        for box in element.iter("{*}txbxContent"):
            # Nested text boxes are read with the outer one: reading them here would double the work at each level.
            first = next(box.iterancestors("{*}p", "{*}txbxContent"), None) is element
            if first and not any(local(above) == "Fallback" for above in box.iterancestors()):
                yield from self.blocks(box)

    def _row(self, row: Element) -> list[str]:
        cells: list[str] = []
        for cell in row.iter("{*}tc"):
            if next(cell.iterancestors("{*}tr")) is row:
                cells.append(" ".join(self.text(each) for each in cell.iter("{*}p")))
                span = _value(cell, "tcPr/gridSpan")
                cells += [""] * (min(_SPAN, int(span)) - 1 if span.isdigit() else 0)
        return cells

    def _style(self, style: Element) -> None:
        name, level = _value(style, "name"), _value(style, "pPr/outlineLvl")
        outline, numbered = self._styles.get(_value(style, "basedOn"), (0, None))
        if match := _HEADING.match(name):
            outline = int(match[1])
        elif level.isdigit():
            outline = (int(level) + 1) % 10  # 9 is body text
        elif name.lower() == "title":
            outline = 1
        own = _first(style, "pPr/numPr")
        self._styles[attribute(style, "styleId")] = outline, (_number(own[0]) if own else None) or numbered

    def _numbering(self, root: Element) -> None:
        forms: dict[str, dict[int, _Level]] = {}
        for each in root.iter("{*}abstractNum"):
            forms[attribute(each, "abstractNumId")] = dict(_levels(each))
        for each in root.iter("{*}num"):
            key, number = _value(each, "abstractNumId"), attribute(each, "numId")
            self._levels[number] = (key, forms.get(key, {}))
            for override in each.iter("{*}lvlOverride"):
                level, start = attribute(override, "ilvl"), _value(override, "startOverride")
                if level.isdigit() and start.isdigit():
                    self._restarts[number, int(level)] = int(start)

    def _label(self, numbered: tuple[str, int] | None) -> str:
        """Return the automatic number of a paragraph, followed by a space.

        Empty for bullets and unnumbered paragraphs.
        """
        if numbered is None or numbered[0] not in self._levels:
            return ""
        key, levels = self._levels[numbered[0]]
        own, counts = numbered[1], self._counts[key]
        level = levels.get(own)
        if level is None or level.form in ("bullet", "none"):
            return ""
        restart = self._restarts.pop((numbered[0], own), None)
        counts[own] = restart if restart is not None else counts.get(own, level.start - 1) + 1
        for deeper in [each for each in counts if each > own]:
            del counts[deeper]

        def shown(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            there = levels.get(at, level)
            return _counted(counts.get(at, there.start), there.form)

        return re.sub(r"%(\d)", shown, level.text)[:50] + " "


def _levels(element: Element) -> Iterator[tuple[int, _Level]]:
    for each in element.iter("{*}lvl"):
        number, start = attribute(each, "ilvl"), _value(each, "start")
        if number.isdigit():
            yield (
                int(number),
                _Level(int(start) if start.isdigit() else 1, _value(each, "numFmt"), _value(each, "lvlText")),
            )


def _number(element: Element) -> tuple[str, int] | None:
    key, level = _value(element, "numId"), _value(element, "ilvl")
    return (key, int(level) if level.isdigit() else 0) if key else None


def _counted(number: int, form: str) -> str:
    if form in ("lowerLetter", "upperLetter") and 0 < number < 1_000:
        sign = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif form in ("lowerRoman", "upperRoman") and 0 < number < 4_000:
        sign = "".join(
            digits[number // base % 10]
            for base, digits in (
                (1000, ("", "m", "mm", "mmm")),
                (100, ("", "c", "cc", "ccc", "cd", "d", "dc", "dcc", "dccc", "cm")),
                (10, ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")),
                (1, ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")),
            )
        )
    else:
        return f"{number:02}" if form == "decimalZero" else str(number)
    return sign.upper() if form.startswith("upper") else sign


def _first(element: Element, path: str) -> list[Element]:
    return list(element.findall("/".join(f"{{*}}{each}" for each in path.split("/"))))[:1]


def _value(element: Element, path: str) -> str:
    """Return the attribute ``val`` of the first element at a path of local names."""
    return next((attribute(each, "val") for each in _first(element, path)), "")
