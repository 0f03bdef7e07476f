"""What this database remembers of its housekeeping: when it was done last, and since when it misses what it does not know."""

from __future__ import annotations

import json

from pydantic import ValidationError

from atelier_desk.domain.base import Model, Timestamp
from atelier_desk.storage.rows import record
from atelier_desk.storage.store import Statement, Store


class Housekeeping(Model):
    """Attributes:
    token: made anew by each cleaning, and written into the data folder too. Where the two differ, another database cleaned there
        meanwhile, as after a restore: then what is missed is missed from now on.
    first_missed: by key of what the database does not know (``checkpoints.leftovers``), when it first missed it.
    cleaned_at: when checkpoints were cleaned last; ``purged_at``: when the bins were emptied last. None: never.
    """

    token: str = ""
    first_missed: dict[str, Timestamp] = {}
    cleaned_at: Timestamp | None = None
    purged_at: Timestamp | None = None


class HousekeepingRepository:
    """One row among the settings, which is none: settings leave rows alone that they do not know."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._row = record("setting", "housekeeping")

    async def load(self) -> Housekeeping:
        """What is remembered; nothing when there is no row, or one that this program does not accept."""
        rows = await self._store.query("SELECT VALUE `value` FROM $row", row=self._row)
        try:
            return Housekeeping.model_validate(json.loads(rows[0])) if rows else Housekeeping()
        except (ValueError, ValidationError):
            return Housekeeping()

    async def save(self, state: Housekeeping) -> None:
        content = {"value": state.model_dump_json()}
        await self._store.write(Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": self._row, "content": content}))
