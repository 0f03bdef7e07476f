"""Rows of the project search: what was found where, with an excerpt around the match."""

from __future__ import annotations

from atelier_desk.desktop.projects.entity_icons import KIND_COLOURS, KIND_ICONS
from atelier_desk.desktop.widgets.list_rows import ListRow
from atelier_desk.domain.project import ProjectHit
from atelier_desk.presentation.project_text import describe, kind_word, place_word, title_word
from atelier_desk.storage.search_terms import word_places

PREVIEW_LINES = 2


def preview_lines(found: ProjectHit, needle: str) -> list[str]:
    """The most informative lines, at most two: those that match, else the first."""
    text = found.preview or found.entity.docstring or found.entity.signature
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    order = sorted(
        range(len(lines)),
        key=lambda at: (-len({lines[at][a:b].casefold() for a, b in word_places(lines[at], needle)}), at),
    )
    return [lines[at] for at in sorted(order[:PREVIEW_LINES])]


def spoken(found: ProjectHit) -> str:
    """The row's text for a screen reader."""
    return ", ".join(filter(None, (describe(found.entity), found.project, " ".join(found.preview.split())[:200])))


def result_row(found: ProjectHit, needle: str) -> ListRow:
    """Name and kind; project, path and line at the end; up to two lines of text below."""
    entity = found.entity
    return ListRow(
        title_word(entity),
        name=True,
        trailing=kind_word(entity),
        end=" · ".join(filter(None, (found.project, place_word(entity)))),
        lines=tuple(preview_lines(found, needle)),
        needle=needle,
        code=True,
        icon=KIND_ICONS[entity.kind],
        role=KIND_COLOURS[entity.kind],
        weight=600,
        accessible_text=spoken(found),
        tip=place_word(entity),
    )
