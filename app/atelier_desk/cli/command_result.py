"""The result of a command, and its output: JSON with ``--json``, else text and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, is_dataclass
from typing import TypeAlias, Union

from atelier_desk.cli.parser import OK
from atelier_desk.cli.terminal_io import Output
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import shorten, visible

CELL = 60
"""Maximum number of characters in a table cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of text; cells never contain line breaks."""

    header: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Note:
    """A line for standard error."""

    text: str
    style: str = "dim"


Shown: TypeAlias = Union[str, Table, Note, "Iterable[Shown]"]
"""A text is one or more complete lines of standard output; iterables are read when shown."""


class Result:
    """The result of a command.

    Attributes:
        value: what ``--json`` prints, as one document; models and dataclasses become their fields.
        shown: what people see instead, in this order; empty to show the same document, indented.
        status: exit status.
    """

    def __init__(self, value: object, *shown: Shown, status: int = OK) -> None:
        self.value = value
        self.shown = shown
        self.status = status


def report(out: Output, result: Result) -> int:
    """Print a command's result; returns the exit status."""
    if out.json or not result.shown:
        out.write(json.dumps(result.value, ensure_ascii=False, indent=None if out.json else 2, default=_plain) + "\n")
    else:
        _show(out, result.shown)
    return result.status


def print_note(out: Output, *shown: Shown) -> None:
    """Print before the command ends; nothing with ``--json``."""
    if not out.json:
        _show(out, shown)


def bytes_left() -> Note:
    """After a permanent deletion: where the text still exists."""
    return Note(_("The deleted text remains in the database files until you run: atelier backup compact"))


def _plain(value: object) -> object:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def _show(out: Output, shown: Shown) -> None:
    match shown:
        case str():
            out.write(shown if shown.endswith("\n") else shown + "\n")
        case Note():
            out.note(shown.text, shown.style)
        case Table():
            cells = [
                tuple(shorten(visible(" ".join(cell.split())), CELL) for cell in row)
                for row in (shown.header, *shown.rows)
            ]
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            for row in cells:
                out.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")
        case _:
            for each in shown:
                _show(out, each)
