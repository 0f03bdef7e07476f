"""Tokens of the full-text index: words of any script, and letter pairs of scripts written without spaces."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import combinations

from atelier_desk.storage.search_terms import CAMEL, LIGATURES, STOP_WORDS, content_text

_MARKS = "".join(chr(code) for code in range(0x0900, 0x1CFF) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
r"""Vowel signs of South and South-East Asian scripts: parts of a word, although Python's \w excludes them."""
_TOKEN = re.compile(rf"(?:[^\W_]|[{_MARKS}])+(?:\+\+|#)?|[^\w\s\x00-\x7f]")
"""A word, the name of a language such as C++ or F#, or a single sign beyond ASCII, of which symbols and emoji count."""
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese do not separate words by spaces; Korean appends particles to them."""
COMPOUND_MAX = 64
"""Letters of an identifier that is found as a whole, too: what is longer is data."""
JOINED = 8
"""Parts of an identifier of which a memory is found by any in a row; the index of the history looks inside of words
instead.
"""
PART_MIN = 4
"""Minimum letters of a word that is searched inside longer ones: with three, most matches are accidental."""


def _words(text: str, joined: int = 0) -> Iterator[str]:
    """The words of a text, identifiers split at case; with ``joined`` also each as a whole, and of one with at most so
    many parts any in a row: ``getUserName`` has ``username``."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.translate(LIGATURES))
        # Compose what is left: only then is a Korean syllable one letter.
        text = unicodedata.normalize(
            "NFC", "".join(letter for letter in decomposed if not unicodedata.combining(letter))
        )
    for word in _TOKEN.findall(text):
        if len(word) == 1 and not (word.isalnum() or word in _MARKS or unicodedata.category(word).startswith("S")):
            continue
        humps = [word] if word.islower() else CAMEL.split(word)
        yield from (hump.casefold() for hump in humps)
        if joined and len(humps) > 1 and len(word) <= COMPOUND_MAX:
            rows = combinations(range(len(humps) + 1), 2) if len(humps) <= joined else [(0, len(humps))]
            yield from ("".join(humps[start:end]).casefold() for start, end in rows if end - start > 1)


def document_tokens(text: str, joined: int = 1) -> list[str]:
    """The distinct tokens of a text, in order: a word or symbol; an identifier's parts, alone and as ``_words`` joins
    them; of a run of an unspaced script each letter and each pair; ``c++`` also as ``c``."""
    found: dict[str, None] = {}
    for word in _words(text, joined):
        for part, unspaced in _parts(word):
            if unspaced:
                found.update(dict.fromkeys(part))
                found.update(dict.fromkeys(_pairs(part)))
            else:
                found[part] = None
                found[part.rstrip("+#")] = None
    return list(found)


def query_tokens(query: str) -> list[str]:
    """Return the tokens that a text must contain. English and French stop words count only if there are no others."""
    found: dict[str, None] = {}
    words = list(_words(query))
    for word in [word for word in words if word not in STOP_WORDS] or words:
        for part, unspaced in _parts(word):
            found.update(dict.fromkeys(_pairs(part) if unspaced and len(part) > 1 else [part]))
    return list(found)


def literal_tokens(text: str) -> list[str]:
    """The tokens that ``content_text`` leaves out: stop words, symbols, joined parts of identifiers, pieces of unspaced
    scripts.
    """
    known = set(content_text(text))
    return [token for token in document_tokens(text, JOINED) if token not in known]


def long_words(tokens: Iterable[str]) -> list[str]:
    """Return the tokens in which shorter words are searched."""
    return [token for token in tokens if len(token) > PART_MIN and token.isalpha()]


def json_text(value: str) -> str:
    """Return the field names and values of a JSON text; other text unchanged."""
    try:
        return "\n".join(_leaves(json.loads(value)))
    except (ValueError, RecursionError):
        return value


def _parts(word: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a word by script, and whether each is of an unspaced one."""
    if word.isascii():
        yield word, False
        return
    for number, part in enumerate(_UNSPACED.split(word)):
        if part:
            yield part, number % 2 == 1


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):
        yield json.dumps(value)
