"""OpenDocument: texts with headings and lists, a heading per sheet or slide, cells as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator

from atelier_desk.support.worker.errors import Refused
from atelier_desk.workspace.documents.markdown_output import COLUMNS, Lines, heading, one_line, table
from atelier_desk.workspace.documents.xml_archive import Element, attribute, local, opened, tree

_ROWS = 1_000
"""Maximum repetitions of a non-empty row."""


def lines(data: bytes) -> Lines:
    with opened(data) as archive:
        names = set(archive.namelist())
        if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise Refused("encrypted")
        root = tree(archive.read("content.xml"))
    body = next(root.iter("{*}body"))
    yield from _blocks(body, [0])


def _blocks(parent: Element, slide: list[int], deep: int = 0, indent: int = -1) -> Lines:
    for each in parent:
        match local(each):
            case "h":
                level = attribute(each, "outline-level")
                yield from heading(_text(each), int(level) if level.isdigit() else 1)
            case "p":
                text = _text(each)
                if text.strip() and indent >= 0:
                    yield f"{'  ' * min(8, indent)}- {one_line(text)}"
                elif text.strip():
                    yield ""
                    yield from text.split("\n")
                    yield ""
                yield from _frames(each, slide, deep)
            case "table":
                name = attribute(each, "name")
                if local(parent) == "spreadsheet":
                    yield from heading(f"Sheet: {name}", 2)
                yield from table(_rows(each))
            case "page":
                slide[0] += 1
                name = attribute(each, "name")
                yield from heading(
                    f"Slide {slide[0]}" + (f": {name}" if name and not name.startswith("page") else ""), 2
                )
                yield from _blocks(each, slide, deep + 1)
            case "notes":
                inside = [line for line in _blocks(each, slide, deep + 1) if line]
                if inside:
                    yield from heading("Notes", 3)
                    yield from inside
            case "list" if deep < 50:
                yield from _blocks(each, slide, deep + 1, indent + 1)
            case "" | "tracked-changes" | "forms" | "sequence-decls" | "annotation":
                yield None
            case _ if deep < 50:
                yield from _blocks(each, slide, deep + 1, indent)


def _frames(paragraph: Element, slide: list[int], deep: int) -> Lines:
    """Yield the content of a paragraph's frames: text boxes and tables."""
    if deep < 50:
        for box in paragraph.iter("{*}text-box"):
            if next(box.iterancestors("{*}p", "{*}h", "{*}text-box"), None) is paragraph:
                yield from _blocks(box, slide, deep + 1)


def _text(element: Element) -> str:
    return "".join(_parts(element))


def _parts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for each in element:
        match local(each):
            case "s":
                yield " "
            case "tab":
                yield " "
            case "line-break":
                yield "\n"
            case "a":
                words, target = _text(each), attribute(each, "href")
                plain = target and words and not any(sign in target for sign in " ()<>\n")
                yield f"[{words}]({target})" if plain else words
            case "note":
                body = "".join(map(_text, each.findall("{*}note-body")))
                yield f" [Note: {one_line(body)}]"
            case "annotation":
                # Nested content comes with its paragraph: reading it again would double the work at each level.
                own = (par for par in each.iter("{*}p") if next(par.iterancestors("{*}p", "{*}annotation")) is each)
                yield f" [Comment: {one_line(' '.join(map(_text, own)))}]"
            case "" | "frame" | "tracked-changes" | "deletion":
                pass
            case _:
                yield from _parts(each)
        yield each.tail or ""


def _rows(sheet: Element) -> Iterator[list[str]]:
    for row in sheet.iter("{*}table-row"):
        if next(row.iterancestors("{*}table")) is not sheet:
            continue
        cells: list[str] = []
        for cell in row:
            if local(cell) in ("table-cell", "covered-table-cell") and len(cells) < COLUMNS:
                text = " ".join(
                    _text(each) for each in cell.iter("{*}p") if next(each.iterancestors("{*}annotation"), None) is None
                )
                cells += [text] * min(_times(cell, "number-columns-repeated"), COLUMNS)
        for _again in range(min(_times(row, "number-rows-repeated"), _ROWS if any(cells) else 1)):
            yield cells


def _times(element: Element, name: str) -> int:
    number = attribute(element, name)
    return int(number) if number.isdigit() and len(number) < 19 else 1
