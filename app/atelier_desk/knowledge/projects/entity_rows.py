"""Convert entity rows between the reading process, the database and the index."""

from __future__ import annotations

import base64
from typing import Any

from atelier_desk.domain.project import EntityKind
from atelier_desk.knowledge.projects.entity_texts import terms
from atelier_desk.storage.project_graph_rows import EntityRow, LightRow


def to_json(row: EntityRow) -> list[object]:
    """Return an entity as JSON values for another process."""
    return [*row[:-1], base64.b64encode(row.terms).decode()]


def entity_row(values: list[Any]) -> EntityRow:
    """Inverse of ``to_json``."""
    return EntityRow._make([*values[:-1], base64.b64decode(values[-1])])


def package_row(package: str, name: str) -> EntityRow:
    """Return the row of a package, which belongs to no file."""
    return EntityRow(
        package, EntityKind.PACKAGE, "", name, name, "", "", 0, 0, "", "", "", "", "", terms(name, "", "", ())
    )


def light(row: EntityRow) -> LightRow:
    """Return the part of a row that an index needs."""
    return LightRow(
        row.id, row.kind, row.type, row.name, row.qualified, row.path, row.language, row.start_line, row.end_line,
        row.parent, row.digest, row.terms,
    )  # fmt: skip
