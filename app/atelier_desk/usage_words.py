"""What usage cost, in words: a price that nobody knows is not nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.figures import cost
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.domain.usage import UsageSum


def saved_words(total: UsageSum) -> str:
    """What reading from the cache saved; empty while it saved nothing, or less than writing it cost."""
    return _("the cache saved {cost}", cost=cost(total.usage.saved)) if total.usage.saved > 0 else ""


def cost_words(total: UsageSum, *, short: bool = False) -> str:
    """``$1.25``, ``unknown``, or ``at least $1.25`` where some of it has no known price; ``short`` is ``≥ $1.25``."""
    if total.cost is None:
        return _("unknown")
    if short and total.usage.tokens_unpriced:
        return f"≥ {cost(total.cost)}"
    return _("at least {cost}", cost=cost(total.cost)) if total.usage.tokens_unpriced else cost(total.cost)
