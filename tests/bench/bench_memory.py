"""Memory search: speed at 50 000 memories, exactness of its vector part, and quality on a French and English set.

    python -m tests.bench.bench_memory [--quick] [--json FILE]

Speed: made-up memories (words by Zipf's law, so that common words are as common as in real text) in a database on disk, vectors of the
built-in embedder with noise; the query is embedded for real. Quality: 64 facts, 128 questions in ``data/memory_questions.json``, half of
them asked in the other language and all in other words than the fact's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.knowledge.search import MemorySearch
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder
from atelier_desk.storage.folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store

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
    """Store ``count`` memories with vectors; gives their texts."""
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
    """Wall time, and the processor time of the whole process, which a busy machine does not change."""
    times = []
    processor = time.process_time()
    for question in questions:
        begun = time.perf_counter()
        await run(question)
        times.append((time.perf_counter() - begun) * 1000)
    processor = (time.process_time() - processor) * 1000 / len(questions)
    figures = {"p50_ms": statistics.median(times), "p95_ms": percentile(times, 0.95), "max_ms": max(times), "cpu_ms": processor}
    return {name: round(value, 2) for name, value in figures.items()}


async def recall(repositories: Repositories, search: MemorySearch, embedder: BuiltinEmbedder, questions: list[str]) -> float:
    """Share of the ten nearest, computed in double precision from the stored bytes, that the vector part finds among its ten."""
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
    vectors = await search.vectors()
    assert vectors is not None
    everything = vectors.set_mask(search.ANY, ids)
    found = wanted = 0
    for question in questions:
        query = (await embedder.embed([question], query=True))[0]
        best = {ids[row] for row in np.argsort(-(exact @ query.astype(np.float64)))[:10]}
        nearest, _ = vectors.nearest(query, everything, 10)
        found += len(best & {name for name, _ in nearest})
        wanted += len(best)
    return found / wanted


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
        begun = time.perf_counter()
        texts = await fill(repositories, embedder, corpus, count)
        filled = time.perf_counter() - begun
        search = MemorySearch(repositories.memories, embedder, clock)
        before = rss_mb()
        begun = time.perf_counter()
        await search.warm()
        result: dict[str, Any] = {"memories": count, "fill_s": round(filled, 1), "load_s": round(time.perf_counter() - begun, 2)}
        result["loaded_mb"] = round(rss_mb() - before, 1)
        picked = random.Random(3).sample(texts, queries)
        questions = [corpus.question(text) for text in picked]
        await search.search(questions[0])
        text_only = MemorySearch(repositories.memories, None, clock)
        result["fused"] = await timed(lambda question: search.search(question), questions)
        result["text_only"] = await timed(lambda question: text_only.search(question), questions)
        result["embed_query"] = await timed(lambda question: embedder.embed([question], query=True), questions)
        result["vector_recall_at_10"] = round(await recall(repositories, search, embedder, questions[:100]), 4)
        result["process_mb"] = round(rss_mb(), 1)
        await store.close()
    await embedder.aclose()
    return result


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


async def quality() -> dict[str, Any]:
    """Fused against vectors alone and full text alone; and how many right answers the default threshold keeps."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    embedder = BuiltinEmbedder()
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(None, clock=clock)
        repositories = Repositories(store, DataDir(Path(folder)))
        search = MemorySearch(repositories.memories, embedder, clock)
        text_only = MemorySearch(repositories.memories, None, clock)
        for fact in data["facts"]:
            await search.index(Memory(id=fact["id"], type=MemoryType.KNOWLEDGE, content=fact["text"]))
        facts = {fact["id"]: fact["language"] for fact in data["facts"]}

        async def fused(question: str) -> list[str]:
            return [hit.memory.id for hit in (await search.search(question, limit=64, threshold=0)).hits]

        async def text(question: str) -> list[str]:
            return [hit.memory.id for hit in (await text_only.search(question, limit=64, threshold=0)).hits]

        async def vectors(question: str) -> list[str]:
            index = await search.vectors()
            assert index is not None
            query = (await embedder.embed([question], query=True))[0]
            nearest, _ = index.nearest(query, index.set_mask(search.ANY, facts), 64)
            return [name for name, _ in nearest]

        systems = {"fused": fused, "vectors alone": vectors, "full text alone": text}
        result: dict[str, Any] = {"facts": len(facts), "questions": len(data["questions"])}
        result["systems"] = {name: await score(rank, facts, data["questions"]) for name, rank in systems.items()}
        kept = shown = 0
        for question in data["questions"]:
            found = [hit.memory.id for hit in (await search.search(question["text"])).hits]
            kept += question["fact"] in found
            shown += len(found)
        result["default_threshold"] = {
            "right_kept": round(kept / len(data["questions"]), 3),
            "hits_shown": round(shown / len(data["questions"]), 1),
        }
        await store.close()
    await embedder.aclose()
    return result


def show(result: dict[str, Any]) -> None:
    at = result["speed"]
    print(f"{at['memories']} memories: filled in {at['fill_s']} s, loaded in {at['load_s']} s", end=" ")
    print(f"(+{at['loaded_mb']} MB, process {at['process_mb']} MB)")
    print(f"{'':24}{'p50 ms':>10}{'p95 ms':>10}{'max ms':>10}{'cpu ms':>10}")
    for name in ("fused", "text_only", "embed_query"):
        print(f"{name:24}{at[name]['p50_ms']:>10}{at[name]['p95_ms']:>10}{at[name]['max_ms']:>10}{at[name]['cpu_ms']:>10}")
    print(f"recall@10 of the vector part against exact search: {at['vector_recall_at_10']}")
    of = result["quality"]
    print(f"\n{of['facts']} facts, {of['questions']} questions")
    print(f"{'':18}{'asked→kept':>12}{'hit@1':>8}{'hit@5':>8}{'MRR':>8}")
    for name, groups in of["systems"].items():
        for group, values in groups.items():
            print(f"{name:18}{group:>12}{values['hit@1']:>8}{values['hit@5']:>8}{values['mrr']:>8}")
    default = of["default_threshold"]
    print(f"at the default threshold: {default['right_kept']} of the right answers kept, {default['hits_shown']} hits shown on average")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 000 memories instead of 50 000")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    count, queries = (5_000, 60) if arguments.quick else (50_000, 300)
    result = {"speed": await speed(count, queries), "quality": await quality()}
    show(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
