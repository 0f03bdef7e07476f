"""Persistent state of housekeeping: when it last ran, and since when unknown items have been missing."""

from __future__ import annotations

import json

from pydantic import ValidationError

from atelier_desk.domain.base_model import Model, Timestamp
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement, Store


class Housekeeping(Model):
    """State of housekeeping.

    Attributes:
        token: renewed by each clean-up and also written into the data folder. If the two differ, another database
            cleaned up there meanwhile, as after a restore; missing items then count from now.
        first_missed: by key of an item the database does not know (``checkpoints.leftover_undo_data``), when that
            was first
            noticed.
        cleaned_at: last clean-up of checkpoints; ``purged_at``: last emptying of the bins. None: never.
    """

    token: str = ""
    first_missed: dict[str, Timestamp] = {}
    cleaned_at: Timestamp | None = None
    purged_at: Timestamp | None = None


class HousekeepingRepository:
    """One row in the settings table that is no setting: settings ignore unknown rows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._row = record("setting", "housekeeping")

    async def load(self) -> Housekeeping:
        """Return the stored state; a default if there is none or it is not valid."""
        rows = await self._store.query("SELECT VALUE `value` FROM $row", row=self._row)
        try:
            return Housekeeping.model_validate(json.loads(rows[0])) if rows else Housekeeping()
        except (ValueError, ValidationError):
            return Housekeeping()

    async def save(self, state: Housekeeping) -> None:
        content = {"value": state.model_dump_json()}
        await self._store.write(
            Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": self._row, "content": content})
        )
