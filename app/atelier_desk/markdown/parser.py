"""Parse Markdown that arrives in pieces without ever parsing everything again.

Only the open tail is parsed, and only up to its last newline; every block but the last of that parse can no
longer change and is frozen. That gives the same blocks as parsing the complete text at once (a property test
checks it); without the newline rule it does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from atelier_desk.markdown import syntax_extensions
from atelier_desk.markdown.math import add_math, open_formula

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

BlockKind = Literal["prose", "code", "table", "rule"]


_UNDECIDED = re.compile(r"(?<=\n)[ \t>]*[-=][-= \t]*\Z")
"""An unfinished line of nothing but dashes or equals signs below another line, which it would make a heading."""


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level block.

    Attributes:
        kind: ``code`` for fenced or indented code, ``table``, ``rule`` for a horizontal rule, and ``prose``
            for everything else.
        tokens: its markdown-it tokens.
        text: for code, the code without the final newline.
        language: for code, the first word of the fence's info string.
    """

    kind: BlockKind
    tokens: tuple[Token, ...]
    text: str = ""
    language: str = ""


@cache
def markdown() -> MarkdownIt:
    """The parser: CommonMark, tables, strikethrough, task lists, formulas, ``dialect``; no HTML."""
    parser = syntax_extensions.parser()
    parser.core.ruler.push("task_lists", _task_lists)
    add_math(parser)
    return parser


def parse(text: str, env: dict[str, object] | None = None) -> list[Block]:
    """All blocks of a complete text."""
    return _blocks(markdown().parse(text, env if env is not None else {}))[0]


@dataclass(slots=True)
class MarkdownStream:
    """The open tail of a text that arrives in pieces.

    ``feed`` adds text; ``advance`` returns the blocks that became final; ``open_blocks`` what is still open,
    with the unfinished last line, for display; ``finish`` makes everything final.
    """

    tail: str = ""
    _references: dict[str, object] = field(default_factory=dict)
    _parsed_to: int = 0

    def feed(self, text: str) -> None:
        self.tail += text

    def advance(self) -> list[Block]:
        """Blocks that can no longer change, in order; the rest stays in the tail."""
        end = self.tail.rfind("\n") + 1
        if end <= self._parsed_to:
            return []
        text = self.tail[:end]
        self._parsed_to = end
        blocks, starts = self._parsed(text, grows=True)
        whole = len(blocks) - 1
        opened = open_formula(text)
        while whole > 0 and starts[whole] > opened:  # everything from there may turn out to be one formula
            whole -= 1
        if whole < 1:
            return []
        self._cut(text, starts[whole])
        return blocks[:whole]

    def open_blocks(self) -> list[Block]:
        """The tail's blocks if it ended here; an open code block has complete lines only.

        A last line that could still become a list item, a rule, or the line below a heading is left out.
        """
        tail = _UNDECIDED.sub("", self.tail)
        if not tail.strip():
            return []
        blocks = self._parsed(tail, grows=True)[0]
        if blocks and blocks[-1].kind == "code" and not tail.endswith("\n"):
            end = tail.rfind("\n") + 1
            whole = self._parsed(tail[:end], grows=True)[0] if end else []
            if whole and whole[-1].kind == "code":
                return whole
        return blocks

    def finish(self) -> list[Block]:
        """The remaining blocks, all final."""
        blocks = self._parsed(self.tail, grows=False)[0]
        self.tail, self._parsed_to = "", 0
        return blocks

    def _parsed(self, text: str, *, grows: bool) -> tuple[list[Block], list[int]]:
        """Blocks and their first lines.

        While text arrives, nested fences stay open (``syntax_extensions.GROWS``).
        """
        return _blocks(markdown().parse(text, {"references": {**self._references}, "grows": grows}))

    def _cut(self, text: str, line: int) -> None:
        position = 0
        for _ in range(line):
            position = text.index("\n", position) + 1
        if "]:" in text[:position]:  # link definitions; those in unfinished lines are not known yet
            markdown().parse(text[:position], {"references": self._references})
        self.tail = self.tail[position:]
        self._parsed_to = len(text) - position


def _blocks(tokens: list[Token]) -> tuple[list[Block], list[int]]:
    """Group tokens into top-level blocks; also each block's first line."""
    blocks: list[Block] = []
    starts: list[int] = []
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            starts.append((group[0].map or [0])[0])
            blocks.append(_block(group))
            group = []
    return blocks, starts


def _block(group: list[Token]) -> Block:
    first = group[0]
    if first.type in {"fence", "code_block"}:
        words = first.info.split()
        return Block("code", tuple(group), first.content.removesuffix("\n"), words[0] if words else "")
    if first.type == "hr":
        return Block("rule", tuple(group))
    return Block("table" if first.type == "table_open" else "prose", tuple(group))


_BOX = re.compile(r"\[([ xX])\]\s+(?=\S)")


def _task_lists(state: StateCore) -> None:
    """``- [ ] to do``: move the checkbox from the item's text to ``checked`` in its ``meta``."""
    tokens = state.tokens
    for index in range(2, len(tokens)):
        inline = tokens[index]
        if (
            inline.type != "inline"
            or tokens[index - 1].type != "paragraph_open"
            or tokens[index - 2].type != "list_item_open"
        ):
            continue
        first = inline.children[0] if inline.children else None
        box = _BOX.match(first.content) if first is not None and first.type == "text" else None
        if first is not None and box is not None:
            first.content = first.content[box.end() :]
            inline.content = inline.content[box.end() :]
            tokens[index - 2].meta = {**tokens[index - 2].meta, "checked": box[1] != " "}
