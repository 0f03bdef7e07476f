"""Workbooks: a heading per sheet, and its cells as a Markdown table, row by row."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO
from typing import Any

from atelier_desk.workspace.documents.markdown_output import COLUMNS, Lines, heading, table
from atelier_desk.workspace.documents.xml_archive import opened


def lines(data: bytes) -> Lines:
    """Yield lines for ``gathered``. A cell is its last computed value, or its formula if it was never computed."""
    opened(data).close()
    sys.modules.setdefault("numpy", None)  # type: ignore[arg-type]  # not needed, and would exceed the memory limit
    from openpyxl import load_workbook

    values, formulas = (
        load_workbook(BytesIO(data), read_only=True, data_only=each, keep_links=False) for each in (True, False)
    )
    for sheet, written in zip(values.worksheets, formulas.worksheets, strict=True):
        hidden = "" if sheet.sheet_state == "visible" else " (hidden)"
        yield from heading(f"Sheet: {sheet.title}{hidden}", 2)
        yield from table(_rows(sheet, written))


def _rows(sheet: Any, written: Any) -> Iterator[list[str]]:
    for each in (sheet, written):
        each.reset_dimensions()  # the declared size of a sheet is often wrong
    limits = {"max_col": COLUMNS, "values_only": True}
    for row, formulas in zip(sheet.iter_rows(**limits), written.iter_rows(**limits), strict=False):
        yield [_shown(formula if value is None else value) for value, formula in zip(row, formulas, strict=False)]


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
        case float():
            return f"{value:.15g}"
        case _:
            return str(getattr(value, "text", value))
