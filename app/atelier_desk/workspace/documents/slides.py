"""Presentations: a heading per slide, its texts, tables, chart data and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from pptx.opc.package import PartFactory
from pptx.package import Package
from pptx.parts.presentation import PresentationPart

from atelier_desk.workspace.documents.markdown_output import Lines, heading, one_line, table
from atelier_desk.workspace.documents.xml_archive import opened, tree

_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"


def lines(data: bytes) -> Lines:
    opened(data).close()
    for number, slide in enumerate(_presentation(data).slides, 1):
        title = slide.shapes.title
        words = one_line(title.text_frame.text) if title is not None else ""
        hidden = " (hidden)" if slide.element.get("show") == "0" else ""
        yield from heading(f"Slide {number}{hidden}" + (f": {words}" if words else ""), 2)
        for shape in _shapes(slide.shapes):
            if title is None or shape.shape_id != title.shape_id:
                yield from _shape(shape)
        for relation in slide.part.rels.values():
            if not relation.is_external and relation.reltype.endswith("/diagramData"):
                for each in tree(relation.target_part.blob).iter(_TEXT):
                    yield f"- {one_line(each.text or '')}" if each.text else None
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            yield from heading("Notes", 3)
            yield from frame.text.splitlines()


def _presentation(data: bytes) -> Any:
    for each in (
        "openxmlformats-officedocument.presentationml.template",
        "ms-powerpoint.template.macroEnabled",
        "ms-powerpoint.slideshow.macroEnabled",
    ):
        PartFactory.part_type_for[f"application/vnd.{each}.main+xml"] = PresentationPart
    part = Package.open(BytesIO(data)).main_document_part
    if not isinstance(part, PresentationPart):
        raise ValueError(f"not a presentation but {part.content_type}")
    return part.presentation


def _shapes(shapes: Any, deep: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and deep < 50:
            yield from _shapes(shape.shapes, deep + 1)
        else:
            yield shape


def _shape(shape: Any) -> Lines:
    if getattr(shape, "has_table", False):
        yield from table([cell.text for cell in row.cells] for row in shape.table.rows)
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            text = one_line(paragraph.text)
            yield f"{'  ' * paragraph.level}- {text}" if text else None
        yield ""


def _chart(chart: Any) -> Lines:
    if chart.has_title and chart.chart_title.has_text_frame:
        yield one_line(chart.chart_title.text_frame.text)
    for plot in chart.plots:
        series = [(each.name, tuple(each.values)) for each in plot.series]
        names = [str(each) for each in plot.categories]
        rows = [["", *(str(name) for name, _values in series)]]
        for index in range(max((len(values) for _name, values in series), default=0)):
            cells = [values[index] if index < len(values) else None for _name, values in series]
            rows.append(
                [
                    names[index] if index < len(names) else "",
                    *("" if each is None else f"{each:.15g}" for each in cells),
                ]
            )
        yield from table(rows)
