"""Shared parts of the repositories: statements, guards, pages."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model
from atelier_desk.domain.errors import LimitError, NotFoundError, StorageError
from atelier_desk.storage import damage_report, database_errors
from atelier_desk.storage.row_mapping import Table, record, rows_of_each
from atelier_desk.storage.search.index_changes import documents
from atelier_desk.storage.store import Statement, Store
from atelier_desk.support.i18n import N_

log = logging.getLogger(__name__)
M = TypeVar("M", bound=Model)
LIMIT = N_("A list has at most {maximum} entries; {limit} were requested.")


def page_size(limit: int) -> int:
    """Return a valid limit for a list.

    Raises:
        LimitError: below 1 or over ``limits.LIST_MAX``.
    """
    if not 1 <= limit <= limits.LIST_MAX:
        raise LimitError(LIMIT, maximum=limits.LIST_MAX, limit=limit)
    return limit


def some(limit: int | None, offset: int) -> tuple[str, dict[str, int]]:
    """Return the end of a query, with its parameters, for ``limit`` rows (at least 1; None: all) from an offset.

    Raises:
        LimitError: ``limit`` is below 1.
    """
    if limit is None:
        return (" START $offset", {"offset": offset}) if offset else ("", {})
    if limit < 1:
        raise LimitError(N_("The limit must be 1 or more, not {limit}."), limit=limit)
    return " LIMIT $limit START $offset", {"limit": limit, "offset": offset}


def guard(workflow_id: str) -> Statement:
    """Return a statement that aborts with ``NotFoundError`` if the workflow is gone, so that a late write leaves
    nothing behind.
    """
    return Statement(database_errors.throw_not_found("workflow"), {"guarded": record("workflow", workflow_id)})


def upsert(table: Table[M], value: M) -> Statement:
    """Return a statement that inserts or replaces one row."""
    row = table.encode(value)
    return Statement(
        "UPSERT $row CONTENT $content RETURN NONE", {"row": row["id"], "content": row}, documents(table.name, [row])
    )


class Repository(Generic[M]):
    """The rows of one kind.

    Attributes:
        table: how they are stored.
        what: their name in errors.
        absent: an English ``N_`` sentence for a missing one, with ``{id}``.
    """

    table: Table[M]
    what: str
    absent: str = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.absent:
            database_errors.NOT_THERE_OF[cls.what] = cls.absent

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, key: Any) -> M:
        """Return the row with this id.

        Raises:
            NotFoundError: there is none.
        """
        found = await self._find(key)
        if found is None:
            raise self.missing(key)
        return found

    def missing(self, key: object) -> NotFoundError:
        return database_errors.not_there(self.what, key)

    async def beginning_with(self, prefix: str, limit: int) -> list[str]:
        """Return at most ``limit`` ids that begin with ``prefix`` (lower-case hexadecimal digits), in order."""
        if not prefix or not set(prefix) <= set("0123456789abcdef"):
            return []
        # "g" sorts after the last digit: the rows are found by key range, without reading the table.
        reach = f"{self.table.name}:\u27e8{prefix}\u27e9..\u27e8{prefix}g\u27e9"
        return await self._store.query(f"SELECT VALUE record::id(id) FROM {reach} LIMIT $limit", limit=page_size(limit))  # noqa: S608

    async def _find(self, key: object) -> M | None:
        rows = await self._store.query(f"SELECT {self.table.columns} FROM $row", row=self.table.record(key))  # noqa: S608
        return self.table.decode(rows[0]) if rows else None

    async def _select(self, tail: str, /, **params: object) -> list[M]:
        """Return rows; ``tail`` has condition, order and limit and must be a constant of the code."""
        return self.readable(
            await self._store.query(f"SELECT {self.table.columns} FROM {self.table.name} {tail}", **params)  # noqa: S608
        )

    async def _rows_of_each(self, column: str, values: Sequence[object], order: str) -> list[dict[str, object]]:
        """Return the rows with one of these values in an indexed column."""
        if not values:
            return []
        select = f"SELECT {self.table.columns} FROM {self.table.name} WHERE {column} = $each"  # noqa: S608
        text = f"SELECT * FROM {rows_of_each('values', select)} ORDER BY {order}"  # noqa: S608
        return await self._store.query(text, values=list(values))

    def readable(self, rows: Iterable[Mapping[str, object]]) -> list[M]:
        """Return the undamaged rows as models.

        Lists skip damaged ones so that they block nobody; the integrity check names them.
        """
        found = []
        for row in rows:
            try:
                found.append(self.table.decode(row))
            except StorageError as error:
                if error.code != damage_report.CODE:
                    raise
                log.warning("left out: %s", damage_report.of_row(self.table.name, row).error())
        return found


class DeletingRepository(Repository[M]):
    """A repository whose rows are deleted one by one."""

    async def delete(self, key: object) -> None:
        """Delete one row.

        Raises:
            NotFoundError: there is none.
        """
        row = self.table.record(key)
        gone = Statement(database_errors.throw_not_found(self.what), {"guarded": row})
        await self._store.write(gone, Statement("DELETE $row RETURN NONE", {"row": row}))
