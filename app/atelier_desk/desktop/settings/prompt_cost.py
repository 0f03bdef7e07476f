"""What an agent's prompt costs before anything is said, in each tool mode, beside the choice of that mode."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QLabel, QWidget

from atelier_desk.desktop.panes.wording import number
from atelier_desk.desktop.theme import mark
from atelier_desk.domain.agent import ToolMode
from atelier_desk.i18n import N_, _

_LINES = {
    ToolMode.DIRECT: N_("All at once: {tokens} tokens"),
    ToolMode.SECTIONS: N_("By section: {tokens} tokens"),
    ToolMode.INVOKE: N_("As a list: {tokens} tokens"),
}
_SAVED = {
    ToolMode.SECTIONS: N_("By section: {tokens} tokens, {percent} % less"),
    ToolMode.INVOKE: N_("As a list: {tokens} tokens, {percent} % less"),
}


class PromptCostNote(QLabel):
    """``agent-prompt-cost``: estimated tokens by mode, and what each saves against all definitions at once."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agent-prompt-cost")
        mark(self, "small")
        self.setWordWrap(True)
        self._costs: dict[ToolMode, int] = {}
        self.hide()

    def show_costs(self, costs: Mapping[ToolMode, int]) -> None:
        """Tokens by mode; none hide the note."""
        self._costs = dict(costs)
        self.retranslate()

    def retranslate(self) -> None:
        direct = self._costs.get(ToolMode.DIRECT, 0)
        lines = []
        for mode, tokens in self._costs.items():
            percent = round(100 * (direct - tokens) / direct) if direct else 0
            template = _SAVED[mode] if percent > 0 and mode in _SAVED else _LINES[mode]
            lines.append(_(template, tokens=number(tokens), percent=number(percent)))
        self.setText("\n".join(lines))
        self.setAccessibleName(_("Tokens each request costs before anything is said"))
        self.setToolTip(_("Estimated tokens each request costs before anything is said: instructions and tools"))
        self.setVisible(bool(lines))
