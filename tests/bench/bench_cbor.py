"""Encoding requests to the database as CBOR and decoding its answers, compared with the driver's own code in the same
run.

    python -m tests.bench.bench_cbor [--quick] [--json FILE]

The rows are those of real transactions: messages, and entities and relations of a project's graph. Processor time,
median of several runs; a ratio of 4 means that the driver's own code needs four times as long.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surrealdb.data import cbor as drivers

from atelier_desk.domain.workflow import Message, MessageRole
from atelier_desk.storage import cbor, tables
from atelier_desk.storage.row_mapping import record
from tests.bench.bench_storage import RUN_ID, Corpus

ROWS, TIMES = 2_000, 9
WORDS = 70
"""Of the text that is kept of a function."""


def rows(count: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of one transaction, by kind."""
    rng, corpus = random.Random(3), Corpus()
    keys = [f"{rng.getrandbits(104):026x}" for _each in range(count)]
    written = [
        Message(workflow_id=RUN_ID, run_id=RUN_ID, seq=seq, role=MessageRole.USER, content=corpus.text())
        for seq in range(count)
    ]
    return {
        "messages": [tables.MESSAGES.encode(each) for each in written],
        "entities": [
            {"id": record("entity", key), "kind": "scope", "type": "function", "name": corpus.text(1),
            "qualified": corpus.text(2),
             "path": corpus.text(3), "language": "python", "start_line": line, "end_line": line + 9,
             "signature": corpus.text(6),
             "docstring": corpus.text(12), "text": corpus.text(WORDS), "parent": None, "digest": key,
             "terms": rng.randbytes(300)}
            for line, key in enumerate(keys)
        ],
        "relations": [
            {"id": record("relates", f"{key}2"), "in": record("entity", key), "out": record("entity", rng.choice(keys)),
            "kind": "calls",
             "confidence": 0.9, "line": line}
            for line, key in enumerate(keys)
        ],
    }  # fmt: skip


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Median processor time of this thread."""
    took = []
    for _each in range(times):
        start = time.thread_time()
        work()
        took.append(1e3 * (time.thread_time() - start))
    return statistics.median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    times = 3 if options.quick else TIMES
    figures: dict[str, Any] = {}
    for name, made in rows(ROWS).items():
        data = drivers.encode(made)
        assert cbor.encode(made) == data
        at_driver = (
            milliseconds(lambda made=made: cbor.encode(made), times),
            milliseconds(lambda made=made: drivers.encode(made), times),
        )
        back = (
            milliseconds(lambda data=data: cbor.decode(data), times),
            milliseconds(lambda data=data: drivers.decode(data), times),
        )
        figures[name] = {
            side: {"ms": round(ours, 1), "driver_ms": round(theirs, 1), "ratio": round(theirs / ours, 1)}
            for side, (ours, theirs) in (("encode", at_driver), ("decode", back))
        }
    text = json.dumps({"rows": ROWS, **figures}, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
