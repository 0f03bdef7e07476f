"""Memory search: speed at 50 000 memories, exactness of its vector part, and quality on a French and English set.

    python -m tests.bench.bench_memory_search [--quick] [--quality] [--json FILE] [--peers PYTHON]

Speed: made-up memories (words by Zipf's law, so that common words are as common as in real text) in a database on disk,
vectors of the built-in embedder with noise; the query is really embedded.

Quality, compared with only words, only vectors, SQLite's FTS5 and LanceDB (in the peers' environment) in the same run:
64 facts and 128 questions in ``data/memory_questions.json``, half of them in the other language and all in other words
than the fact; 20 conversations of 320 turns and 168 questions in ``data/conversations.txt``, many of which can only be
found by the turn before or after, and 90 about things that were never mentioned.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.knowledge import memory_index_file
from atelier_desk.knowledge.memory_index import MemoryIndex
from atelier_desk.knowledge.memory_search import MemorySearch
from atelier_desk.knowledge.query_vector import Question
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.search_terms import content_text
from atelier_desk.storage.store import Store
from tests.bench import memory_search_dataset
from tests.bench.memory_search_dataset import Asked

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
DATA = Path(__file__).with_name("data") / "memory_questions.json"
SYLLABLES = ("ba", "co", "di", "fe", "gu", "la", "mo", "ni", "pe", "ra", "so", "ti", "vu", "za")
COMMON = (
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "for",
    "it",
    "with",
    "le",
    "la",
    "de",
    "et",
    "les",
    "des",
    "en",
    "un",
    "pour",
    "que",
)
BATCH = 500
Ranker = Callable[[str], Awaitable[list[str]]]


def rss_mb() -> float:
    return psutil.Process().memory_info().rss / 1e6


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Corpus:
    """Sentences of made-up words whose frequencies fall as in real text."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = ["".join(self._random.choices(SYLLABLES, k=self._random.randint(2, 4))) for _ in range(20_000)]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def words(self, count: int) -> list[str]:
        return self._random.choices(self._words, cum_weights=self._weights, k=count)

    def sentence(self) -> str:
        words = self.words(self._random.randint(8, 18)) + self._random.choices(COMMON, k=6)
        self._random.shuffle(words)
        return " ".join(words)

    def question(self, sentence: str) -> str:
        known = [word for word in sentence.split() if word not in COMMON]
        return " ".join([*self._random.sample(known, 3), *self.words(2), *self._random.choices(COMMON, k=3)])


async def fill(repositories: Repositories, embedder: BuiltinEmbedder, corpus: Corpus, count: int) -> list[str]:
    """Store ``count`` memories with vectors; returns their texts."""
    texts = [corpus.sentence() for _ in range(count)]
    seeds = await embedder.embed(texts[:1_000])
    noise = np.random.default_rng(1)
    for start in range(0, count, BATCH):
        saves = []
        for index in range(start, min(count, start + BATCH)):
            vector = seeds[index % len(seeds)] + noise.normal(scale=0.03, size=embedder.dimension).astype(np.float32)
            memory = Memory(type=MemoryType.KNOWLEDGE, content=texts[index], embedder=embedder.id)
            saves.append(repositories.memories.save(memory, vector / np.linalg.norm(vector)))
        await asyncio.gather(*saves)
    return texts


async def timed(run: Callable[[str], Awaitable[Any]], questions: list[str]) -> dict[str, float]:
    """Wall time, and the processor time of the process, which a busy machine does not change."""
    times, processor = [], []
    for question in questions:
        began_at, busy = time.perf_counter(), time.process_time()
        await run(question)
        times.append((time.perf_counter() - began_at) * 1000)
        processor.append((time.process_time() - busy) * 1000)
    figures = {"p50_ms": statistics.median(times), "p95_ms": percentile(times, 0.95), "max_ms": max(times)}
    figures |= {"cpu_ms": statistics.mean(processor), "cpu_p95_ms": percentile(processor, 0.95)}
    return {name: round(value, 2) for name, value in figures.items()}


async def recall(
    repositories: Repositories, search: MemorySearch, embedder: BuiltinEmbedder, questions: list[str]
) -> float:
    """Share of the ten nearest that the vector part finds among its ten.

    The nearest are computed in double precision from the stored bytes.
    """
    ids: list[str] = []
    pages: list[np.ndarray] = []
    after = ""
    while True:
        page, matrix = await repositories.memories.vectors(embedder.id, after=after)
        if not page:
            break
        ids += page
        pages.append(matrix)
        after = page[-1]
    exact = np.concatenate(pages).astype(np.float64)
    index = await search.index_cache.loaded()
    found = expected = 0
    for question in questions:
        query = (await embedder.embed([question], query=True))[0]
        best = {ids[row] for row in np.argsort(-(exact @ query.astype(np.float64)))[:10]}
        nearest = index.search(Question((), query), search.ANY, time.time(), 10)
        found += len(best & {each.id for each in nearest})
        expected += len(best)
    return found / expected


async def speed(count: int, queries: int) -> dict[str, Any]:
    """Times, memory and exactness at ``count`` memories."""
    embedder = BuiltinEmbedder()
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        datadir = DataDir(Path(folder))
        datadir.ensure()
        store = await Store.open(datadir.database, fsync=False, clock=clock)
        repositories = Repositories(store, datadir)
        corpus = Corpus(7)
        began_at = time.perf_counter()
        texts = await fill(repositories, embedder, corpus, count)
        result: dict[str, Any] = {"memories": count, "fill_s": round(time.perf_counter() - began_at, 1)}
        result["import_a_second"] = await imported(MemorySearch(repositories.memories, embedder, clock), corpus)
        first = MemorySearch(repositories.memories, embedder, clock, datadir.memory_index)
        began_at = time.perf_counter()
        await first.index_cache.loaded()
        result["read_rows_s"] = round(time.perf_counter() - began_at, 2)
        await first.warm()
        del first
        repositories = Repositories(store, datadir)
        gc.collect()
        before = rss_mb()
        search = MemorySearch(repositories.memories, embedder, clock, datadir.memory_index)
        result["load_ms"] = []
        for _ in range(5):
            search.index_cache.invalidate()
            began_at = time.perf_counter()
            await search.index_cache.loaded()
            result["load_ms"].append(round((time.perf_counter() - began_at) * 1000, 1))
        result["file_mb"] = round(datadir.memory_index.stat().st_size / 1e6, 1)
        result["index_mb"] = round(index_bytes(await search.index_cache.loaded()) / 1e6, 1)
        result["loaded_mb"] = round(rss_mb() - before, 1)
        picked = random.Random(3).sample(texts, queries)
        questions = [corpus.question(text) for text in picked]
        await search.search(questions[0])
        result["fused"] = await timed(lambda question: search.search(question), questions)
        result["embed_query"] = await timed(lambda question: embedder.embed([question], query=True), questions)
        result["vector_recall_at_10"] = round(await recall(repositories, search, embedder, questions[:100]), 4)
        result["reembed_a_second"] = await embed_again(search)
        await search.aclose()
        result["process_mb"] = round(rss_mb(), 1)
        await store.close()
    await embedder.aclose()
    return result


def index_bytes(index: MemoryIndex) -> int:
    """Size of the index: its arrays, and about 180 bytes of names per memory."""
    parts, _head = memory_index_file.parts(index)
    return sum(part.nbytes for part in parts.values()) + 180 * len(index)


async def imported(search: MemorySearch, corpus: Corpus) -> float:
    """Memories imported per second."""
    memories = [Memory(type=MemoryType.KNOWLEDGE, content=corpus.sentence()) for _ in range(1_000)]
    began_at = time.perf_counter()
    await search.index_many(memories)
    return round(len(memories) / (time.perf_counter() - began_at))


class Renamed(BuiltinEmbedder):
    """The built-in embedder under another name, so that all vectors must be computed again."""

    id = "renamed:512"


async def embed_again(search: MemorySearch) -> float:
    """Memories embedded again per second, over the first 2 000 of them; searches use the old vectors meanwhile."""
    search.change_to(Renamed())
    reached = asyncio.Event()
    began_at = time.perf_counter()
    progressed = [0.0, 0]

    def progress(done: int, _total: int) -> None:
        if done >= 2_000 and not reached.is_set():
            progressed[:] = [time.perf_counter() - began_at, done]
            reached.set()

    task = asyncio.create_task(search.reembed(progress))
    await asyncio.wait([task, asyncio.create_task(reached.wait())], return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return round(progressed[1] / progressed[0]) if progressed[0] else 0


async def score(rank: Ranker, facts: dict[str, str], questions: list[dict[str, str]]) -> dict[str, dict[str, float]]:
    """hit@1, hit@5 and MRR, of all questions and by direction (language of the question → language of the fact)."""
    places: dict[str, list[int]] = {}
    for question in questions:
        order = await rank(question["text"])
        place = order.index(question["fact"]) + 1 if question["fact"] in order else 0
        for group in ("all", f"{question['language']}→{facts[question['fact']]}"):
            places.setdefault(group, []).append(place)
    return {
        group: {
            "hit@1": round(sum(place == 1 for place in found) / len(found), 3),
            "hit@5": round(sum(1 <= place <= 5 for place in found) / len(found), 3),
            "mrr": round(sum(1 / place for place in found if place) / len(found), 3),
        }
        for group, found in sorted(places.items())
    }


def recall_of(orders: list[list[str]], asked: list[Asked], count: int = 10) -> dict[str, float]:
    """Share of the evidence among the first ten, of all questions and by kind."""
    found: dict[str, list[float]] = {}
    for order, question in zip(orders, asked, strict=True):
        share = len(set(order[:count]) & set(question.evidence)) / len(question.evidence)
        for group in ("all", question.kind):
            found.setdefault(group, []).append(share)
    return {group: round(statistics.mean(shares), 3) for group, shares in found.items()}


class Systems:
    """A store of memories, and the results of our search, its parts, SQLite and LanceDB in it."""

    def __init__(
        self, search: MemorySearch, words: MemorySearch, embedder: BuiltinEmbedder, memories: list[Memory]
    ) -> None:
        self._search, self._words, self._embedder, self._memories = search, words, embedder, memories

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, memories: list[Memory], embedder: BuiltinEmbedder) -> AsyncIterator[Systems]:
        clock = SystemClock()
        with tempfile.TemporaryDirectory() as folder:
            store = await Store.open(None, clock=clock)
            repositories = Repositories(store, DataDir(Path(folder)))
            search = MemorySearch(repositories.memories, embedder, clock)
            await search.index_many(memories)
            yield cls(search, MemorySearch(repositories.memories, None, clock), embedder, memories)
            await store.close()

    async def orders(self, questions: list[str], limit: int, peers: Path | None) -> dict[str, list[list[str]]]:
        """The first ``limit`` ids of each question, by system."""
        found = {
            "fused": [await self._ids(self._search, each, limit) for each in questions],
            "words alone": [await self._own_words(each, limit) for each in questions],
            "vectors alone": [],
            "SQLite FTS5": self._sqlite(questions, limit),
        }
        vectors = await self._embedder.embed([memory.content for memory in self._memories])
        asked = await self._embedder.embed(questions, query=True)
        for row in asked:
            found["vectors alone"].append(
                [self._memories[place].id for place in np.argsort(-(vectors @ row), kind="stable")[:limit]]
            )
        if peers is not None and peers.exists():
            order = {
                "ids": [memory.id for memory in self._memories],
                "texts": [memory.content for memory in self._memories],
                "vectors": vectors.tolist(),
                "questions": questions,
                "question_vectors": asked.tolist(),
                "limit": limit,
            }
            done = subprocess.run(
                [peers, "-m", "tests.bench.peers.lancedb_peer"],
                cwd=ROOT,
                input=json.dumps(order),
                capture_output=True,
                text=True,
            )
            if done.returncode:
                print(f"LanceDB was not measured (make peers): {done.stderr.strip().splitlines()[-1:]}")
            else:
                found |= json.loads(done.stdout)
        return found

    async def threshold_effect(self, asked: list[Asked]) -> dict[str, float]:
        """At the default threshold: share of the correct first hits above it, and of the questions about things never
        mentioned the share without a result.
        """
        first_hits = above_threshold = 0
        empty: dict[str, list[bool]] = {}
        for question in asked:
            if question.evidence:
                (first, *_rest) = [
                    hit.memory.id for hit in (await self._search.search(question.text, limit=1, threshold=0)).hits
                ] or [""]
                if first in question.evidence:
                    first_hits += 1
                    above_threshold += first in [
                        hit.memory.id for hit in (await self._search.search(question.text)).hits
                    ]
            else:
                empty.setdefault(question.kind, []).append(not (await self._search.search(question.text)).hits)
        return {"right first hits kept": round(above_threshold / first_hits, 3)} | {
            f"{kind} questions that find nothing": round(statistics.mean(each), 3) for kind, each in empty.items()
        }

    async def _ids(self, search: MemorySearch, question: str, limit: int) -> list[str]:
        return [hit.memory.id for hit in (await search.search(question, limit=limit, threshold=0)).hits]

    async def _own_words(self, question: str, limit: int) -> list[str]:
        """Full text as in a search of single texts: without a turn's neighbours."""
        index = await self._words.index_cache.loaded()
        stems = await self._words.memories.stems(question)
        rows = index.rows
        none = np.full((rows.count, 4), rows.count, dtype=np.int32)
        scores = index.postings.scores(
            stems, rows.column("live"), rows.column("length"), none, np.zeros(rows.count, dtype=np.float32)
        )
        if scores is None:
            return []
        return [rows.ids[row] for row in np.argsort(-scores.own, kind="stable")[:limit] if scores.own[row] > 0]

    def _sqlite(self, questions: list[str], limit: int) -> list[list[str]]:
        database = sqlite3.connect(":memory:")
        database.execute(
            "CREATE VIRTUAL TABLE memory USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61 "
            "remove_diacritics 2')"
        )
        database.executemany(
            "INSERT INTO memory VALUES (?, ?)", [(memory.id, memory.content) for memory in self._memories]
        )
        sql = "SELECT id FROM memory WHERE memory MATCH ? ORDER BY bm25(memory), rowid LIMIT ?"
        found = []
        for question in questions:
            match = " OR ".join(f'"{word}"' for word in content_text(question))
            found.append([row[0] for row in database.execute(sql, (match, limit))] if match else [])
        database.close()
        return found


async def quality(peers: Path | None) -> dict[str, Any]:
    """Both sets: ours against only words, only vectors, SQLite's full text and LanceDB."""
    embedder = BuiltinEmbedder()
    turns, asked = memory_search_dataset.read()
    known = [each for each in asked if each.evidence]
    result: dict[str, Any] = {}
    async with Systems.open(turns, embedder) as systems:
        orders = await systems.orders([each.text for each in known], 10, peers)
        result["conversations"] = {
            "turns": len(turns),
            "questions": len(known),
            "recall@10": {name: recall_of(order, known) for name, order in orders.items()},
            "default threshold": await systems.threshold_effect(asked),
        }
    data = json.loads(DATA.read_text(encoding="utf-8"))
    facts = {fact["id"]: fact["language"] for fact in data["facts"]}
    memories = [Memory(id=fact["id"], type=MemoryType.KNOWLEDGE, content=fact["text"]) for fact in data["facts"]]
    questions = data["questions"]
    async with Systems.open(memories, embedder) as systems:
        orders = await systems.orders([question["text"] for question in questions], 64, peers)
        scores = {}
        for name, order in orders.items():
            of = dict(zip([question["text"] for question in questions], order, strict=True))

            async def rank(question: str, of: dict[str, list[str]] = of) -> list[str]:
                return of[question]

            scores[name] = await score(rank, facts, questions)
        foreign = [Asked("foreign", each.text) for each in asked if not each.evidence]
        result["facts"] = {
            "facts": len(facts),
            "questions": len(questions),
            "systems": scores,
            "default threshold": await systems.threshold_effect(
                [Asked("plain", each["text"], (each["fact"],)) for each in questions] + foreign
            ),
        }
    await embedder.aclose()
    return result


def show(result: dict[str, Any]) -> None:
    if figures := result.get("speed"):
        print(
            f"{figures['memories']} memories: filled in {figures['fill_s']} s, "
            f"read row by row in {figures['read_rows_s']} s,",
            end=" ",
        )
        print(
            f"from the file of {figures['file_mb']} MB in {sorted(figures['load_ms'])[2]} ms "
            f"(first {figures['load_ms'][0]});",
            end=" ",
        )
        print(
            f"the index {figures['index_mb']} MB, the process +{figures['loaded_mb']} MB, "
            f"{figures['process_mb']} MB in all"
        )
        print(
            f"imported: {figures['import_a_second']} a second; embedded again: {figures['reembed_a_second']} a second"
        )
        print(f"{'':24}{'p50 ms':>10}{'p95 ms':>10}{'max ms':>10}{'cpu ms':>10}{'cpu p95':>10}")
        for name in ("fused", "embed_query"):
            print(
                f"{name:24}{figures[name]['p50_ms']:>10}{figures[name]['p95_ms']:>10}{figures[name]['max_ms']:>10}{figures[name]['cpu_ms']:>10}{figures[name]['cpu_p95_ms']:>10}"
            )
        print(f"recall@10 of the vector part against exact search: {figures['vector_recall_at_10']}")
    of = result["quality"]["conversations"]
    print(f"\n{of['turns']} turns, {of['questions']} questions; recall@10")
    for name, groups in of["recall@10"].items():
        print(f"{name:24}" + "".join(f"{group:>10} {value:.3f}" for group, value in groups.items()))
    print(", ".join(f"{name}: {value}" for name, value in of["default threshold"].items()))
    of = result["quality"]["facts"]
    print(f"\n{of['facts']} facts, {of['questions']} questions")
    print(f"{'':24}{'asked→kept':>12}{'hit@1':>8}{'hit@5':>8}{'MRR':>8}")
    for name, groups in of["systems"].items():
        for group, values in groups.items():
            print(f"{name:24}{group:>12}{values['hit@1']:>8}{values['hit@5']:>8}{values['mrr']:>8}")
    print(", ".join(f"{name}: {value}" for name, value in of["default threshold"].items()))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 000 memories instead of 50 000")
    parser.add_argument("--quality", action="store_true", help="what is found alone, without the speed")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--peers", type=Path, default=PEERS, help="the Python that has LanceDB (make peers)")
    arguments = parser.parse_args()
    count, queries = (5_000, 60) if arguments.quick else (50_000, 300)
    result: dict[str, Any] = {} if arguments.quality else {"speed": await speed(count, queries)}
    result["quality"] = await quality(arguments.peers)
    show(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
