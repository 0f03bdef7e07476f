"""Syntax that models use beyond CommonMark.

Bare addresses, ``<br>``, emphasis next to CJK punctuation, nested fences, alerts and footnotes.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import fence, paragraph
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore

GROWS: Final = "grows"
"""Key of the parser's ``env``: True while text may follow that closes an open fence."""
ALERTS: Final = {
    "note": (N_("Note"), "accent"),
    "tip": (N_("Tip"), "ok"),
    "important": (N_("Important"), "accent"),
    "warning": (N_("Warning"), "warn"),
    "caution": (N_("Caution"), "err"),
}
"""Heading and bar colour of GitHub's alerts.

https://docs.github.com/en/get-started/writing-on-github
"""


def parser() -> MarkdownIt:
    """A parser for CommonMark with tables, strikethrough and this module's rules.

    Raw HTML stays text.
    """
    made = MarkdownIt()
    made.inline = _Inline()
    made.configure("commonmark", {"html": False, "linkify": True, "maxNesting": 100}).enable(["table", "strikethrough"])
    made.linkify = _Addresses()
    made.inline.ruler.enable("linkify")
    made.inline.ruler.before("link", "footnote", _footnote_mark)
    made.inline.ruler.before("html_inline", "line_break", _line_break)
    made.block.ruler.at("fence", _fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    made.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph"]})
    made.core.ruler.push("addresses", _addresses)
    made.core.ruler.push("alerts", _alerts)
    return made


_PATH = r"(?::\d{1,5})?(?:[/?#][^\s<>\"`{}|\\^、。，；：！？（）「」『』【】《》〈〉“”‘’]*)?"
_ADDRESS = re.compile(rf"https?://(?:[\w.-]+|\[[0-9a-f:.]+\]){_PATH}", re.ASCII | re.IGNORECASE)
"""Only ASCII in the host: Chinese and Japanese text follows an address without a space.

Its punctuation also ends an address.
"""
_SHORT = re.compile(
    rf"(?<![\w.@:/+-])(?:(?P<host>www(?:\.[a-z0-9_-]+)*\.[a-z0-9-]+(?!\.?[\w-]){_PATH})"
    r"|(?:mailto:)?[a-z0-9._+-]+@[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.[a-z][a-z0-9-]*(?<!-)(?![\w@-]|:\S))",
    re.ASCII | re.IGNORECASE,
)
"""GFM's extended autolinks, with two exceptions.

An e-mail address's last part begins with a letter (``react@18.2.0`` is a version), and no colon with a path
follows (``git@example.com:team/app.git``).
"""
_TAIL = ".,;:!?'*_~"


class _Address(NamedTuple):
    url: str


class _Addresses:
    """Finds addresses where markdown-it looks for one, without the punctuation that follows."""

    def match_at_start(self, text: str) -> _Address | None:
        found = _ADDRESS.match(text)
        return None if found is None else _Address(_without_tail(found[0]))


def _without_tail(url: str) -> str:
    while url[-1] in _TAIL or any(
        url.endswith(end) and url.count(end) > url.count(begin) for begin, end in ("()", "[]")
    ):
        url = url[:-1]
    return url


def _addresses(state: StateCore) -> None:
    """Turn ``www.`` and e-mail addresses into links, as GitHub does, but not ``_SHORT``'s."""
    for inline in state.tokens:
        if inline.type != "inline" or not ("@" in inline.content or "www." in inline.content.lower()):
            continue
        made: list[Token] = []
        depth = 0
        for token in inline.children or []:
            depth += token.nesting if token.type.startswith("link_") else 0
            made += [token] if depth or token.type != "text" else _linked(state.md, token)
        inline.children = made


def _linked(md: MarkdownIt, token: Token) -> list[Token]:
    """Split a text token at its addresses."""
    made, done = [], 0
    for found in _SHORT.finditer(token.content):
        shown = _without_tail(found[0])
        url = md.normalizeLink(
            ("http://" if found["host"] else "" if shown[:7].lower() == "mailto:" else "mailto:") + shown
        )
        link = Token("link_open", "a", 1, attrs={"href": url}, markup="linkify", info="auto", level=token.level)
        end = Token("link_close", "a", -1, markup="linkify", info="auto", level=token.level)
        words = (Token("text", "", 0, content=shown, level=token.level + 1),)
        before = token.content[done : found.start()]
        made += [*([Token("text", "", 0, content=before, level=token.level)] if before else ()), link, *words, end]
        done = found.start() + len(shown)
    rest = token.content[done:]
    return [*made, Token("text", "", 0, content=rest, level=token.level)] if made and rest else made or [token]


class _Inline(ParserInline):
    """The inline parser with the flanking rules of ``_State``."""

    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    """Inline state with flanking rules for CJK text, which has no spaces between words.

    CommonMark's rules with two changes, those of https://github.com/tats-u/markdown-cjk-friendly: CJK
    punctuation does not count as punctuation on the inner side, and any CJK character counts as a boundary on
    the outer side.
    """

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N803 - the library's names
        scanned = super().scanDelims(start, canSplitWord)
        before = self.src[start - 1] if start > 0 else " "
        end = start + scanned.length
        after = self.src[end] if end < self.posMax else " "
        if not (canSplitWord and (_is_cjk(before) or _is_cjk(after))):
            return scanned
        opens = not isWhiteSpace(ord(after)) and (not _ends_words(after) or _bounds(before))
        closes = not isWhiteSpace(ord(before)) and (not _ends_words(before) or _bounds(after))
        return Scanned(opens, closes, scanned.length)


def _is_cjk(char: str) -> bool:
    """Whether a character is as wide as a Chinese one and not an emoji."""
    return ord(char) > 0x1100 and unicodedata.east_asian_width(char) in "WFH" and unicodedata.category(char) != "So"


def _is_punctuation(char: str) -> bool:
    return isMdAsciiPunct(ord(char)) or isPunctChar(char)


def _ends_words(char: str) -> bool:
    return _is_punctuation(char) and not _is_cjk(char)


def _bounds(char: str) -> bool:
    return isWhiteSpace(ord(char)) or _is_punctuation(char) or _is_cjk(char)


_BREAK = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)
_NOTE = re.compile(r"\[\^(\d{1,3})\]")


def _line_break(state: StateInline, silent: bool) -> bool:
    found = _BREAK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _footnote_mark(state: StateInline, silent: bool) -> bool:
    """Parse ``[^1]``; only numbers, because ``[^a-z]`` is more often a regular expression."""
    found = _NOTE.match(state.src, state.pos)
    if found is None or state.src.startswith("(", found.end()):
        return False
    if not silent:
        state.push("footnote", "sup", 0).content = f"[{found[1]}]"
    state.pos = found.end()
    return True


def _footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse ``[^1]: text`` as a paragraph in place: while text arrives, the end is unknown."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if state.is_code_block(start) or not re.match(r"\[\^[^\s\]]{1,60}\]:", line):
        return False
    if silent:
        return True
    paragraph(state, start, end, False)
    inline = state.tokens[-2]
    if _NOTE.match(inline.content):
        inline.content = inline.content.replace("]:", "]", 1)
    return True


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$")
_MARKDOWN = {"markdown", "md", "mdx"}


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a fence of Markdown that contains fences of the same length, as models write them.

    Fences with a language open, bare ones close. If that finds no end, the first bare one is the end, as in
    CommonMark.
    """
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    opening = _FENCE.match(first)
    if silent or opening is None or opening[2].lower() not in _MARKDOWN or state.is_code_block(start):
        return fence(state, start, end, silent)
    last = _fence_end(state, start, end, opening[1])
    if last is None:
        return fence(state, start, end, False)
    token = state.push("fence", "code", 0)
    token.info, token.markup = first[len(opening[1]) :], opening[1]
    token.content = state.getLines(start + 1, last, state.sCount[start], True)
    state.line = min(last + 1, end)
    token.map = [start, state.line]
    return True


def _fence_end(state: StateBlock, start: int, end: int, marks: str) -> int | None:
    """The line that closes a fence, counting the fences inside; None without one.

    While text arrives, an open fence ends after its last line.
    """
    depth = 1
    for line in range(start + 1, end):
        if state.sCount[line] < state.blkIndent and state.bMarks[line] + state.tShift[line] < state.eMarks[line]:
            return None
        found = _FENCE.match(state.src[state.bMarks[line] : state.eMarks[line]].expandtabs(4)[state.blkIndent :])
        if found is not None and found[1].startswith(marks):
            depth += 1 if found[2] else -1
            if depth == 0:
                return line
    at_the_end = state.eMarks[end - 1] + 1 >= len(state.src)
    return end if at_the_end and state.env.get(GROWS) else None


_ALERT = re.compile(rf"\[!({'|'.join(ALERTS)})\]\s*$", re.IGNORECASE)


def _alerts(state: StateCore) -> None:
    """Replace ``> [!NOTE]`` on its own line by a bold heading.

    The quote's ``meta`` gets ``alert``.
    """
    tokens = state.tokens
    for index in range(2, len(tokens)):
        inline = tokens[index]
        if inline.type != "inline" or tokens[index - 2].type != "blockquote_open" or not inline.children:
            continue
        found = _ALERT.match(inline.content.split("\n", 1)[0])
        if found is None:
            continue
        kind = found[1].lower()
        tokens[index - 2].meta = {**tokens[index - 2].meta, "alert": kind}
        rest = _after_first_line(inline.children)
        title = [
            Token("strong_open", "strong", 1),
            Token("text", "", 0, content=_(ALERTS[kind][0])),
            Token("strong_close", "strong", -1),
        ]
        inline.children = title + ([Token("hardbreak", "br", 0), *rest] if rest else [])


def _after_first_line(tokens: Sequence[Token]) -> list[Token]:
    ends = next((index for index, token in enumerate(tokens) if token.type in {"softbreak", "hardbreak"}), len(tokens))
    return list(tokens[ends + 1 :])
