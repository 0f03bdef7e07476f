"""Formulas: ``$$…$$``, ``\\[…\\]``, ``\\(…\\)``, and ``$…$`` where it is not money.

They are stored as written, with delimiters; ``body_of`` removes them for rendering.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

_MARKS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_BLOCK_MARKS = {"$$": "$$", "\\[": "\\]"}
_COMMANDS = re.compile(r"\\(?:text|mathrm|operatorname|mbox)\s*\{[^{}]*\}|\\[A-Za-z]+")
_TWO_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}\s+[^\W\d_]{2,}")
"""The lookbehind keeps the time linear for one long word."""
_SHORT = re.compile(r"[^\W_]{1,2}(?:\s*,\s*[^\W_]{1,2})*|\d+(?:[.,]\d+)?")
_SIGNS = set("\\^_={}<>+-*/()|'!≤≥≠±×÷∈∞√∑∫→")


def add_math(parser: MarkdownIt) -> None:
    """Add this module's rules to a parser."""
    parser.block.ruler.before(
        "fence", "math_block", _math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("escape", "math", _math_inline)


def open_formula(text: str) -> int:
    """First line since the last blank line that may begin an unclosed formula.

    If there is none, the number of lines. Until the formula ends, its lines may look like headings or lists.
    """
    lines = text.split("\n")
    last = len(lines) - (2 if text.endswith("\n") else 1)
    found = len(lines)
    while last >= 0 and lines[last].strip():
        if lines[last].lstrip().startswith(tuple(_BLOCK_MARKS)):
            found = last
        last -= 1
    return found


def body_of(source: str) -> tuple[str, bool]:
    """A formula without delimiters, and whether it is a block."""
    for opening, closing in _MARKS:
        if source.startswith(opening) and source.endswith(closing) and len(source) >= len(opening) + len(closing):
            return source[len(opening) : len(source) - len(closing)].strip(), opening in _BLOCK_MARKS
    return source, False


def is_math(body: str) -> bool:
    """Whether text between single dollars or escaped brackets is a formula, not prose or prices."""
    words = _COMMANDS.sub(" ", body)
    if _TWO_WORDS.search(words) or body.count("{") != body.count("}"):
        return False
    if (
        body[0].isdigit()
        and "\\" not in body
        and (body.count("(") != body.count(")") or re.search(r"\s[^\W\d_]{2,}", words))
    ):
        return False
    return bool(_SIGNS & set(body)) or _SHORT.fullmatch(body) is not None


_LONGEST, _MOST_LINES = 4_000, 100
"""Characters of an inline formula, and lines of a block formula.

They bound the search for an end that never comes, at each delimiter and in each line.
"""


def _math_inline(state: StateInline, silent: bool) -> bool:
    """Parse an inline formula; ``_`` and ``*`` mean nothing in it."""
    source, start = state.src, state.pos
    if source[start] not in "$\\":
        return False
    for opening, closing in _MARKS:
        if not source.startswith(opening, start):
            continue
        end = source.find(closing, start + len(opening), min(state.posMax, start + _LONGEST))
        body = source[start + len(opening) : end] if end > 0 else ""
        if not body.strip() or (opening == "$" and not _strict(source, start, end)):
            continue
        if opening == "\\[" and not is_math(body.strip()):
            continue
        if not silent:
            token = state.push("math_inline", "math", 0)
            token.content = source[start : end + len(closing)]
        state.pos = end + len(closing)
        return True
    return False


def _strict(source: str, start: int, end: int) -> bool:
    """Whether ``$…$`` is a formula.

    No letter or digit touches it outside, no space inside, and it contains what formulas contain.
    """
    body, before, after = source[start + 1 : end], source[start - 1 : start], source[end + 1 : end + 2]
    if body[0].isspace() or body[-1].isspace() or "\n" in body or body[-1] == "\\":
        return False
    if before.isalnum() or after.isalnum() or "$" in (before, after):
        return False
    return is_math(body)


def _math_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Parse a formula that begins and ends a line and has no blank line.

    Later text can then not change it.
    """
    if state.is_code_block(start_line):
        return False
    first = _line(state, start_line)
    closing = _BLOCK_MARKS.get(first[:2])
    if closing is None:
        return False
    lines, last = [first], start_line
    while not _ends(lines, closing):
        last += 1
        if last >= min(end_line, start_line + _MOST_LINES) or closing in lines[-1][2 if len(lines) == 1 else 0 :]:
            return False
        lines.append(_line(state, last))
        if not lines[-1].strip() or state.sCount[last] < state.blkIndent:
            return False
    source = "\n".join(lines).rstrip()
    if closing in source[2:-2] or not source[2:-2].strip():
        return False
    if silent:
        return True
    state.line = last + 1
    token = state.push("math_block", "math", 0)
    token.block, token.content, token.map = True, source, [start_line, state.line]
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _ends(lines: list[str], closing: str) -> bool:
    return lines[-1].rstrip().endswith(closing) and (len(lines) > 1 or len(lines[0].rstrip()) >= 4)
