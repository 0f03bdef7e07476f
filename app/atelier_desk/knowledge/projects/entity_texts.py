"""Searchable words of an entity, and the text for its vector."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from atelier_desk.storage.memory_index_entry import hashes, packed
from atelier_desk.storage.search_terms import STOP_WORDS, words

WORDS = 400
"""Maximum words of an entity's body that are searchable."""
EMBEDDED = 700
"""Characters of the text that is embedded."""
NAME, WITHIN, PLACE, DOCSTRING = 4, 2, 1, 2
"""Weights of a word in the name, the containing scope, the path and the docstring; in the body it counts once."""
STEM = 4
"""Letters of a stem.

Descriptions say "configuration", "parameter" and "deletes" where code says ``config``, ``param`` and ``deletion``: the
first four letters match all of these, in French too, while exact words still weigh more because they are rarer.
"""
_CODE = frozenset({"comment", "font", "plus"})
"""French stop words that are words of code."""
_STOP_WORDS = STOP_WORDS - _CODE


def stem(word: str) -> str:
    """Return the first letters of a word."""
    return word[:STEM]


def stems(found: Iterable[str]) -> list[tuple[str, str]]:
    """Return each word with its stem, without stop words."""
    return [(word, stem(word)) for word in found if word not in _STOP_WORDS]


@lru_cache(maxsize=100_000)
def _hashes(word: str) -> tuple[int, ...]:
    return () if word in _STOP_WORDS else tuple(set(hashes((word, stem(word)))))


def terms(name: str, place: str, said: str, body: Sequence[str], within: str = "") -> bytes:
    """Return the packed words of an entity.

    ``body`` is a list of words, ``within`` the name with its containing scope.
    """
    often = Counter(body[:WORDS])
    for found, weight in (
        (words(name), NAME),
        (words(within), WITHIN),
        (words(place), PLACE),
        (words(said[:4_000]), DOCSTRING),
    ):
        for word in found:
            often[word] += weight
    counts: dict[int, int] = {}
    length = 0
    for word, count in often.items():
        numbers = _hashes(word)
        if numbers:
            length += count
            for number in numbers:
                counts[number] = counts.get(number, 0) + count
    return packed(length, counts)


def query_stems(query: str) -> list[tuple[str, str]]:
    """Return the stems of a query, with repetitions. A leading French "comment" means "how", not a comment."""
    found = words(query)
    if len(found) > 1 and found[0] == "comment" and not STOP_WORDS.isdisjoint(found[1:]):
        found = found[1:]
    return stems(found) or [(word, stem(word)) for word in found]


def embedded_text(kind: str, qualified: str, signature: str, docstring: str, text: str) -> str:
    """Return the text to embed: names in plain words, the documentation, then the beginning of the text.

    Code is put into words because embedders handle sentences better than brackets.
    """
    if kind != "scope":
        return f"{qualified}. {text}"[:EMBEDDED]
    body = " ".join(words(text))
    return f"{' '.join(words(qualified))}. {docstring} {' '.join(words(signature))} {body}"[:EMBEDDED]


def digest(kind: str, qualified: str, signature: str, docstring: str, text: str) -> str:
    """Return the hash of the ``embedded_text`` for the same arguments.

    Equal texts share a vector across files and projects.
    """
    whole = "\0".join((kind, qualified, signature, docstring, text))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
