"""Complete tables of an open database: counted, read page by page, and written, whatever their columns are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

Run = Callable[..., Awaitable[list[Any]]]
"""Runs statements with parameters and returns the result of each, like ``Store.query_all`` and ``Migrator.run``."""
READ_PAGE = 200
"""Rows read at a time: decoding one blocks the event loop for 0.1 ms, and the check runs while agents work."""
COUNT_PAGE = 200
"""Rows read at a time if only their ids come back: the engine holds a page in memory, and events may have images."""


def rows_after(table: str, after: object) -> str:
    """Return what a statement reads from to get the rows whose id follows the parameter ``$after``; all for None.

    A range of ids: for a condition on them the engine reads the table from its beginning, at each page anew.
    """
    return table if after is None else f"type::record('{table}', record::id($after)>..)"


async def count_rows(run: Run, tables: Sequence[str]) -> dict[str, int]:
    """Return the number of rows of each table, without reading them."""
    results = await run(";".join(f"SELECT count() AS n FROM {name} GROUP ALL" for name in tables)) if tables else []  # noqa: S608
    return {name: (rows[0]["n"] if rows else 0) for name, rows in zip(tables, results, strict=True)}


async def count_by_reading(run: Run, table: str, progress: Callable[[int], None] | None = None) -> int:
    """Return the number of rows of a table after reading each completely.

    ``progress`` is called with the number of rows read so far.

    Raises:
        StorageError: ``damaged`` when a row cannot be read.
    """
    count, after = 0, None
    while True:
        rows = f"SELECT * FROM {rows_after(table, after)} ORDER BY id LIMIT {COUNT_PAGE}"  # noqa: S608
        ids = (await run(f"SELECT VALUE id FROM ({rows})", after=after))[0]  # noqa: S608
        if not ids:
            return count
        after = ids[-1]
        count += len(ids)
        if progress:
            progress(count)


async def read_pages(run: Run, table: str) -> AsyncIterator[list[dict[str, object]]]:
    """Yield the rows of a table in the order of their ids, ``READ_PAGE`` at a time.

    Raises:
        StorageError: ``damaged`` when a row cannot be read.
    """
    after = None
    while True:
        page = f"SELECT * FROM {rows_after(table, after)} ORDER BY id LIMIT {READ_PAGE}"  # noqa: S608
        rows = (await run(page, after=after))[0]
        if not rows:
            return
        yield rows
        after = rows[-1]["id"]


def insertion(table: str, rows: Sequence[dict[str, object]]) -> str:
    """Return the statement that inserts ``$rows``; those of an edge table have both ends, ``in`` and ``out``."""
    return f"INSERT {'RELATION ' if rows and 'in' in rows[0] else ''}INTO {table} $rows RETURN NONE"
