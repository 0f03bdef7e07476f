"""Rerank the best results: does the query contain the name, and is it test code?

A description of code contains most words of its name, so a full match in the name is more relevant than one in the
body. Names of one common word match many queries, so the bonus is small compared with the score.
"""

from __future__ import annotations

import re
from functools import lru_cache

from atelier_desk.knowledge.projects.entity_texts import stem
from atelier_desk.storage.search_terms import words

COVERED = 0.05
"""Bonus when the query contains every word of the name."""
TESTED = 0.1
"""Penalty for tests and examples, at most half of the score: they repeat the words of the code they use."""
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|benches|benchmarks?|examples?|docs?)/"
    r"|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*(?:_test|_spec|\.test|\.spec)\.\w+|[^/]*Tests?\.(?:java|cs|php))$"
)
_ASKED = frozenset({"test", "tests", "tested", "testing", "spec", "specs", "fixture", "fixtures", "example", "examples",
"exemple",
                    "exemples", "bench", "benchmark", "benchmarks"})  # fmt: skip


class QueryTerms:
    """A query prepared for comparison with names."""

    def __init__(self, query: str) -> None:
        said = words(query)
        self._terms = frozenset(said) | frozenset(f"~{stem(word)}" for word in said)
        self._tests = not _ASKED.isdisjoint(said)

    def weighed(self, score: float, kind: str, name: str, path: str) -> float:
        """Return the score of an entity with its name bonus and test penalty."""
        found = score + COVERED * self.covered(name)
        return max(found / 2, found - TESTED) if kind == "scope" and not self._tests and is_test(path) else found

    def covered(self, name: str) -> float:
        """Return the fraction of a name's words that the query contains, 0–1."""
        asked = _name(name)
        return sum(word in self._terms or short in self._terms for word, short in asked) / len(asked) if asked else 0.0


@lru_cache(maxsize=20_000)
def is_test(path: str) -> bool:
    """Whether a path is that of a test, an example or manual code."""
    return _TESTS.search(path) is not None


@lru_cache(maxsize=50_000)
def _name(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((word, f"~{stem(word)}") for word in words(name[:200]))
