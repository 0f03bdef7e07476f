"""Shorten texts, and make hidden characters of untrusted texts visible."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(?P<name>\w+)\}")
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"})
"""Unicode categories of invisible characters and of bidirectional controls."""
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Invisible characters of other categories: fillers and variation selectors."""
_JOINER, _NON_JOINER, _EMOJI = "\u200d", "\u200c", "\ufe0f"
_VIRAMA = 9
"""Combining class of Indic vowel-removing signs; a joiner after one is visible."""


def visible(text: str) -> str:
    """``text`` with characters that could mislead a reader written as ``⟨U+202E⟩``.

    Newlines and tabs stay, and so do joiners in emoji and in scripts such as Persian, Hindi or Sinhala.
    """
    if _is_plain(text):
        return text
    return "\n".join(map(_visible_line, text.replace("\r\n", "\n").split("\n")))


def filled(text: str, values: Mapping[str, object]) -> str:
    """``text`` with ``{name}`` replaced by values, as they are written; ``{{`` and ``}}`` are braces.

    Unlike ``str.format`` it knows nothing else: a text from a stored row or an imported file could ask for a number of
    a billion digits, or for attributes of a value. A name without a value stays.
    """
    return _PLACEHOLDER.sub(lambda found: _placed(found, values), text)


def _placed(found: re.Match[str], values: Mapping[str, object]) -> str:
    name = found["name"]
    if name is None:
        return found[0][0]
    return str(values[name]) if name in values else found[0]


def visible_json(value: object, indent: int | None = None) -> str:
    """A value as JSON for people, with hidden characters escaped; can be parsed again."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return "\n".join(line if _is_plain(line) else "".join(map(_escaped, line)) for line in text.split("\n"))


def _is_plain(line: str) -> bool:
    """Whether nothing is hidden. No-break spaces, which Python calls unprintable, are in most texts with numbers."""
    return line.replace("\u202f", "").replace("\xa0", "").isprintable() and _BLANK.search(line) is None


def hidden_codes(text: str) -> list[str]:
    """Codes of the hidden characters of a text, each once, as ``U+202E``; empty without any."""
    lines = text.replace("\r\n", "\n").split("\n")
    return list(
        dict.fromkeys(
            f"U+{ord(line[place]):04X}" for line in lines if not _is_plain(line) for place in _hidden_in(line)
        )
    )


def _visible_line(line: str) -> str:
    if _is_plain(line):
        return line
    hidden = set(_hidden_in(line))
    return "".join(f"⟨U+{ord(each):04X}⟩" if index in hidden else each for index, each in enumerate(line))


def _hidden_in(line: str) -> list[int]:
    around = f" {line} "
    return [
        index
        for index, each in enumerate(line)
        if _is_hidden(each) and not _joins(each, around[index], around[index + 2])
    ]


def _is_hidden(character: str) -> bool:
    return character != "\t" and (unicodedata.category(character) in _HIDDEN or _BLANK.match(character) is not None)


def _joins(character: str, before: str, after: str) -> bool:
    """Whether a joiner visibly changes its neighbours."""
    if character in (_JOINER, _NON_JOINER) and unicodedata.combining(before) == _VIRAMA:
        return True  # as in host names: RFC 5892, appendix A.1 and A.2
    if character == _JOINER:
        return _is_sign(before) and unicodedata.category(after) == "So"
    if character == _EMOJI:
        return unicodedata.category(before) in ("So", "Sm") or (before in "0123456789#*" and after == "\u20e3")
    return character == _NON_JOINER and unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"


def _is_sign(character: str) -> bool:
    return character == _EMOJI or unicodedata.category(character) in ("So", "Sk")


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if _is_hidden(character) else character


def shorten(text: str, most: int, *, at_word: bool = False) -> str:
    """Shorten a text to at most ``most`` characters, ellipsis included.

    ``at_word`` cuts at the end of a word if there is one in the second half.
    """
    if len(text) <= most:
        return text
    shortened = text[: max(0, most - 1)]
    if at_word:
        end = shortened.rfind(" ")
        shortened = (shortened[:end] if end > most // 2 else shortened).rstrip(" ,;:.-")
    return shortened + "…"


_RAW_BYTE = re.compile("(?<![\ud800-\udbff])[\udc80-\udcff]")
"""Python's surrogate for a byte of a file name, unless it is the second half of a pair."""
_SHOWN_BYTE = re.compile("⟨([89A-F][0-9A-F])⟩")


def readable_name(name: str) -> str:
    """A file name that can be shown and stored; a byte that is not UTF-8 becomes ``⟨E9⟩``.

    Different names stay different.
    """
    return _RAW_BYTE.sub(lambda found: f"⟨{ord(found[0]) - 0xDC00:02X}⟩", name)


def name_on_disk(shown: str) -> str:
    """The file system's name for a result of ``readable_name``."""
    return _SHOWN_BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), shown)


def is_storable_name(name: str) -> bool:
    """Whether a file name is valid text.

    Some systems allow any bytes, which neither the database nor a message can store.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def no_formula(text: str) -> str:
    """A CSV cell that a spreadsheet does not treat as a formula (OWASP, "CSV Injection").

    Spreadsheets for Chinese, Japanese and Korean accept the fullwidth signs too.
    """
    first = unicodedata.normalize("NFKC", text.lstrip(" \xa0\u3000")[:1])[:1]
    return f"'{text}" if first and first in "=+-@\t\r\n" else text
