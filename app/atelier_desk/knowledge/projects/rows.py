"""Rows of entities on their way from the process that read a file to the database and the index."""

from __future__ import annotations

import base64
from typing import Any

from atelier_desk.domain.project import EntityKind
from atelier_desk.knowledge.projects.texts import terms
from atelier_desk.storage.graph import EntityRow, LightRow


def to_json(row: EntityRow) -> list[object]:
    """An entity as a line between processes has it."""
    return [*row[:-1], base64.b64encode(row.terms).decode()]


def entity_row(values: list[Any]) -> EntityRow:
    """The inverse."""
    return EntityRow._make([*values[:-1], base64.b64decode(values[-1])])


def package_row(package: str, name: str) -> EntityRow:
    """The row of a package, which stands in no file."""
    return EntityRow(package, EntityKind.PACKAGE, "", name, name, "", "", 0, 0, "", "", "", "", "", terms(name, "", "", ()))


def light(row: EntityRow) -> LightRow:
    """What an index is told of it."""
    return LightRow(
        row.id, row.kind, row.type, row.name, row.qualified, row.path, row.language, row.start_line, row.end_line,
        row.parent, row.digest, row.terms,
    )  # fmt: skip
