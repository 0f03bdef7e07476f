"""Words for full-text search: without case, accents, punctuation and stop words, in French and English.

They are made before the database sees them, so that its analysers only stem: punctuation and stop words would be the
largest entries of every index, and caused most of its cost.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n\s*")
LIGATURES = str.maketrans(
    {
        "œ": "oe",
        "Œ": "Oe",
        "æ": "ae",
        "Æ": "Ae",
        "ß": "ss",
        "ẞ": "SS",
        "ø": "o",
        "Ø": "O",
        "đ": "d",
        "Đ": "D",
        "ł": "l",
        "Ł": "L",
        "ı": "i",
    }
)
"""Letters that are others with a mark, or two in one, though Unicode does not take them apart; Turkish i with and
without a dot are one.
"""


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _listed(
    """
    a about above after again against all am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers herself him
    himself his how i if in into is it its itself just me more most my myself no nor not now of off on once only or
    other our ours ourselves out over own same she should so some such than that the their theirs them themselves then
    there these they this those through to too under until up very was we were what when where which while who whom why
    will with would you your yours yourself yourselves s t re ve ll d m don
    """
)
FRENCH = _listed(
    """
    a ai aie aient ait alors as au aucun aura aurait aussi autre aux avaient avais avait avant avec avez avoir avons
    ayant c ca ce ceci cela celle celles celui ces cet cette ceux chez comme comment d dans de depuis des deux donc dont
    du elle elles en encore entre es est et etaient etais etait etant ete etes etre eu eux fait faire faut font il ils j
    je jusqu l la le les leur leurs lui m ma mais me meme memes mes moi mon n ne ni nos notre nous on ont ou par parce
    pas peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera serait ses si soit
    sommes son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une vers voici voila vos votre
    vous y
    """
)
STOP_WORDS = ENGLISH | FRENCH


def words(text: str) -> list[str]:
    """Return the words of a text in order.

    Identifiers split at case changes and underscores, lower case, no accents, with stop words.
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.translate(LIGATURES))
        text = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return _WORD.findall(CAMEL.sub(" ", text).casefold())


def content_text(text: str) -> list[str]:
    """Return the words without stop words; all of them if nothing else is left, so that "who are you" still matches."""
    found = words(text)
    return [word for word in found if word not in STOP_WORDS] or found


def excerpt(text: str, query: str, width: int = 160) -> str:
    """Return about ``width`` characters around the first query word in a text, with ellipses where it was cut.

    Line breaks are kept so that Markdown still works; blank lines are dropped.
    """
    at = next(_places(text, query), (0, 0))[0]
    start = max(0, at - width // 3, text.rfind("\n", max(0, at - width // 3), at) + 1) if at else 0
    piece = _LINE_END.sub("\n", _BLANKS.sub(" ", text[start : start + width])).strip()
    return ("…" if start else "") + piece + ("…" if start + width < len(text) else "")


def word_places(text: str, query: str) -> list[tuple[int, int]]:
    """Return where query words occur in a text: start and end of each word that ``excerpt`` would find."""
    return list(_places(text, query))


def matching_values(texts: Iterable[str], query: str) -> str:
    """Return the values in stored JSON that contain a query word, without field names.

    If none does (the words are those of a field or a tool), values of more than one word, else all. Text that is not
    JSON is one value.
    """
    wanted = set(content_text(query))
    values = list(dict.fromkeys(value for text in texts if text for value in _values(text)))
    found = [value for value in values if any(_related(word, wanted) for word in words(value))]
    told = [value for value in found if " " in value.strip()] or found
    return " · ".join(told or [value for value in values if " " in value.strip()] or values)


def _places(text: str, query: str) -> Iterator[tuple[int, int]]:
    wanted = set(content_text(query))
    found = (
        match.span() for match in re.finditer(r"\w+", text) if any(_related(word, wanted) for word in words(match[0]))
    )
    first = next(found, None)
    if first is not None:
        yield from (first, *found)
    elif query.strip():  # symbols, and what goes across the parts of an identifier
        yield from (match.span() for match in re.finditer(re.escape(query.strip()), text, re.IGNORECASE))


def _values(text: str) -> Iterator[str]:
    try:
        yield from _leaves(json.loads(text))
    except ValueError:
        yield text


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    elif isinstance(value, str):
        yield from [value] if value.strip() else []
    elif value is not None and not isinstance(value, bool):
        yield json.dumps(value)


def _related(word: str, wanted: set[str]) -> bool:
    """Whether a word matches a query word: equal, same first five letters, or containing it.

    Containing covers parts of compounds and scripts without spaces.
    """
    return word in wanted or any(
        (len(word) > 4 and len(other) > 4 and word[:5] == other[:5])
        or ((len(other) > 3 or not other.isascii()) and other in word)
        for other in wanted
    )
