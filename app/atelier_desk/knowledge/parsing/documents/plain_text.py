"""Other text.

Underlined or numbered headings (reStructuredText, AsciiDoc, plain text), otherwise groups of paragraphs.
"""

from __future__ import annotations

import re

from atelier_desk.knowledge.parsing.documents.sections import Outline
from atelier_desk.knowledge.parsing.parsed_file import Parsed

_UNDERLINE = re.compile(r"([=\-~^\"'`*+#.:_])\1{2,}\s*$")
_MARKED = re.compile(r"(={1,6}|\*{1,6})\s+(\S.{0,200}?)\s*$")
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)\.?\s+([A-ZÀ-Ý][^.!?;,]{2,80})$")
_ADDRESS = re.compile(r"`([^`<>]{0,200})<([^<>`\s]{1,1000})>`_|(https?://[^\s<>\"')\]]{3,1000})")


def read(text: str, language: str = "text") -> Parsed:
    parsed = Parsed("document", language)
    lines = text.splitlines()
    parsed.lines = len(lines)
    outline = Outline(parsed, lines)
    levels: dict[str, int] = {}
    for row, line in enumerate(lines):
        if not line or len(line) > 300:
            continue
        above = lines[row - 1].strip() if row else ""
        if line[0] in "=-~^\"'`*+#.:_" and (match := _UNDERLINE.match(line)):
            if (
                above
                and len(above) <= 200
                and len(line.rstrip()) >= min(len(above), 4)
                and not _UNDERLINE.match(above)
                and not lines[row - 1][0].isspace()
            ):
                before = lines[row - 2] if row > 1 else ""
                over = before.strip() == line.strip()
                if over or not before.strip():
                    level = levels.setdefault(match[1] + ("2" if over else ""), len(levels) + 1)
                    outline.heading(above, level, row - 2 if over else row - 1, row + 1)
        elif line[0] == "=" and (match := _MARKED.match(line)):
            outline.heading(match[2], len(match[1]), row, row + 1)
        elif (
            line[0].isdigit()
            and not above
            and (row + 1 == len(lines) or not lines[row + 1].strip())
            and (match := _NUMBERED.match(line))
        ):
            outline.heading(line.strip(), match[1].count(".") + 1, row, row + 1)
    outline.finish()
    for row, line in enumerate(lines):
        if "://" in line or "`_" in line:
            for match in _ADDRESS.finditer(line[:20_000]):
                outline.link((match[2] or match[3]).rstrip(".,;"), match[1] or "", row, False)
    return parsed
