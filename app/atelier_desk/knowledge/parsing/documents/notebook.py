"""Notebooks: one section per cell, nested under the headings of Markdown cells; definitions and imports of the code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from atelier_desk.knowledge.parsing.documents import markdown
from atelier_desk.knowledge.parsing.errors import ParseError
from atelier_desk.knowledge.parsing.parsed_file import Parsed, Section
from atelier_desk.support.i18n import N_

CELLS = 5_000
CELL = 20_000
"""Maximum characters stored per cell."""
_MAGIC = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)


def read(text: str, code: Callable[[str, str], Parsed]) -> Parsed:
    """Parse a notebook. Lines are counted over the joined sources of all cells; ``code`` parses a language.

    Raises:
        ParseError: it is not JSON, or not a notebook.
    """
    language, sources = _cells(text)
    parsed = Parsed("document", "notebook")
    line, open_ = 1, list[tuple[int, int]]()
    whole: list[str] = []
    for kind, source in sources:
        count = source.count("\n") + 1
        if kind == "markdown":
            found = markdown.read(source)
            first = len(parsed.sections)
            for section in found.sections:
                while open_ and section.title and open_[-1][0] >= section.level:
                    open_.pop()
                parent = first + section.parent if section.parent >= 0 else open_[-1][1] if open_ else -1
                if section.title:
                    open_.append((section.level, len(parsed.sections)))
                parsed.sections.append(
                    section._replace(
                        parent=parent, start_line=section.start_line + line - 1, end_line=section.end_line + line - 1
                    )
                )
            parsed.links.extend(
                link._replace(section=first + link.section if link.section >= 0 else -1, line=link.line + line - 1)
                for link in found.links
            )
        elif source.strip():
            parsed.sections.append(
                Section(
                    source.strip().split("\n", 1)[0][:100],
                    7,
                    open_[-1][1] if open_ else -1,
                    line,
                    line + count - 1,
                    source[:CELL],
                )
            )
        whole.append(_MAGIC.sub("", source) if kind == "code" else "\n" * (count - 1))
        line += count
    parsed.lines = line - 1
    parsed.source = "\n".join(whole)
    inner = code(
        "python" if language not in {"javascript", "typescript", "rust", "go", "ruby", "bash"} else language,
        parsed.source,
    )
    parsed.scopes, parsed.imports, parsed.references, parsed.bindings = (
        inner.scopes,
        inner.imports,
        inner.references,
        inner.bindings,
    )
    return parsed


def plain(text: str) -> str:
    """Return the joined sources of all cells, in which the lines of ``read`` are counted.

    Raises:
        ParseError: it is not JSON, or not a notebook.
    """
    return "\n".join(source for _kind, source in _cells(text)[1])


def _cells(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the language of a notebook, and the type and source of each cell."""
    try:
        written: Any = json.loads(text)
        cells = written.get("cells") or [
            cell for sheet in written.get("worksheets", ()) for cell in sheet.get("cells", ())
        ]
        language = str(((written.get("metadata") or {}).get("kernelspec") or {}).get("language") or "python").lower()
        return language, [(str(cell.get("cell_type", "")), _source(cell)) for cell in cells[:CELLS]]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ParseError(N_("The notebook is not valid JSON."), code="broken") from error


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return text.replace("\0", "").rstrip("\n")
