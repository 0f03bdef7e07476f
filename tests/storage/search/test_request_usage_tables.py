"""The cost of requests, as summed by the index next to the database."""

from __future__ import annotations

import math
import sqlite3

import pytest

from atelier_desk.domain.model_messages import Usage
from atelier_desk.storage.search import request_usage_tables


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", 1, 1.0), ("a", 2, 0.5)], 1.5),
        ([("a", 1, 1.0), ("copy of a", 1, 1.0)], 1.0),
        ([("a", 1, 0.04), ("a", 1, 0.04)], 0.08),
        ([("a", 1, 0.04), ("a", 1, 0.04), ("copy of a", 1, 0.04), ("copy of a", 1, 0.04)], 0.08),
        ([("a", 1, 1.0), ("a", 2, -1.0), ("b", 3, 2.0)], 3.0),
        ([("a", 1, 2.0), ("b", 2, -5.0)], 2.0),
        ([("a", 1, 2.0), ("b", 2, math.inf), ("c", 3, math.nan), ("d", 4, 10**30)], 2.0),
    ],
    ids=[
        "two requests",
        "a copy",
        "ordered together",
        "a copy of both",
        "a refund",
        "a refund in another run",
        "no sum",
    ],
)
def test_each_request_counts_once_and_a_refund_not_at_all(rows: list[tuple[str, int, float]], expected: float) -> None:
    db = sqlite3.connect(":memory:")
    db.executescript(request_usage_tables.TABLES)
    for seq, (run, time, cost) in enumerate(rows):
        request_usage_tables.apply(db, request_usage_tables.RunAgent(run, f"workflow of {run}", "Ada"))
        request_usage_tables.apply(db, request_usage_tables.Request(run, seq, time, "p", "m", Usage(cost=cost), 0))
    assert request_usage_tables.cost(db, 0)[0] == pytest.approx(expected)
    db.close()
