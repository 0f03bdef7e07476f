"""Usage of a team while it runs: tokens, share of the context window, cost, and share of its budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, hbox, label
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.presentation.rows.team_state import AgentUsage
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.locale_format import cost, duration, number, percent, tokens

if TYPE_CHECKING:
    from atelier_desk.desktop.team.model import TeamModel
    from atelier_desk.domain.agent import Budget
    from atelier_desk.domain.model_messages import Usage
    from atelier_desk.domain.stream.payloads import UsageTotals

NEARLY = 0.8
"""Share of a budget from which the bar shows a warning."""


@dataclass(frozen=True, slots=True)
class Share:
    """The used share of one limit."""

    name: str
    used: str
    cap: str
    part: float


def shares(usage: AgentUsage, budget: Budget) -> list[Share]:
    """The limits set in a budget, the most used first."""
    found: list[Share] = []

    def add(name: str, used: float, cap: float | None, text: Any) -> None:
        if cap is not None:
            found.append(Share(name, text(used), text(cap), used / cap if cap else 1.0))

    add(_("Cost"), usage.cost, budget.max_cost, cost)
    add(_("Tokens"), usage.tokens, budget.max_tokens, lambda value: tokens(int(value)))
    add(_("Time"), usage.elapsed_ms / 1000, budget.max_seconds, lambda value: duration(value * 1000))
    add(_("Tool calls"), usage.tool_calls, budget.max_tool_calls, number)
    return sorted(found, key=lambda share: -share.part)


class BudgetBar(QWidget):
    """``budget-bar``: a short bar, filled to the most used limit's share."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("budget-bar")
        self.part = 0.0
        self.hide()

    def show_part(self, part: float) -> None:
        self.part = part
        self.update()
        self.show()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(48), theme().px(6))

    minimumSizeHint = sizeHint

    def paintEvent(self, event: QPaintEvent) -> None:
        style = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        height = style.px(5)
        box = self.rect()
        box.setTop((self.height() - height) // 2)
        box.setHeight(height)
        painter.setBrush(style.colour("border"))
        painter.drawRoundedRect(box, height / 2, height / 2)
        role = "err" if self.part >= 1 else "warn" if self.part >= NEARLY else "accent"
        painter.setBrush(QColor(style.colour(role)))
        box.setWidth(max(height, round(box.width() * min(1.0, self.part))))
        painter.drawRoundedRect(box, height / 2, height / 2)
        painter.end()


class UsageMeter(QWidget):
    """``status-usage`` and its bar: the cost, or the tokens if no cost is known, and the share that the bar shows:
    that of the most used limit, or of the context window if there is no limit.

    ``brief`` leaves out that share, for a narrow header.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sums: dict[str, int] = {}
        self._cost: float | None = 0.0
        self._context = (0, 0)
        self._usage: AgentUsage | None = None
        self._budget: Budget | None = None
        self._caps: list[Share] = []
        self.brief = False
        self.text = control(label("", "small", self), "status-usage")
        self.bar = BudgetBar(self)
        hbox(self, self.bar, self.text, spacing=8)
        bind(self.bar.updateGeometry)
        bind(self._show)

    def full_width(self) -> int:
        """Pixels needed to show everything."""
        bar = 0 if self.bar.isHidden() else self.bar.sizeHint().width() + 8
        return self.text.fontMetrics().horizontalAdvance(self._words(False)) + bar

    def set_brief(self, brief: bool) -> None:
        if brief != self.brief:
            self.brief = brief
            self._show()

    def show_usage(self, usage: Usage | None, context_tokens: int = 0, context_window: int = 0) -> None:
        """Show a workflow's stored totals; None for no usage."""
        self._usage = self._budget = None
        self._sums = {"in": usage.tokens_input, "out": usage.tokens_output} if usage is not None else {}
        self._cost = usage.known_cost if usage is not None else 0.0
        self._context = (context_tokens, context_window)
        self._show()

    def know_window(self, tokens: int) -> None:
        """Set the context window of the model that answers next, in tokens; 0 if unknown."""
        if tokens and tokens != self._context[1]:
            self._context = (self._context[0], tokens)
            self._show()

    def update_usage(self, total: UsageTotals | None, context: tuple[int, int] | None) -> None:
        """Show new totals, and tokens and window of the root agent's context; None: as before."""
        if total is not None:
            self._sums, self._cost = {"in": total.tokens_input, "out": total.tokens_output}, total.cost
        self._context = context or self._context
        self._show()

    def show_budget(self, usage: AgentUsage | None, budget: Budget | None) -> None:
        """Show the team's usage in this turn (None: no turn) against its root agent's limits (None: no limits)."""
        self._usage, self._budget = usage, budget
        self._show()

    def _show(self) -> None:
        used, window = self._context
        spent = self._tokens
        caps = shares(self._usage, self._budget) if self._usage is not None and self._budget is not None else []
        self._caps = caps
        self.text.setText(self._words(self.brief))
        lines = self._lines(spent, used, window)
        if lines and self._usage is not None and self._usage.tokens != spent:
            # The usage shown beside agents is that of one turn; here it is that of all turns of all branches.
            lines.insert(
                0,
                ngettext(
                    "Whole workflow: {number} token", "Whole workflow: {number} tokens", spent, number=tokens(spent)
                ),
            )
            turn = self._usage.tokens
            lines.append(
                ngettext("Latest turn: {number} token", "Latest turn: {number} tokens", turn, number=tokens(turn))
            )
        lines += [
            _("{name}: {used} of {cap} ({share})", name=s.name, used=s.used, cap=s.cap, share=percent(s.part))
            for s in caps
        ]
        self.setToolTip(plain_tip("\n".join(lines)))
        self.text.setToolTip(plain_tip("\n".join(lines)))
        self.text.setAccessibleName(_("Usage: {text}", text=", ".join(lines)))
        if caps:
            self.bar.show_part(caps[0].part)
            self.bar.setAccessibleName(_("Budget: {share} used", share=percent(caps[0].part)))
        else:
            self.bar.hide()

    @property
    def _tokens(self) -> int:
        return self._sums.get("in", 0) + self._sums.get("out", 0)

    def _words(self, brief: bool) -> str:
        (used, window), spent = self._context, self._tokens
        if self._cost:
            parts = [cost(self._cost)]
        else:
            parts = [ngettext("{number} token", "{number} tokens", spent, number=tokens(spent))] if spent else []
        if self._caps and not brief:
            parts.append(percent(self._caps[0].part))
        elif window and spent and not brief:
            parts.append(percent(min(1.0, used / window)))
        return " · ".join(parts)

    def _lines(self, spent: int, used: int, window: int) -> list[str]:
        if not spent:
            return []
        sent, received = (
            ngettext("{number} token", "{number} tokens", count, number=number(count))
            for count in (self._sums["in"], self._sums["out"])
        )
        lines = [_("Sent: {tokens}", tokens=sent), _("Received: {tokens}", tokens=received)]
        if window:
            lines.append(_("Context: {used} of {window} tokens", used=number(used), window=number(window)))
        return [*lines, _("Cost: {cost}", cost=_("unknown") if self._cost is None else cost(self._cost))]


class BudgetWatch:
    """Keeps a meter's budget current: usage of the newest turn's team against its root agent's limits."""

    def __init__(self, team: TeamModel, meter: UsageMeter) -> None:
        self._team, self._meter = team, meter
        team.changed.connect(lambda _runs: self.show())
        team.ticked.connect(self.show)

    def show(self) -> None:
        root = self._team.get(self._team.root)
        if root is None:
            self._meter.show_budget(None, None)
        else:
            self._meter.show_budget(self._team.state.total(root.run_id, self._team.now()), root.budget)
