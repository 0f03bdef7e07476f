"""Names of workflows made from what their user wrote first."""

from __future__ import annotations

import gettext
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count, islice

from atelier_desk.domain import limits
from atelier_desk.support.i18n import DOMAIN, LANGUAGES, N_, _, catalogue_dir
from atelier_desk.support.text import shorten

UNTITLED = N_("New workflow")
NAME_LENGTH = 60
"""Characters of an automatic name; a wider one is cut by every list that shows it."""

_MARKUP = re.compile(r"^(?:[#>*\-+`\s]|\d+[.)]\s)+|(?<!\w)[*_`]{1,3}(?=\w)|(?<=\w)[*_`]{1,3}(?!\w)")
"""List and heading marks at the start, and emphasis around words; the star of ``12*7`` stays."""
_SPACE = re.compile(r"\s+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=[^\W_])")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r" \(\d+\)$")
_FENCE = ("```", "~~~")
_READ = 40 * NAME_LENGTH
"""Characters of a line that are read: a pasted megabyte of opening brackets would cost the square of its length."""
_FEWEST_WORDS = 3
"""Words of a sentence that says something; a shorter one is a greeting."""
_FIRST_TRIED = 16
"""Names that are looked up at once when a new one is wanted; more when all of them are taken."""


def name_from(content: str) -> str:
    """A name for the workflow that starts with this message: its first sentence, without Markdown, at most 60 characters.

    A first sentence of one or two words ("Hello!") gives way to the next one of its line.

    Returns an empty string when the message has no words (an image alone).
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
    """``name``, ``name (2)``, ``name (3)`` …, never longer than ``length`` characters."""
    yield name[:length]
    base = _NUMBER.sub("", name)
    for number in count(2):
        suffix = f" ({number})"
        yield base[: length - len(suffix)] + suffix


def numbered(name: str, taken: set[str], *, length: int = limits.WORKFLOW_NAME) -> str:
    """``name``, or ``name (2)``, ``name (3)`` … when it is taken; never longer than ``length`` characters."""
    return next(each for each in _numbered(name, length) if each not in taken)


async def free_name(name: str, taken: Callable[[Sequence[str]], Awaitable[set[str]]]) -> str:
    """The same of a workflow; ``taken`` says which of some names there are, so that not all have to be read."""
    names, at_once = _numbered(name, limits.WORKFLOW_NAME), _FIRST_TRIED
    while True:
        some = list(islice(names, at_once))
        there = await taken(some)
        if (free := next((each for each in some if each not in there), None)) is not None:
            return free
        at_once *= 2


def branch_name(name: str) -> str:
    """What ``free_name`` makes the name of: ``name (branch)``, for what goes on from a point of the workflow ``name``.

    A branch of a branch is numbered on instead of named twice.
    """
    suffix = _("{name} (branch)", name="")
    base = _NUMBER.sub("", name)
    base = base.removesuffix(suffix) if base.endswith(suffix) else name
    return base[: limits.WORKFLOW_NAME - len(suffix) - len(" (999)")] + suffix


@lru_cache(maxsize=1)
def placeholders() -> frozenset[str]:
    """The name of a workflow nobody named yet, in every language the program speaks."""
    directory = str(catalogue_dir())
    found = {gettext.translation(DOMAIN, directory, languages=[code], fallback=True).gettext(UNTITLED) for code in LANGUAGES}
    return frozenset(found | {UNTITLED})
