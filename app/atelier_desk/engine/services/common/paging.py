"""Read whole lists page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from atelier_desk.domain import limits

Row = TypeVar("Row")


async def all_rows(read: Callable[[int, int], Awaitable[list[Row]]]) -> list[Row]:
    """Return every row of a list; ``read`` takes an offset and a maximum number."""
    rows: list[Row] = []
    most = limits.LIST_MAX
    while True:
        page = await read(len(rows), most)
        rows += page
        if len(page) < most:
            return rows
