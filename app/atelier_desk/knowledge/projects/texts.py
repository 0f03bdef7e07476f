"""The words of an entity, as a search compares them, and the text that its vector is made of."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from atelier_desk.storage.stems import hashes, packed
from atelier_desk.storage.text import STOP_WORDS, words

WORDS = 400
"""Most words of one entity's body that are searched."""
EMBEDDED = 700
"""Characters of the text that a vector is made of."""
NAME, PLACE, SAID = 4, 1, 2
"""How often a word counts: of the name, of the path and what it stands in, of the docstring; one of the body counts once."""
_ENDINGS = re.compile(r"(ations?|ingly|ings?|edly|ments?|ers?|ors?|ed|es|ly|s|x)$")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A word without its commonest endings, as far as four letters are left: enough for code, which is full of words that are none."""
    if len(word) < 5:
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    short = word[:-3] + "y" if word.endswith("ies") else _ENDINGS.sub("", word, count=1)
    if len(short) < 4:
        short = word.removesuffix("s") if not word.endswith("ss") else word
    return short[:-1] if short.endswith("e") and len(short) > 4 else short


def stems(found: Iterable[str]) -> list[tuple[str, str]]:
    """Each word beside its stem, without stop words."""
    return [(word, stem(word)) for word in found if word not in STOP_WORDS]


@lru_cache(maxsize=100_000)
def _hashes(word: str) -> tuple[int, ...]:
    return () if word in STOP_WORDS else tuple(set(hashes((word, stem(word)))))


def terms(name: str, place: str, said: str, body: Sequence[str]) -> bytes:
    """The words of an entity as its row keeps them; ``body`` are words already."""
    often = Counter(body[:WORDS])
    for found, weight in ((words(name), NAME), (words(place), PLACE), (words(said[:4_000]), SAID)):
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
    """The words of a query, each once."""
    found = words(query)
    return list(dict.fromkeys(stems(found) or [(word, stem(word)) for word in found]))


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
