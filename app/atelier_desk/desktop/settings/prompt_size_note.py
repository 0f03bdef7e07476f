"""The size of an agent's prompt in each tool mode, shown beside the choice of the mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.domain.agent import ToolMode
from atelier_desk.support.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.engine.services.request.prompt_size import PromptCost

_LINES = {
    ToolMode.DIRECT: N_("All at once: {tokens} tokens"),
    ToolMode.SECTIONS: N_("By section: {tokens} tokens"),
    ToolMode.INVOKE: N_("As a list: {tokens} tokens"),
}
_SAVED = {
    ToolMode.SECTIONS: N_("By section: {tokens} tokens, {percent}% less"),
    ToolMode.INVOKE: N_("As a list: {tokens} tokens, {percent}% less"),
}


class PromptCostNote(PlainLabel):
    """``agent-prompt-cost``: estimated tokens by mode, with the savings compared to all definitions at once.

    If tools are searched instead of listed, also their number and the tokens saved.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self.setObjectName("agent-prompt-cost")
        mark(self, "small")
        self.setWordWrap(True)
        self._costs: dict[ToolMode, PromptCost] = {}
        about = N_(
            "Estimated tokens that instructions and tools take up in every request of a workflow with a workspace "
            "folder. Tools found by search add to this."
        )
        bind_text(self, self._lines, name=N_("Tokens used by every request"), tip=about)
        self.hide()

    def show_costs(self, costs: Mapping[ToolMode, PromptCost]) -> None:
        """Show the size of each mode; none hides the note."""
        self._costs = dict(costs)
        bind_text(self)
        self.setVisible(bool(costs))

    def _lines(self) -> str:
        direct = self._costs[ToolMode.DIRECT].total if ToolMode.DIRECT in self._costs else 0
        lines = []
        for mode, cost in self._costs.items():
            percent = round(100 * (direct - cost.total) / direct) if direct else 0
            template = _SAVED[mode] if percent > 0 and mode in _SAVED else _LINES[mode]
            lines.append(_(template, tokens=number(cost.total), percent=number(percent)) + _searched(cost))
        return "\n".join(lines)


def _searched(cost: PromptCost) -> str:
    """What a figure excludes, in parentheses; empty if nothing."""
    if not cost.searched:
        return ""
    text = ngettext(
        "{count} tool is found by search when needed; listing it would take {tokens} tokens",
        "{count} tools are found by search when needed; listing them all would take {tokens} tokens",
        cost.searched,
        count=number(cost.searched),
        tokens=number(cost.listed),
    )
    return f" ({text})"
