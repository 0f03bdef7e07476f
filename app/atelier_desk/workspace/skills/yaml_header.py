"""Markdown with a YAML header between two ``---`` lines, the format of skills, commands and agents. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from yaml import YAMLError

LONGEST = 16 * 1024
"""Maximum characters of a header."""
_BEGINS = re.compile(r"\A---[ \t]*(?:\n|\Z)")
_HEADER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
MOST_NESTED = 100
"""Maximum opened brackets in a header: each costs the parser more than the one before."""
_LINE = re.compile(r"([ ]*(?:-[ ]+)?[A-Za-z][\w-]*):[ \t]+(?![|>#&!])(\S.*)")
"""A field with its value on the same line."""
_FIELD = re.compile(r"[A-Za-z][\w-]*:(?:[ \t]|$)")
_PLAIN_FIELD = re.compile(r"[A-Za-z][\w-]*:[ \t]+[^|>\s].*")
"""A field with its value."""
_TIGHT = re.compile(r"([A-Za-z][\w-]*):(?!//)([^\s:].*)")
"""A field without a space after its colon, except addresses."""
_APOSTROPHES = re.compile(r"'((?:[^']|(?<=\w)'(?=\w))*)'")
"""Text in single quotes with apostrophes inside words."""
_BLOCK = re.compile(r":[ \t]*[|>][+-]?[0-9]?[ \t]*$")
"""End of a field whose value is on the lines below."""
_MOST_BLOCK = 80
"""Characters at a line's end that are searched for it; otherwise very long lines would take quadratic time."""
_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*[ \t]*\n(.*)\n\1", re.DOTALL)
_MARKS = tuple("\"'[{*")
"""Values beginning so are not plain YAML text: they stay if they parse by themselves."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file.

    Attributes:
        fields: of the header; every value is text, a list or a mapping of such (``true`` and ``12`` are text too).
            Empty without a header.
        body: the rest, without surrounding blank lines.
        repaired: the header was only valid YAML after quoting values.
    """

    fields: Mapping[str, object] = field(default_factory=dict)
    body: str = ""
    repaired: bool = False

    def text(self, name: str) -> str:
        """Return a field as one line of text, lists joined by commas; empty if missing."""
        value = self.fields.get(name)
        if isinstance(value, list):
            return ", ".join(each for each in value if isinstance(each, str))
        return " ".join(value.split()) if isinstance(value, str) else ""

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field as names: a list, or text separated by commas or spaces outside parentheses."""
        value = self.fields.get(name)
        if isinstance(value, list):
            return tuple(each.strip() for each in value if isinstance(each, str) and each.strip())
        return split_names(value) if isinstance(value, str) else ()

    def flag(self, name: str, otherwise: bool) -> bool:
        """Return a boolean field."""
        text = self.text(name).casefold()
        return text in ("true", "yes", "on", "1") if text else otherwise


_NAMES = re.compile(r"(?:[^\s,(]|\([^)]*\)?)+")


def split_names(text: str) -> tuple[str, ...]:
    """Split names: ``Bash(git add:*), Read`` gives two."""
    return tuple(_NAMES.findall(text))


def read(text: str) -> Document:
    """Parse a file. A header with unquoted colons or brackets in values, as people write them, is parsed with values
    quoted.

    Raises:
        UsageError: the header does not end, is not YAML, or is not a mapping.
    """
    text = _without_fence(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    if not _BEGINS.match(text):
        return Document(body=text.strip())
    found = _HEADER.match(text)
    if found is None:
        raise UsageError(N_("The header has no end: its closing line --- is missing."), code="header")
    header, body = found[1], text[found.end() :].strip()
    if header.count("[") + header.count("{") > MOST_NESTED:
        raise UsageError(N_("The header is not YAML: {detail}"), code="header", detail="nested too deeply")
    if len(header) > LONGEST:
        raise UsageError(N_("The header is longer than {most} characters."), code="header", most=LONGEST)
    try:
        return Document(_fields(header), body)
    except ValueError as error:
        for mended in (_quoted(header), _quoted(_straightened(header))):
            try:
                return Document(_fields(mended), body, repaired=True)
            except (ValueError, UsageError):
                continue
        raise UsageError(N_("The header is not YAML: {detail}"), code="header", detail=str(error)) from None
    except UsageError:
        try:
            return Document(_fields(_quoted(_straightened(header))), body, repaired=True)
        except ValueError:
            pass
        raise


def _fields(header: str) -> dict[str, object]:
    value = _loaded(header)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise UsageError(N_("The header is not a list of names and values, such as “name: my-skill”."), code="header")
    return {name: each for name, each in value.items() if isinstance(name, str)}


def _without_fence(text: str) -> str:
    """Remove a code fence around the whole file, as Copilot writes agents into its chat, and leading blank lines."""
    found = _FENCE.fullmatch(text.strip())
    inner = (found[2] if found is not None else text).lstrip("\n \t")
    return inner if _BEGINS.match(inner) else text


def _straightened(header: str) -> str:
    """Normalise lines for YAML: no tabs before a field, a space after its colon, continuation lines indented."""
    lines: list[str] = []
    for written in header.split("\n"):
        text = written.lstrip(" \t")
        line = written[: len(written) - len(text)].replace("\t", "  ") + text
        if (tight := _TIGHT.fullmatch(line)) is not None:
            line = f"{tight[1]}: {tight[2]}"
        if line.startswith(" ") and lines and _FIELD.match(line.lstrip()) and _PLAIN_FIELD.fullmatch(lines[-1]):
            line = line.lstrip()  # nothing can be nested below a value: it is the next field
        begins = line.startswith(("-", "#", " ")) or not line.strip() or _FIELD.match(line) is not None
        if begins or not lines:
            lines.append(line)
        elif lines[-1].startswith(" ") or _BLOCK.search(lines[-1], max(0, len(lines[-1]) - _MOST_BLOCK)):
            lines.append(f"  {line}")
        else:
            lines[-1] += f" {line}"
    return "\n".join(lines)


def _quoted(header: str) -> str:
    return "\n".join(map(_quoted_line, header.split("\n")))


def _quoted_line(line: str) -> str:
    """Quote the value of a line: a plain one, or a complete one that is not YAML, such as ``[file] [focus]``."""
    found = _LINE.fullmatch(line.rstrip())
    if found is None or (found[2].startswith(_MARKS) and (_open(found[2]) or _readable(found[2]))):
        return line
    value = found[2]
    if (apostrophes := _APOSTROPHES.fullmatch(value)) is not None:
        value = apostrophes[1]
    return f"{found[1]}: {json.dumps(value, ensure_ascii=False)}"


def _open(value: str) -> bool:
    return any(value.count(begins) > value.count(ends) for begins, ends in ("[]", "{}"))


def _readable(value: str) -> bool:
    try:
        _loaded(value)
    except ValueError:
        return False
    return True


def _loaded(text: str) -> object:
    """Return the value of YAML: only texts, lists and mappings.

    Raises:
        ValueError: it is none; says why, with the line number in the file.
    """
    import yaml  # slow to import, and needed only with a header

    try:
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except yaml.YAMLError as error:
        raise ValueError(_error_text(error)) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _error_text(error: YAMLError) -> str:
    """Return the parser's message in one line, with the line number in the file."""
    problem = getattr(error, "problem", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    return f"{' '.join(str(problem).split())}" + (f" (line {mark.line + 2})" if mark is not None else "")
