"""Cost of the database: insert, list and search among many messages, opening, with and without syncing each commit.

The baseline is SQLite in WAL mode by the standard library, on the same disk in the same run: the same rows, one index
on (workflow, seq), full text by FTS5 if the build has it. A ratio of 2 means that Atelier's store needs twice as long.

Run: ``python -m tests.bench.bench_storage [--quick] [--messages N] [--json FILE]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from atelier_desk.domain.workflow import Message, MessageRole, Workflow
from atelier_desk.storage import tables
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.repositories.base_repository import upsert
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.commit_statements import insert_all

BATCH = 500
BASELINE = "baseline.sqlite"
LOADED = 3_000
"""Messages that a process loads before it is killed: more than one move of the engine's log into its tables."""
KILLS = 3
SINGLES = 200
READS = 30
WORDS = 60
CONVERSATIONS = 10
RUN_ID = "0" * 32


class Corpus:
    """Texts of 60 words from a vocabulary of 20 000, the n-th word used in proportion to 1/(n+5), as in prose."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.vocabulary = ["".join(self._random.choices(letters, k=self._random.randint(4, 9))) for _ in range(20_000)]
        self._weights = [1 / (rank + 5) for rank in range(len(self.vocabulary))]

    def text(self, words: int = WORDS) -> str:
        return " ".join(self._random.choices(self.vocabulary, self._weights, k=words))

    def query(self, first: int, last: int, words: int = 2) -> str:
        """Words of the ranks ``first`` to ``last``."""
        return " ".join(self._random.sample(self.vocabulary[first:last], words))


def messages(corpus: Corpus, workflows: list[str], first: int, count: int) -> list[Message]:
    """The next messages, spread over the conversations."""
    return [
        Message(
            workflow_id=workflows[seq % len(workflows)],
            run_id=RUN_ID,
            seq=seq,
            role=MessageRole.USER,
            content=corpus.text(),
        )
        for seq in range(first, first + count)
    ]


class Baseline:
    """The same rows in SQLite. ``full`` syncs at each commit."""

    def __init__(self, path: Path, full: bool) -> None:
        self._path = path
        self._db = self._connect(full)
        columns = "id TEXT PRIMARY KEY, workflow TEXT, run TEXT, seq INTEGER, role TEXT, content TEXT, body TEXT"
        self._db.execute(f"CREATE TABLE IF NOT EXISTS message ({columns})")
        self._db.execute("CREATE INDEX IF NOT EXISTS newest ON message (workflow, seq)")
        self.full_text = self._has_full_text()

    def _connect(self, full: bool) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        return db

    def _has_full_text(self) -> bool:
        try:
            self._db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS message_text USING fts5(content, tokenize = 'porter')")
        except sqlite3.OperationalError:
            return False
        return True

    def insert(self, rows: list[Message]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?)",
            [self._row(row) for row in rows],
        )
        if self.full_text:
            self._db.executemany("INSERT INTO message_text VALUES (?)", [(row.content,) for row in rows])
        self._db.execute("COMMIT")

    @staticmethod
    def _row(row: Message) -> tuple[Any, ...]:
        body = row.model_dump_json(exclude={"content"})
        return row.id, row.workflow_id, row.run_id, row.seq, row.role.value, row.content, body

    def newest(self, workflow_id: str) -> list[Any]:
        return self._db.execute(
            "SELECT * FROM message WHERE workflow = ? ORDER BY seq DESC LIMIT 100", (workflow_id,)
        ).fetchall()

    def search(self, query: str) -> list[Any]:
        sql = "SELECT rowid, bm25(message_text) FROM message_text WHERE message_text MATCH ? ORDER BY 2 LIMIT 50"
        return self._db.execute(sql, (query,)).fetchall()

    def reopen(self, full: bool) -> None:
        self._db.close()
        self._db = self._connect(full)
        self.count()

    def count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM message WHERE seq < 0").fetchone()[0])

    def close(self) -> None:
        self._db.close()


def seconds(function: Callable[[], Any], times: int = 1) -> list[float]:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return taken


async def seconds_async(function: Callable[[], Awaitable[Any]], times: int = 1) -> list[float]:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        await function()
        taken.append(time.perf_counter() - start)
    return taken


def p50(taken: list[float]) -> float:
    return statistics.median(taken) * 1000


def p95(taken: list[float]) -> float:
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * 0.95))] * 1000


class Table:
    """Rows of the report: name, Atelier's p50 and p95 and the baseline's p50, in milliseconds."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, ours: list[float], theirs: list[float] | None, note: str = "") -> None:
        row: dict[str, Any] = {
            "measure": name,
            "p50_ms": p50(ours),
            "p95_ms": p95(ours),
            "baseline_p50_ms": p50(theirs) if theirs else None,
            "note": note,
        }
        row["ratio"] = row["p50_ms"] / row["baseline_p50_ms"] if theirs else None
        self.rows.append(row)
        print(self.line(row), flush=True)

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        baseline = "-" if row["baseline_p50_ms"] is None else f"{row['baseline_p50_ms']:.3f}"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.1f}"
        return (
            f"{row['measure']:<42} {row['p50_ms']:>10.3f} {row['p95_ms']:>10.3f} {baseline:>12} {ratio:>8}  "
            f"{row['note']}"
        )


async def fill(
    repos: Repositories, baseline: Baseline, corpus: Corpus, workflows: list[str], count: int
) -> tuple[list[float], list[float]]:
    """Insert in batches into both; seconds per message."""
    ours, theirs = [], []
    for first in range(0, count, BATCH):
        rows = messages(corpus, workflows, first, min(BATCH, count - first))
        ours.append(
            (await seconds_async(lambda rows=rows: repos.store.write(*insert_all(tables.MESSAGES, rows))))[0]
            / len(rows)
        )
        theirs.append(seconds(lambda rows=rows: baseline.insert(rows))[0] / len(rows))
    return ours, theirs


async def measure(folder: Path, fsync: bool, count: int, table: Table) -> None:
    """One pass: everything at ``count`` messages, with or without syncing."""
    mode = "fsync" if fsync else "no fsync"
    corpus = Corpus()
    datadir = DataDir(folder / mode.replace(" ", "-")).ensure()
    baseline = Baseline(datadir.root / BASELINE, fsync)
    store = await Store.open(datadir.database, fsync=fsync)
    repos = Repositories(store, datadir)
    try:
        workflows = [
            (await repos.workflows.create(Workflow(name=f"conversation {number}"))).id
            for number in range(CONVERSATIONS)
        ]
        ours, theirs = await fill(repos, baseline, corpus, workflows, count)
        table.add(f"insert, {BATCH} a commit, a message ({mode})", ours, theirs, f"{count} messages")
        singles = messages(corpus, workflows, count, SINGLES)
        next_row = iter(singles)
        ours = await seconds_async(lambda: store.write(upsert(tables.MESSAGES, next(next_row))), SINGLES)
        next_row = iter(singles)
        theirs = seconds(lambda: baseline.insert([next(next_row)]), SINGLES)
        table.add(f"insert, one a commit ({mode})", ours, theirs)
        waiting = messages(corpus, workflows, count + SINGLES, SINGLES)

        async def together() -> None:
            await asyncio.gather(*(store.write(upsert(tables.MESSAGES, row)) for row in waiting))

        table.add(
            f"insert, {SINGLES} at once, a message ({mode})",
            [each / SINGLES for each in await seconds_async(together)],
            None,
            "grouped",
        )
        await measure_reads(repos, baseline, corpus, workflows, table, mode)
    finally:
        await store.close()
    opened = await measure_open(datadir, baseline, fsync, table, mode)
    baseline.close()
    await measure_open_after_kill(datadir, fsync, table, mode, opened)


async def measure_reads(
    repos: Repositories, baseline: Baseline, corpus: Corpus, workflows: list[str], table: Table, mode: str
) -> None:
    workflow = workflows[3]
    ours = await seconds_async(lambda: repos.messages.page(workflow, limit=100), READS)
    table.add(f"list the newest 100 ({mode})", ours, seconds(lambda: baseline.newest(workflow), READS))
    for name, first, last in (("rare", 2_000, 10_000), ("usual", 200, 2_000), ("common", 5, 100)):
        queries = [corpus.query(first, last) for _ in range(READS)]
        mine, other = iter(queries), iter(queries)
        ours = await seconds_async(lambda mine=mine: repos.history.search(next(mine), 50), READS)
        theirs = seconds(lambda other=other: baseline.search(next(other)), READS) if baseline.full_text else None
        table.add(f"search, two {name} words ({mode})", ours, theirs)


async def measure_open(datadir: DataDir, baseline: Baseline, fsync: bool, table: Table, mode: str) -> float:
    """Opening after a clean close; returns the median in seconds."""
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        store = await Store.open(datadir.database, fsync=fsync)
        taken.append(time.perf_counter() - start)
        await store.close()
    table.add(f"open after a clean close ({mode})", taken, seconds(lambda: baseline.reopen(fsync), 5))
    return statistics.median(taken)


async def measure_open_after_kill(datadir: DataDir, fsync: bool, table: Table, mode: str, opened: float) -> None:
    """Opening after a process that loaded ``LOADED`` more messages and was killed immediately, three times."""
    ours, theirs = [], []
    for _ in range(KILLS):
        command = [
            sys.executable,
            "-m",
            "tests.bench.bench_storage",
            "--load-and-die",
            str(datadir.root),
            *(["--no-fsync"] * (not fsync)),
        ]
        subprocess.run(command, cwd=Path(__file__).resolve().parents[2], check=False)
        start = time.perf_counter()
        store = await Store.open(datadir.database, fsync=fsync)
        ours.append(time.perf_counter() - start)
        await store.close()
        start = time.perf_counter()
        baseline = Baseline(datadir.root / BASELINE, fsync)
        baseline.count()
        theirs.append(time.perf_counter() - start)
        baseline.close()
    seconds_now = statistics.median(ours)
    note = f"{seconds_now:.2f} s, {seconds_now / opened:.1f} x after a clean close; {LOADED} messages before"
    table.add(f"open after kill -9 in a bulk load ({mode})", ours, theirs, note)


async def load_and_die(root: Path, fsync: bool) -> None:
    """Load messages into both databases of a folder, then be killed."""
    datadir, corpus = DataDir(root), Corpus(random.randrange(1 << 30))
    repos = Repositories(await Store.open(datadir.database, fsync=fsync), datadir)
    baseline = Baseline(root / BASELINE, fsync)
    workflows = [each.id for each in await repos.workflows.list()]
    await fill(repos, baseline, corpus, workflows, LOADED)
    os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 000 messages instead of 100 000")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (default: a temporary one)")
    parser.add_argument("--load-and-die", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--no-fsync", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load_and_die:
        await load_and_die(arguments.load_and_die, not arguments.no_fsync)
    count = 2_000 if arguments.quick else arguments.messages
    table = Table()
    print(f"{'milliseconds':<42} {'p50':>10} {'p95':>10} {'SQLite p50':>12} {'ratio':>8}")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for fsync in (True, False):
            await measure(Path(folder), fsync, count, table)
    if arguments.json:
        result = {
            "bench": "storage",
            "messages": count,
            "baseline": f"SQLite {sqlite3.sqlite_version} WAL",
            "rows": table.rows,
        }
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
