"""Choose the action: the model continues the nearest examples, restricted to the labels by a grammar."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.llm.guided.language_data import Language

if TYPE_CHECKING:
    import numpy as np

    from atelier_desk.llm.interfaces import Embedder

NEAREST = 4
"""Examples in the prompt: with all of them a 135M model's correct choices fell from 20 to 11 of 20."""


@dataclass(frozen=True, slots=True)
class Example:
    """A request and its action; ``nearest`` sets the ``similarity`` to the message."""

    request: str
    action: str
    similarity: float = 0.0


_shared: weakref.WeakKeyDictionary[object, Examples] = weakref.WeakKeyDictionary()


class Examples:
    """The examples of both languages with their vectors, created at the first use."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._vectors: dict[str, np.ndarray] = {}
        self._examples: dict[str, list[Example]] = {}

    @classmethod
    def shared(cls, embedder: Embedder | None) -> Examples:
        """Return the built-in examples, embedded once per embedder for all models."""
        if embedder is None:
            return cls(None)
        if embedder not in _shared:
            _shared[embedder] = cls(weakref.proxy(embedder))
        return _shared[embedder]

    def of(self, language: Language) -> list[Example]:
        """Return the language's examples."""
        if language.code not in self._examples:
            found = [Example(request, action) for action, requests in language.examples.items() for request in requests]
            self._examples[language.code] = found
        return self._examples[language.code]

    async def nearest(
        self, text: str, language: Language, allowed: Collection[str], count: int = NEAREST
    ) -> list[Example]:
        """Return the examples most similar to the message among the allowed actions, nearest first.

        Without an embedder, similarity is the fraction of common words.
        """
        examples = self.of(language)
        if self._embedder is None:
            scores = [_overlap(text, example.request) for example in examples]
        else:
            if language.code not in self._vectors:
                self._vectors[language.code] = await self._embedder.embed([example.request for example in examples])
            query = await self._embedder.embed([text], query=True)
            scores = [float(score) for score in self._vectors[language.code] @ query[0]]
        ranked = sorted(zip(scores, examples, strict=True), key=lambda pair: -pair[0])
        return [
            Example(example.request, example.action, score) for score, example in ranked if example.action in allowed
        ][:count]


def selection_prompt(text: str, nearest: Sequence[Example]) -> str:
    """Return few-shot pairs, nearest last, and the message; it ends without a space."""
    shots = "".join(f"Request: {example.request}\nAction: {example.action}\n\n" for example in reversed(nearest))
    return f"{shots}Request: {text}\nAction:"


def fill_prompt(text: str, shots: Sequence[Sequence[str]], label: str) -> str:
    """Return few-shot pairs of a request and the wanted part of it; it ends without a space."""
    pairs = "".join(f"Request: {request}\n{label}: {part}\n\n" for request, part in shots)
    return f"{pairs}Request: {text}\n{label}:"


def _overlap(first: str, second: str) -> float:
    one, two = set(first.lower().split()), set(second.lower().split())
    return len(one & two) / max(1, len(one | two))
