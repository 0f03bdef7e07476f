"""Markdown as plain text, for reading, copying and speaking."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from atelier_desk.markdown.parser import Block, markdown, parse
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

_HALVES = re.compile(r"\*{2,}|~~|`+|(?<=\S)\*(?!\S)|(?<!\S)(?:\*(?=\S)|#{1,6}(?!\S)|\|(?=\s))|\|(?!\S)")
"""Unpaired marks left by cutting a text, and marks of headings and tables within a line."""
_READ = 1_000
"""Characters parsed for a single line: none shows more."""


def plain_text(markdown: str) -> str:
    """The text as rendered, without marks and link targets.

    List items have markers, table cells are separated by tabs, code is unchanged.
    """
    return "\n\n".join(text for block in parse(markdown) if (text := _block(block)))


def spoken_text(markdown: str) -> str:
    """The same without code, which is of no use when read aloud."""
    return "\n\n".join(text for block in parse(markdown) if block.kind != "code" and (text := _block(block)))


def _block(block: Block) -> str:
    if block.kind == "code":
        return block.text
    lines: list[str] = []
    counters: list[int | None] = []
    mark = ""
    row: list[str] | None = None
    for token in block.tokens:
        kind = token.type
        if kind == "bullet_list_open":
            counters.append(None)
        elif kind == "ordered_list_open":
            start = token.attrGet("start")
            counters.append(int(start) if isinstance(start, int) else 1)
        elif kind in {"bullet_list_close", "ordered_list_close"}:
            counters.pop()
        elif kind == "list_item_open":
            mark = _mark(token, counters)
        elif kind == "tr_open":
            row = []
        elif kind == "tr_close" and row is not None:
            lines.append("\t".join(row))
            row = None
        elif kind == "inline" and row is not None:
            row.append(inline_text(token.children or []).replace("\n", " "))
        elif kind in {"inline", "fence", "code_block", "math_block"}:
            text = inline_text(token.children or []) if kind == "inline" else token.content.removesuffix("\n")
            indent = "  " * max(0, len(counters) - 1)
            lines += [
                indent + (mark if number == 0 else " " * len(mark)) + line
                for number, line in enumerate(text.split("\n"))
            ]
            mark = ""
    return "\n".join(lines)


def _mark(item: Token, counters: list[int | None]) -> str:
    number = counters[-1]
    if number is not None:
        counters[-1] = number + 1
    checked = item.meta.get("checked")
    box = "" if checked is None else "[x] " if checked else "[ ] "
    return (f"{number}. " if number is not None else "- ") + box


def inline_text(tokens: Sequence[Token]) -> str:
    """The text of inline tokens.

    An image becomes its alternative text, and hidden characters in code become visible.
    """
    breaks = {"softbreak": " ", "hardbreak": "\n"}
    return "".join(
        visible(token.content) if token.type == "code_inline" else breaks.get(token.type, token.content)
        for token in tokens
    )


def one_line(text: str) -> str:
    """The text in one line, for lists and tool tips, with hidden characters visible; long texts are cut."""
    return _one_line(text[:_READ]) if text else ""


def excerpt_line(text: str) -> str:
    """The same for an excerpt with ellipses: unpaired marks are removed too."""
    body = text.removeprefix("…")
    line = " ".join(_HALVES.sub("", one_line(body)).split())
    return f"…{line}" if len(body) < len(text) else line


@lru_cache(maxsize=4096)
def _one_line(text: str) -> str:
    return visible(" ".join("".join(_words(markdown().parse(text))).split()))


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        yield inline_text(token.children) if token.children is not None else token.content
        yield " "
