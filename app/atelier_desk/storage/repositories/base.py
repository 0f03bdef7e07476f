"""What the repositories share: statements, guards, pages."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from atelier_desk.domain import limits
from atelier_desk.domain.base import Model
from atelier_desk.domain.errors import LimitError, NotFoundError, StorageError
from atelier_desk.storage import damage, errors
from atelier_desk.storage.rows import Table, record
from atelier_desk.storage.search.changes import documents
from atelier_desk.storage.store import Statement, Store
from atelier_desk.support.i18n import N_

log = logging.getLogger(__name__)
M = TypeVar("M", bound=Model)
LIMIT = N_("A list can give {maximum} entries at most; {limit} were asked for.")


def page_size(limit: int) -> int:
    """A limit that a list accepts.

    Raises:
        LimitError: below 1 or over ``limits.LIST_MAX``.
    """
    if not 1 <= limit <= limits.LIST_MAX:
        raise LimitError(LIMIT, maximum=limits.LIST_MAX, limit=limit)
    return limit


def some(limit: int | None, offset: int) -> tuple[str, dict[str, int]]:
    """The end of a query for ``limit`` rows (1 or more; None: all) from an offset on, and its parameters.

    Raises:
        LimitError: ``limit`` is below 1.
    """
    if limit is None:
        return (" START $offset", {"offset": offset}) if offset else ("", {})
    if limit < 1:
        raise LimitError(N_("limit must be 1 or more, not {limit}."), limit=limit)
    return " LIMIT $limit START $offset", {"limit": limit, "offset": offset}


def guard(workflow_id: str) -> Statement:
    """Ends the transaction with ``NotFoundError`` when the workflow is gone, so that nothing is left behind by a late write."""
    return Statement(errors.throw_not_found("workflow"), {"guarded": record("workflow", workflow_id)})


def upsert(table: Table[M], value: M) -> Statement:
    """Write one row, whole."""
    row = table.encode(value)
    return Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": row["id"], "content": row}, documents(table.name, [row]))


class Repository(Generic[M]):
    """One noun's rows. Attributes: ``table`` describes how the noun is stored, ``what`` names it in errors."""

    table: Table[M]
    what: str

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, key: Any) -> M:
        """The one with this id.

        Raises:
            NotFoundError: there is none.
        """
        found = await self._find(key)
        if found is None:
            raise self.missing(key)
        return found

    def missing(self, key: Any) -> NotFoundError:
        return errors.not_there(self.what, key)

    async def beginning_with(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin with ``prefix``, hexadecimal digits in lower case, in order; at most ``limit``."""
        if not prefix or not set(prefix) <= set("0123456789abcdef"):
            return []
        # "g" follows the last digit: the rows between are found by their key, without reading the table.
        reach = f"{self.table.name}:\u27e8{prefix}\u27e9..\u27e8{prefix}g\u27e9"
        return await self._store.query(f"SELECT VALUE record::id(id) FROM {reach} LIMIT $limit", limit=page_size(limit))  # noqa: S608

    async def _find(self, key: Any) -> M | None:
        rows = await self._store.query(f"SELECT {self.table.columns} FROM $row", row=self.table.record(key))  # noqa: S608
        return self.table.decode(rows[0]) if rows else None

    async def _select(self, tail: str, /, **params: Any) -> list[M]:
        """Rows by a condition, order and limit that are constants of the code."""
        return self.readable(await self._store.query(f"SELECT {self.table.columns} FROM {self.table.name} {tail}", **params))  # noqa: S608

    def readable(self, rows: Iterable[Mapping[str, Any]]) -> list[M]:
        """Those that are as they were written. A damaged one is left out of lists, so that it stops nobody; the check-up names it."""
        found = []
        for row in rows:
            try:
                found.append(self.table.decode(row))
            except StorageError as error:
                if error.code != damage.CODE:
                    raise
                log.warning("left out: %s", damage.of_row(self.table.name, row).error())
        return found

    async def _delete(self, key: Any) -> None:
        """Delete one row.

        Raises:
            NotFoundError: there is none.
        """
        row = self.table.record(key)
        gone = Statement(errors.throw_not_found(self.what), {"guarded": row})
        await self._store.write(gone, Statement("DELETE $row RETURN NONE", {"row": row}))
