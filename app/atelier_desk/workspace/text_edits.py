r"""Edit a text: replace exact passages, replace lines after checking them, append. Pure; nothing is matched fuzzily.

Line ends are not content: a passage written with ``\\n`` matches in a file with ``\\r\\n``, and its replacement gets
the file's line ends. In a file with mixed line ends, unchanged lines keep their own.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.text_files import Text, pieces

_ENDS = re.compile(r"\r\n|\n|\r")
_NEAR_LINES = 20_000
"""Maximum lines searched for a near match."""
_SHOWN = 12
"""Maximum lines of the file shown by a failed edit."""
_WIDE = 200
_MATCHED = 5_000
"""Maximum changed lines in which unchanged ones are detected; beyond it each line gets the line end at its position."""


def replaced(file: Text, old: str, new: str, *, every: bool = False, path: str = "", number: str = "") -> Text:
    """Replace a passage that occurs exactly once (with ``every``: at least once).

    Raises:
        ToolError: ``not_found`` with the nearest lines, ``not_unique`` with the lines of each match, ``no_change``.
    """
    if not old:
        raise ToolError(
            f"{number}old_string is empty. To add text, repeat a line that is there, or use append.",
            code="invalid_arguments",
        )
    if old == new:
        raise ToolError(f"{number}old_string and new_string are the same: nothing would change.", code="no_change")
    pattern = re.compile(_exactly(old))
    spans = [match.span() for match in pattern.finditer(file.text)]
    if not spans:
        raise ToolError(
            "{text}", code="no_match", text=f"{number}old_string does not occur in {path}. {nearest(file, old)}"
        )
    if len(spans) > 1 and not every:
        lines = ", ".join(str(_line_of(file.text, start)) for start, _end in spans[:20])
        where = f"occurs {len(spans)} times in {path}, at lines {lines}"
        more = "Add lines around it until it is unique, or set replace_all."
        raise ToolError("{text}", code="not_unique", text=f"{number}old_string {where}. {more}")
    return file.with_text(pattern.sub(lambda match: fitted(file, match[0], new), file.text))


def with_lines(file: Text, start: int, end: int, expected: str, new: str, path: str) -> Text:
    """Replace the lines ``start`` to ``end`` (from 1, inclusive), which must equal ``expected``; an empty ``new``
    deletes them.

    Raises:
        ToolError: ``bad_range``, or ``changed`` with the present lines.
    """
    lines = file.lines
    if not 1 <= start <= end <= len(lines):
        raise ToolError(
            "{path} has {count} lines: {start} to {end} are none of them.",
            code="bad_range", path=path, count=len(lines), start=start, end=end,
        )  # fmt: skip
    now, wanted = lines[start - 1 : end], Text(expected).lines or [""]
    if now != wanted:
        shown = numbered(now[:_SHOWN], start)
        raise ToolError(
            "{text}",
            code="no_match",
            text=f"Lines {start} to {end} of {path} are not what expected says. They are:\n{shown}",
        )
    there = pieces(file.text)
    last = there[end - 1]
    ending = last[len(lines[end - 1]) :]
    fitting = fitted(file, "".join(there[start - 1 : end]), new)
    if fitting and not re.search(r"[\r\n]$", fitting):
        fitting += ending
    elif fitting and not ending:
        fitting = re.sub(r"(\r\n|\n|\r)$", "", fitting)
    return file.with_text("".join(there[: start - 1]) + fitting + "".join(there[end:]))


def appended(file: Text, text: str) -> Text:
    """Append lines; whether the file ends in a newline stays as it was."""
    ended = not file.text or file.text.endswith(("\n", "\r"))
    joined = file.text + ("" if ended else file.newline) + file.with_ends(text)
    if ended and file.text and not joined.endswith(("\n", "\r")):
        joined += file.newline
    return file.with_text(joined)


def rewritten(file: Text, content: str) -> Text:
    """Replace the whole content, keeping encoding, line ends and a final newline."""
    text = fitted(file, file.text, content) if file.text else content
    if file.text.endswith(("\n", "\r")) and text and not text.endswith(("\n", "\r")):
        text += file.newline
    return file.with_text(text)


def fitted(file: Text, old: str, new: str) -> str:
    """Return ``new`` with the line ends for replacing ``old``: unchanged lines keep their own."""
    if len(set(_ENDS.findall(file.text))) < 2:
        return file.with_ends(new)
    before, after = _split(old), _split(new)
    unchanged: dict[int, int] = {}
    for mine, theirs, count in _same([line for line, _end in before], [line for line, _end in after]):
        unchanged |= zip(range(theirs, theirs + count), range(mine, mine + count), strict=True)
    fitting, last = "", -1
    for index, (line, end) in enumerate(after):
        last = unchanged.get(index, min(last + 1, len(before) - 1))
        if end == "\r" != file.newline and index not in unchanged:
            fitting += line + end  # a carriage return within a line is data
        else:
            fitting += line + ((before[last][1] if before else "") or file.newline if end else "")
    return fitting


def _same(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Return the runs of equal lines: position in old, position in new, length."""
    most = min(len(old), len(new))
    first = next((index for index in range(most) if old[index] != new[index]), most)
    most -= first
    tail = next((index for index in range(most) if old[-1 - index] != new[-1 - index]), most)
    found = [(0, 0, first), (len(old) - tail, len(new) - tail, tail)]
    middle = old[first : len(old) - tail], new[first : len(new) - tail]
    if max(map(len, middle)) <= _MATCHED:
        matcher = difflib.SequenceMatcher(None, *middle, autojunk=False)
        found += [(first + mine, first + theirs, count) for mine, theirs, count in matcher.get_matching_blocks()]
    return found


def _split(text: str) -> list[tuple[str, str]]:
    """Return the lines of a text, each with its line end."""
    return [(piece.rstrip("\r\n"), piece[len(piece.rstrip("\r\n")) :]) for piece in pieces(text)]


def nearest(file: Text, old: str) -> str:
    """Describe the nearest match of a passage, with line numbers, for the model."""
    wanted = Text(old).lines
    lines = file.lines[:_NEAR_LINES]
    if not lines:
        return "The file is empty."
    stripped = [_folded(line) for line in lines]
    parts = [_folded(part) for part in wanted]
    best, score = -1, 0
    first = {text for text in parts if text}
    for start in (
        index - offset for index, line in enumerate(stripped) if line in first for offset in _offsets(parts, line)
    ):
        if start < 0:
            continue
        same = sum(
            1
            for mine, theirs in zip(parts, stripped[start : start + len(parts)], strict=False)
            if mine and mine == theirs
        )
        if same > score:
            best, score = start, same
    if best < 0:
        key = max(parts, key=len, default="")
        close = [line for line in stripped if key and key in line][:1]
        close = (
            close or difflib.get_close_matches(key, dict.fromkeys(stripped[:4_000]), n=1, cutoff=0.6)
            if key and len(key) < 500
            else []
        )
        if not close:
            return "Nothing like it is there. Read the file again and copy the passage exactly."
        best = max(0, stripped.index(close[0]) - parts.index(key))
    end = min(len(lines), best + max(1, len(wanted)))
    why = (
        " Only blanks at the beginnings or ends of lines differ."
        if [line.strip() for line in lines[best:end]] == [part.strip() for part in wanted]
        else _unseen(wanted, lines[best:end])
    )
    shown = numbered(lines[best : min(end, best + _SHOWN)], best + 1)
    return f"Nearly there is, at line {best + 1}:\n{shown}\n{f'{why} Copy the lines exactly.'.strip()}"


_EQUIVALENT_CHARACTERS = str.maketrans(
    {
        "‘": "'",
        "’": "'",
        "‚": "'",
        "‛": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "‟": '"',
        "‐": "-",
        "‑": "-",
        "–": "-",
        "—": "-",
        "−": "-",
    }
)


def _folded(line: str) -> str:
    """Normalise a line: composed accents, kinds of spaces, quotes and dashes, zero-width characters."""
    plain = unicodedata.normalize("NFKC", line).translate(_EQUIVALENT_CHARACTERS)
    return " ".join(
        "".join(each for each in plain if unicodedata.category(each) not in {"Cf", "Cc"} or each == "\t").split()
    )


def _unseen(wanted: list[str], there: list[str]) -> str:
    """Name the characters that differ in lines that look alike."""
    if not all(part in line for part, line in zip(map(_folded, wanted), map(_folded, there), strict=False)):
        return ""
    mine, theirs = "".join(wanted), "".join(there)
    lookalikes = {each for each in theirs if _folded(each) != each or unicodedata.category(each) == "Mn"} - {" "}
    only_there, only_mine = _named(lookalikes - set(mine)), _named(set(mine) - set(theirs))
    if not only_there and not only_mine:
        return ""
    notes = [f"the file has {only_there}" if only_there else "", f"old_string has {only_mine}" if only_mine else ""]
    return f" They look alike and differ: {'; '.join(part for part in notes if part)}."


def _named(characters: set[str]) -> str:
    strange = sorted(each for each in characters if not each.isascii() or not each.isalnum())[:6]
    return ", ".join(f"U+{ord(each):04X} {unicodedata.name(each, 'CONTROL CHARACTER')}" for each in strange)


def numbered(lines: Sequence[str], start: int) -> str:
    """Return lines with their numbers; long ones are cut."""
    return "\n".join(
        f"{number:>6}\t{line if len(line) <= _WIDE else line[:_WIDE] + '…'}" for number, line in enumerate(lines, start)
    )


def _offsets(parts: list[str], line: str) -> list[int]:
    return [offset for offset, part in enumerate(parts) if part == line][:3]


def _exactly(old: str) -> str:
    return r"(?:\r\n|\n|\r)".join(re.escape(part) for part in re.split(r"\r\n|\n|\r", old))


def _line_of(text: str, place: int) -> int:
    return len(re.findall(r"\r\n|\n|\r", text[:place])) + 1
