"""Projects: reading this repository, a changed file, search by description, and search and exploring at 100 000 scopes.

    python -m tests.bench.bench_projects [--quick] [--json FILE]

Reading is compared in the same run (wall time, without vectors) with tree-sitter's bare parse of the same files, and
with the bare insertion of the same rows into another database: no program that stores its graph there can be faster,
however it parses. One row per relation is compared with one row per file that packs its relations. Exploring is timed
in the index, and as the window receives it. Descriptions: see ``bench_code_search_accuracy``, which also uses other
repositories. The large index is made up: names and words by Zipf's law, five calls per scope, random vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from atelier_desk.domain.project import Direction, Project
from atelier_desk.engine import Atelier
from atelier_desk.engine.projects.indexing_run import ROWS
from atelier_desk.knowledge.memory_vectors import RowVectors
from atelier_desk.knowledge.projects.entity_texts import query_stems, terms
from atelier_desk.knowledge.projects.index import ProjectIndex
from atelier_desk.knowledge.projects.search import around
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.project_graph_rows import Edge, LightRow, entity_id, file_entity, file_key_of
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement, Store
from tests.bench.bench_code_search_accuracy import described

ROOT = Path(__file__).parents[2]
SCOPES, QUICK_SCOPES = 100_000, 20_000
IN_FILE = 25


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the repository, and 20 000 scopes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder_path = Path(folder)
        figures = await reading(folder_path, options.quick)
        figures["description"] = await described(ROOT / "app", folder_path)
    figures["large"] = large(QUICK_SCOPES if options.quick else SCOPES)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text, encoding="utf-8")


async def read(atelier: Atelier, project: Project, *paths: str) -> float:
    """Read the project; returns the seconds."""
    start = time.perf_counter()
    await atelier.projects.ingest(project.id, paths)
    state = await atelier.projects.wait(project.id)
    assert state is not None
    assert state.stage == "done", state
    return time.perf_counter() - start


async def reading(folder: Path, quick: bool) -> dict[str, Any]:
    """The repository, then one file of it repeatedly."""
    import tree_sitter_python
    from tree_sitter import Language, Parser

    source = folder / "source"
    part = ROOT / "app" / "atelier_desk"
    shutil.copytree(part / "engine" if quick else part, source, ignore=shutil.ignore_patterns("__pycache__"))
    contents = [path.read_bytes() for path in source.rglob("*.py")]
    parser = Parser(Language(tree_sitter_python.language()))
    start = time.perf_counter()
    for data in contents:
        parser.parse(data)
    bare = time.perf_counter() - start
    async with Atelier.open(folder / "data", vault=KeyVault(environ={})) as atelier:
        project = await atelier.projects.create("source", str(source), embedded=False, watched=False)
        elapsed = await read(atelier, project)
        unchanged = await read(atelier, project)
        (file,) = source.rglob("journal.py")
        text, changed = file.read_text(encoding="utf-8"), []
        for number in range(8):
            file.write_text(f"{text}\n\ndef added_{number}() -> int:\n    return {number}\n", encoding="utf-8")
            changed.append(await read(atelier, project, str(file)))
        counts = await atelier.projects._repo.counts(project.id)
        packed = await packing(atelier, project)
        inserted = await inserting(atelier.store, folder / "bare" / "db")
        start = time.perf_counter()
        removed = await atelier.projects.delete(project.id)
        deletion = time.perf_counter() - start
    return {
        "files": len(contents),
        "megabytes": round(sum(map(len, contents)) / 1e6, 2),
        "bare_parse_s": round(bare, 3),
        "reading_s": round(elapsed, 3),
        "times_bare_parse": round(elapsed / bare, 1),
        "bare_insert_s": round(inserted, 3),
        "bare_insert_times_bare_parse": round(inserted / bare, 1),
        "times_bare_insert": round(elapsed / inserted, 1),
        "unchanged_s": round(unchanged, 3),
        "one_file_ms": {"first": round(1e3 * changed[0]), "median_after": round(1e3 * statistics.median(changed[1:]))},
        "rows": counts,
        "relations_written": packed,
        "deletion_s": round(deletion, 3),
        "rows_removed": removed,
    }


async def inserting(store: Store, folder: Path) -> float:
    """Seconds to insert all entities and relations of a database into a new one, and nothing else."""
    elapsed = 0.0
    folder.parent.mkdir()
    async with await Store.open(folder) as target:
        for table, insert in (("entity", "INSERT"), ("relates", "INSERT RELATION")):
            rows = await store.query(f"SELECT * FROM {table}")
            start = time.perf_counter()
            for offset in range(0, len(rows), ROWS):
                await target.write(
                    Statement(f"{insert} INTO {table} $rows RETURN NONE", {"rows": rows[offset : offset + ROWS]})
                )
            elapsed += time.perf_counter() - start
    return elapsed


async def packing(atelier: Atelier, project: Project) -> dict[str, float]:
    """Seconds to write the project's relations as one row each, and packed as one row per file."""
    edges, after = [], ""
    while True:
        page, after = await atelier.projects._repo.edges(project.id, after=after)
        if not page:
            break
        edges += page
    store = atelier.store
    await store.write(
        Statement("DEFINE TABLE bench_row TYPE RELATION", {}), Statement("DEFINE TABLE bench_packed SCHEMALESS", {})
    )
    rows = [
        {"id": record("bench_row", f"{number:08x}"), "in": record("entity", each.source),
        "out": record("entity", each.target),
         "kind": each.kind, "confidence": each.confidence, "line": each.line}
        for number, each in enumerate(edges)
    ]  # fmt: skip
    start = time.perf_counter()
    for offset in range(0, len(rows), 2_000):
        await store.write(
            Statement("INSERT RELATION INTO bench_row $rows RETURN NONE", {"rows": rows[offset : offset + 2_000]})
        )
    single = time.perf_counter() - start
    files: dict[str, list[Edge]] = {}
    for each in edges:
        files.setdefault(each.source[:18], []).append(each)
    blobs = [{"id": record("bench_packed", key), "data": json.dumps(found).encode()} for key, found in files.items()]
    start = time.perf_counter()
    for offset in range(0, len(blobs), 200):
        await store.write(
            Statement("INSERT INTO bench_packed $rows RETURN NONE", {"rows": blobs[offset : offset + 200]})
        )
    together = time.perf_counter() - start
    await store.write(Statement("REMOVE TABLE bench_row", {}), Statement("REMOVE TABLE bench_packed", {}))
    return {"relations": len(edges), "row_each_s": round(single, 3), "row_a_file_s": round(together, 3)}


def large(scopes: int) -> dict[str, Any]:
    """Search and exploring in a large index."""
    rng = random.Random(2)
    vocabulary = [
        f"{first}{second}"
        for first in "bcdfglmnprstv"
        for second in (f"{a}{b}{c}" for a in "aeiou" for b in "lmnrst" for c in "aeiou")
    ]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(vocabulary))))

    def words(count: int) -> list[str]:
        return rng.choices(vocabulary, cum_weights=weights, k=count)

    index = ProjectIndex(RowVectors("bench", 512))
    entries, ids = [], []
    for file in range(scopes // IN_FILE):
        path = f"src/{words(1)[0]}/{words(1)[0]}_{file}.py"
        key = file_key_of("0" * 8, path)
        home = file_entity(key)
        entries.append(
            LightRow(home, "file", "code", path, path, path, "python", 1, 500, "", "", terms(path, path, "", ()))
        )
        for number in range(IN_FILE):
            name = "_".join(words(2)) + f"_{number}"
            own = entity_id(key, "scope", name)
            body = terms(name, path, " ".join(words(10)), words(60))
            entries.append(
                LightRow(
                    own,
                    "scope",
                    "function",
                    name,
                    name,
                    path,
                    "python",
                    number,
                    number + 9,
                    home,
                    f"{file}:{number}",
                    body,
                )
            )
            ids.append(own)
    start = time.perf_counter()
    index.load(entries)
    index.contain()
    index.add_edges([Edge(own, rng.choice(ids), "calls", 0.9, 1) for own in ids for _each in range(5)])
    missing = index.without_vector()
    matrix = np.random.default_rng(0).standard_normal((len(missing), 512)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    assert index.vectors is not None
    index.vectors.load(np.array([rows[0] for rows in missing.values()]), matrix)
    index.postings.adopt(index.postings.merged(index.live), len(index.entries))
    index.prepare()
    build_s = time.perf_counter() - start
    del entries, missing  # as in the program: the garbage collector walks all that is left

    def search() -> None:
        question = " ".join(words(6))
        assert index.search(query_stems(question), matrix[rng.randrange(len(matrix))], (), 20, 0.0, question)

    def explore_as_shown() -> None:
        assert around(index, "0" * 8, rng.choice(ids), (), Direction.BOTH, 5, 5_000).neighbours

    def explore(limit: int) -> Callable[[], None]:
        def once() -> None:
            assert index.explore(rng.choice(ids), (), Direction.BOTH, 5, limit)[0]

        return once

    return {
        "scopes": scopes,
        "edges": len(index.edges),
        "made_s": round(build_s, 1),
        "search_ms": timed(search, 60),
        "explore_depth_5_200_ms": timed(explore(200), 60),
        "explore_depth_5_5000_ms": timed(explore(5_000), 20),
        "explored_as_shown_5000_ms": timed(explore_as_shown, 20),
    }


def timed(work: Callable[[], None], times: int) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    work()
    ms = []
    for _each in range(times):
        start = time.perf_counter()
        work()
        ms.append(1e3 * (time.perf_counter() - start))
    return {"p50": round(statistics.median(ms), 1), "p95": round(sorted(ms)[int(0.95 * times) - 1], 1)}


if __name__ == "__main__":
    asyncio.run(main())
