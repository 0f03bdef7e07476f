"""Rows of search everywhere: the kind of result, and an excerpt with the matches highlighted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.chat.markdown.plain_text import excerpt_line
from atelier_desk.desktop.theme.icons import known
from atelier_desk.desktop.widgets.date_format import moment
from atelier_desk.desktop.widgets.list_rows import ListRow
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.storage.repositories import SearchHit

_ICONS = {"message": "message-square", "tool_execution": "terminal", "report": "file-text", "memory": "brain"}


def who(hit: SearchHit) -> str:
    """The kind of a hit in words: who wrote it, what a call did, or the type of item."""
    if hit.kind == "message":
        return hit.who or (_("Message to {agent}", agent=hit.to) if hit.to else _("You"))
    if hit.kind == "tool_execution":
        text = hit.presentation.words(over=True).localized(_) if hit.presentation.summary.text else ""
        return text or _(hit.presentation.title) or hit.tool
    return {"report": _("Report"), "memory": _("Memory")}.get(hit.kind, hit.kind)


def spoken(hit: SearchHit) -> str:
    """The row's text for a screen reader."""
    return ", ".join(filter(None, (who(hit), moment(hit.at), hit_text(hit))))


def hit_text(hit: SearchHit) -> str:
    """The excerpt in one line. Arguments of calls are not Markdown."""
    return " ".join(hit.excerpt.split()) if hit.kind == "tool_execution" else excerpt_line(hit.excerpt)


def hit_row(hit: SearchHit, needle: str) -> ListRow:
    """A row with kind, date and the excerpt around the match."""
    icon = known(hit.presentation.icon) if hit.kind == "tool_execution" else _ICONS.get(hit.kind, "search")
    return ListRow(
        who(hit),
        end=moment(hit.at),
        lines=(hit_text(hit),),
        needle=needle,
        icon=icon,
        weight=600,
        accessible_text=spoken(hit),
    )
