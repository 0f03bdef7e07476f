"""Find damaged rows of the user's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from atelier_desk.domain.approval import ApprovalSettings
from atelier_desk.domain.errors import StorageError
from atelier_desk.storage import tables  # noqa: F401 - they register themselves
from atelier_desk.storage.damage_report import CODE, CONFIGURATION, Damage, of_row
from atelier_desk.storage.row_mapping import HASHED_TABLES, has_hash
from atelier_desk.storage.table_pages import Run

SETTING_HASHED = ("id", "value")
"""Columns covered by the hash of a settings row."""


def is_intact_setting(row: Mapping[str, Any]) -> bool:
    """Whether a settings row is undamaged. A row of an earlier version has no hash and only has to be readable.

    Approval settings must also have a value that this program accepts: they may restrict agents, and would count as
    unset.
    """
    if row.get("hash") is not None:
        return has_hash("setting", row, SETTING_HASHED)
    try:
        value = json.loads(row["value"])
        if row["id"].id == "approvals":
            ApprovalSettings.model_validate(value)
    except ValueError:
        return False
    return True


async def damaged_configuration(run: Run, names: Sequence[str] = CONFIGURATION) -> list[Damage]:
    """Return the damaged rows of these tables.

    When the engine cannot read a row of a table, the whole table is damaged: its ``row`` is a question mark.
    """
    found: list[Damage] = []
    for name in names:
        table = HASHED_TABLES[name] if name != "setting" else None
        try:
            rows = (await run(f"SELECT {table.columns if table else 'id, `value`, hash'} FROM {name} ORDER BY id"))[0]  # noqa: S608
        except StorageError as error:
            if "does not exist" in str(error):
                continue  # a table of a later version, in a folder about to be migrated
            if error.code != CODE:
                raise
            rows = []
            found.append(of_row(name, {"id": "?"}))
        found += [
            of_row(name, row) for row in rows if not (table.is_readable(row) if table else is_intact_setting(row))
        ]
    return found
