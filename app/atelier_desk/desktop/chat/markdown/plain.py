"""The words of a Markdown text: as they are read, copied and spoken, without the marks that shape them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from atelier_desk.markdown.parser import Block, markdown, parse
from atelier_desk.support.text import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

_HALVES = re.compile(r"\*{2,}|~~|`+|(?<=\S)\*(?!\S)|(?<!\S)(?:\*(?=\S)|#{1,6}(?!\S)|\|(?=\s))|\|(?!\S)")
"""Marks that are left when the other half of a pair was cut off, and those of headings and tables within a line."""
_READ = 1_000
"""Characters that are parsed for one line: none shows more."""


def plain_text(markdown: str) -> str:
    """The text as it is drawn: marks and link targets left out, list items with their marks, table cells parted by tabs, code as it is."""
    return "\n\n".join(text for block in parse(markdown) if (text := _block(block)))


def spoken_text(markdown: str) -> str:
    """The same without code, which nobody wants to hear."""
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
            lines += [indent + (mark if number == 0 else " " * len(mark)) + line for number, line in enumerate(text.split("\n"))]
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
    """The words of inline tokens; a picture is its alternative text, and all of code is visible."""
    breaks = {"softbreak": " ", "hardbreak": "\n"}
    return "".join(visible(token.content) if token.type == "code_inline" else breaks.get(token.type, token.content) for token in tokens)


def one_line(text: str) -> str:
    """The words in one line, for lists and tooltips, all of them visible; of a long text the beginning."""
    return _one_line(text[:_READ]) if text else ""


def excerpt_line(text: str) -> str:
    """The same of a part that was cut out of a text, with its ellipses: marks whose other half is missing go too."""
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
