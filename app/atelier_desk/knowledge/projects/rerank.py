"""What reorders the best that words and vectors found: whether the query says the name, and whether it is a test.

A description of code says most words of its name: what has all of them in its name is meant more often than what has them in its body. A
name of one common word is said by many queries, so the gain is small against the rest of the score.
"""

from __future__ import annotations

import re
from functools import lru_cache

from atelier_desk.knowledge.projects.texts import stem
from atelier_desk.storage.search_terms import words

COVERED = 0.05
"""What it is worth when the query says every word of the name."""
TESTED = 0.1
"""What code of tests and examples loses, half of its score at most: it repeats the words of what it tries."""
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|benches|benchmarks?|examples?|docs?)/"
    r"|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*(?:_test|_spec|\.test|\.spec)\.\w+|[^/]*Tests?\.(?:java|cs|php))$"
)
_ASKED = frozenset({"test", "tests", "tested", "testing", "spec", "specs", "fixture", "fixtures", "example", "examples", "exemple",
                    "exemples", "bench", "benchmark", "benchmarks"})  # fmt: skip


class QueryTerms:
    """A query as names are compared with it."""

    def __init__(self, query: str) -> None:
        said = words(query)
        self._said = frozenset(said) | frozenset(f"~{stem(word)}" for word in said)
        self._tests = not _ASKED.isdisjoint(said)

    def weighed(self, score: float, kind: str, name: str, path: str) -> float:
        """The score of an entity with what it gains by its name and loses by its place."""
        found = score + COVERED * self.covered(name)
        return max(found / 2, found - TESTED) if kind == "scope" and not self._tests and is_test(path) else found

    def covered(self, name: str) -> float:
        """Share of the words of a name that the query says, 0–1."""
        asked = _name(name)
        return sum(word in self._said or short in self._said for word, short in asked) / len(asked) if asked else 0.0


@lru_cache(maxsize=20_000)
def is_test(path: str) -> bool:
    """Whether a path is that of a test, an example or the code of a manual."""
    return _TESTS.search(path) is not None


@lru_cache(maxsize=50_000)
def _name(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((word, f"~{stem(word)}") for word in words(name[:200]))
