"""Markdown as one line of plain text, for lists and tooltips: its words without its marks."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from atelier_desk.desktop.chat.markdown.parser import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

_READ = 1_000
"""Characters that are parsed: no line shows more."""


def one_line(text: str) -> str:
    """The words of a Markdown text, each space one space; the beginning of a long one."""
    return _one_line(text[:_READ]) if text else ""


@lru_cache(maxsize=4096)
def _one_line(text: str) -> str:
    return " ".join("".join(_words(markdown().parse(text))).split())


def _words(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield token.content
        elif token.children is not None:
            yield from _words(token.children)
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        else:
            yield token.content
        if token.block:
            yield " "
