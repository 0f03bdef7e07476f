"""Build the sections of a document from its headings, or from its paragraphs if it has none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from atelier_desk.knowledge.parsing.parsed_file import Link, Parsed, Section

GROUP = 2_000
"""Characters of paragraphs grouped into one section where there are no headings."""
LONGEST = 20_000
"""Maximum characters of a section; longer text continues in further sections of the same title."""
MOST = 20_000
"""Maximum number of sections per document."""


class Outline:
    """Builds sections. Add headings in order; rows count from 0; ``finish`` returns the sections."""

    def __init__(self, parsed: Parsed, lines: Sequence[str]) -> None:
        self.parsed, self.lines = parsed, lines
        self._headings: list[tuple[str, int, int, int]] = []
        self._rows: list[int] = []

    def heading(self, title: str, level: int, row: int, text_row: int) -> None:
        """Add a heading at a row; the text below it begins at ``text_row``."""
        if len(self._headings) < MOST:
            self._headings.append((" ".join(title.split())[:300], level, row, text_row))

    def finish(self) -> None:
        sections, open_ = self.parsed.sections, list[tuple[int, int]]()
        first = self._headings[0][2] if self._headings else len(self.lines)
        if any(line.strip() for line in self.lines[:first]):
            self._paragraphs("", 1, -1, 0, first)
        for number, (title, level, row, text_row) in enumerate(self._headings):
            end = self._headings[number + 1][2] if number + 1 < len(self._headings) else len(self.lines)
            while open_ and open_[-1][0] >= level:
                open_.pop()
            parent = open_[-1][1] if open_ else -1
            open_.append((level, len(sections)))
            text = "\n".join(self.lines[text_row:end]).strip()
            if len(text) <= LONGEST:
                sections.append(Section(title, level, parent, row + 1, max(end, row + 1), text))
            else:
                sections.append(Section(title, level, parent, row + 1, max(end, row + 1), ""))
                self._paragraphs(title, level + 1, len(sections) - 1, text_row, end, LONGEST)
        self._rows = [section.start_line for section in sections]

    def _paragraphs(self, title: str, level: int, parent: int, row: int, end: int, group: int = GROUP) -> None:
        begin, size = row, 0
        for at in range(row, end):
            line = self.lines[at]
            size += len(line) + 1
            if (not line.strip() and size >= group) or size >= LONGEST or at == end - 1:
                self._group(title, level, parent, begin, at + 1)
                begin, size = at + 1, 0

    def _group(self, title: str, level: int, parent: int, begin: int, end: int) -> None:
        text = "\n".join(self.lines[begin:end]).strip()
        for at in range(0, len(text), LONGEST):
            if len(self.parsed.sections) >= MOST:
                break
            part = text[at : at + LONGEST]
            self.parsed.sections.append(Section(title or _first(part), level, parent, begin + 1, end, part))

    def link(self, target: str, words: str, row: int, picture: bool) -> None:
        """Add a link or picture at a row, after the sections have been built."""
        if target and len(self.parsed.links) < MOST:
            section = bisect_right(self._rows, row + 1) - 1
            self.parsed.links.append(Link(target[:2_000], " ".join(words.split())[:300], section, row + 1, picture))


def _first(text: str) -> str:
    """Return the first line that contains words."""
    lines = (" ".join(line.split()) for line in text[:500].split("\n"))
    return next((line[:80] for line in lines if any(sign.isalnum() for sign in line)), "")
