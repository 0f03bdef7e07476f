"""Markdown: headings, links, pictures."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from atelier_desk.knowledge.parsing.documents.sections import Outline
from atelier_desk.knowledge.parsing.parsed_file import Parsed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LIMIT = 1_000_000
"""Maximum number of characters parsed as Markdown.

Longer texts, or ones with lines over ``LINE``, are read for headings only: the cost of brackets in a paragraph is
quadratic.
"""
LINE = 10_000
BRACKETS = 3_000
"""Maximum number of opening brackets in a paragraph."""
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FRONT = re.compile(r"\A---\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?$\n?", re.MULTILINE | re.DOTALL)


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": 50}).enable("table")


def read(text: str) -> Parsed:
    parsed = Parsed("document", "markdown")
    lines = text.splitlines()
    parsed.lines = len(lines)
    outline = Outline(parsed, lines)
    front = _FRONT.match(text)
    skipped = front[0].count("\n") if front else 0
    if (
        len(text) > LIMIT
        or max(map(len, lines), default=0) > LINE
        or any(part.count("[") > BRACKETS for part in text.split("\n\n"))
    ):
        _plain(outline, lines, skipped)
        return parsed
    tokens = _reader().parse("\n" * skipped + "\n".join(lines[skipped:]))
    links: list[tuple[int, str, str, bool]] = []
    for place, token in enumerate(tokens):
        row = (token.map or [0])[0]
        if token.type == "heading_open" and token.level == 0:
            inline = tokens[place + 1]
            title = "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})
            end = (token.map or [row, row + 1])[1]
            outline.heading(title or inline.content, int(token.tag[1]), row, end)
        if token.type == "inline":
            for index, child in enumerate(token.children or ()):
                if child.type == "link_open":
                    parts = []
                    for after in (token.children or ())[index + 1 :]:
                        if after.type == "link_close":
                            break
                        parts.append(after.content)
                    links.append((row, str(child.attrs.get("href", "")), "".join(parts), False))
                elif child.type == "image":
                    links.append((row, str(child.attrs.get("src", "")), child.content, True))
    outline.finish()
    for row, target, words, picture in links:
        outline.link(target, words, row, picture)
    return parsed


def _plain(outline: Outline, lines: list[str], skipped: int) -> None:
    for row, line in enumerate(lines[skipped:], skipped):
        match = _HEADING.match(line[:500])
        if match:
            outline.heading(match[2], len(match[1]), row, row + 1)
    outline.finish()
