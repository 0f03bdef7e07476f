"""Names of workflows from their first message."""

from __future__ import annotations

import gettext
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count, islice

from atelier_desk.domain import limits
from atelier_desk.support.i18n import DOMAIN, LANGUAGES, N_, _, catalogue_dir
from atelier_desk.support.visible_and_shortened_text import shorten

UNTITLED = N_("New workflow")
NAME_LENGTH = 60
"""Maximum characters of an automatic name; lists cut longer ones."""

_MARKUP = re.compile(r"^(?:[#>*\-+`\s]|\d+[.)]\s)+|(?<!\w)[*_`]{1,3}(?=\w)|(?<=\w)[*_`]{1,3}(?!\w)")
"""Leading list and heading marks, and emphasis around words; the star of ``12*7`` stays."""
_SPACE = re.compile(r"\s+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=[^\W_])")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r" \(\d+\)$")
_FENCE = ("```", "~~~")
_READ = 40 * NAME_LENGTH
"""Characters of a line that are read: a pasted megabyte of opening brackets would take quadratic time."""
_FEWEST_WORDS = 3
"""Minimum words of a meaningful sentence; shorter ones are greetings."""
_FIRST_TRIED = 16
"""Candidate names looked up at once; more if all are taken."""


def name_from(content: str) -> str:
    """Return a name from a first message: its first sentence, without Markdown, at most 60 characters.

    A first sentence of one or two words ("Hello!") is skipped in favour of the next one on its line. Empty if the
    message has no words (only an image).
    """
    for line in content.splitlines():
        text = _SPACE.sub(" ", _MARKUP.sub("", _LINK.sub(r"\1", line[:_READ]))).strip()
        if any(character.isalnum() for character in text) and not line.lstrip().startswith(_FENCE):
            return shorten(_sentence(text), NAME_LENGTH, at_word=True)
    return ""


def _sentence(text: str) -> str:
    found = _SENTENCE_END.split(text)
    first = next((each for each in found if len(_WORD.findall(each)) >= _FEWEST_WORDS), text)
    return first[:-1] if first.endswith(".") and not first.endswith("..") else first


def _numbered(name: str, length: int) -> Iterator[str]:
    """Yield ``name``, ``name (2)``, ``name (3)`` …, at most ``length`` characters."""
    yield name[:length]
    base = _NUMBER.sub("", name)
    for number in count(2):
        suffix = f" ({number})"
        yield base[: length - len(suffix)] + suffix


def numbered(name: str, taken: set[str], *, length: int = limits.WORKFLOW_NAME) -> str:
    """Return ``name``, or ``name (2)``, ``name (3)`` … if taken; at most ``length`` characters."""
    return next(each for each in _numbered(name, length) if each not in taken)


async def free_name(name: str, taken: Callable[[Sequence[str]], Awaitable[set[str]]]) -> str:
    """Return a free name for a workflow; ``taken`` tells which candidates exist, so that not all have to be read."""
    names, at_once = _numbered(name, limits.WORKFLOW_NAME), _FIRST_TRIED
    while True:
        some = list(islice(names, at_once))
        there = await taken(some)
        if (free := next((each for each in some if each not in there), None)) is not None:
            return free
        at_once *= 2


def branch_name(name: str) -> str:
    """Return the base name of a branch: ``name (branch)``.

    A branch of a branch is numbered instead of named twice.
    """
    suffix = _("{name} (branch)", name="")
    base = _NUMBER.sub("", name)
    base = base.removesuffix(suffix) if base.endswith(suffix) else name
    return base[: limits.WORKFLOW_NAME - len(suffix) - len(" (999)")] + suffix


@lru_cache(maxsize=1)
def placeholders() -> frozenset[str]:
    """Return the name of an unnamed workflow in every supported language."""
    directory = str(catalogue_dir())
    found = {
        gettext.translation(DOMAIN, directory, languages=[code], fallback=True).gettext(UNTITLED) for code in LANGUAGES
    }
    return frozenset(found | {UNTITLED})
