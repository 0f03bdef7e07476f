"""The words of an entity, as a search compares them, and the text that its vector is made of."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from atelier_desk.storage.memory_terms import hashes, packed
from atelier_desk.storage.search_terms import STOP_WORDS, words

WORDS = 400
"""Most words of one entity's body that are searched."""
EMBEDDED = 700
"""Characters of the text that a vector is made of."""
NAME, WITHIN, PLACE, SAID = 4, 2, 1, 2
"""How often a word counts: of the name, of what it stands in, of the path, of the docstring; one of the body counts once."""
STEM = 4
"""Letters of a stem. Descriptions say "configuration", "parameter" and "deletes" where code says ``config``, ``param`` and ``deletion``:
the first four letters find all of these, in French as well, while a word that is there as it was asked for counts more: fewer have it."""
_CODE = frozenset({"comment", "font", "plus"})
"""French stop words that are words of code."""
_STOP_WORDS = STOP_WORDS - _CODE


def stem(word: str) -> str:
    """The first letters of a word."""
    return word[:STEM]


def stems(found: Iterable[str]) -> list[tuple[str, str]]:
    """Each word beside its stem, without stop words."""
    return [(word, stem(word)) for word in found if word not in _STOP_WORDS]


@lru_cache(maxsize=100_000)
def _hashes(word: str) -> tuple[int, ...]:
    return () if word in _STOP_WORDS else tuple(set(hashes((word, stem(word)))))


def terms(name: str, place: str, said: str, body: Sequence[str], within: str = "") -> bytes:
    """The words of an entity as its row keeps them; ``body`` are words already, ``within`` is the name with what it stands in."""
    often = Counter(body[:WORDS])
    for found, weight in ((words(name), NAME), (words(within), WITHIN), (words(place), PLACE), (words(said[:4_000]), SAID)):
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
    """The words of a query, as often as they are said. The "comment" that a French question begins with asks how, and for no comment."""
    found = words(query)
    if len(found) > 1 and found[0] == "comment" and not STOP_WORDS.isdisjoint(found[1:]):
        found = found[1:]
    return stems(found) or [(word, stem(word)) for word in found]


def embedded_text(kind: str, qualified: str, signature: str, docstring: str, text: str) -> str:
    """What a vector is made of: names in plain words, what is said, then the beginning of the text. Code is put into words, as embedders
    know sentences better than brackets."""
    if kind != "scope":
        return f"{qualified}. {text}"[:EMBEDDED]
    body = " ".join(words(text))
    return f"{' '.join(words(qualified))}. {docstring} {' '.join(words(signature))} {body}"[:EMBEDDED]


def digest(kind: str, qualified: str, signature: str, docstring: str, text: str) -> str:
    """The name of what ``embedded_text`` makes of the same: it has the same vector, whatever file and project it stands in."""
    whole = "\0".join((kind, qualified, signature, docstring, text))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
