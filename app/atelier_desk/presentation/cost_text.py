"""Text about cost; an unknown price is not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import cost, cost_bound, number, percent

if TYPE_CHECKING:
    from atelier_desk.domain.usage import EmbeddingOffer, MonthUsage, UsageSum


def saved_text(total: UsageSum) -> str:
    """What cache reads saved; empty when it was nothing, or less than writing the cache cost."""
    return _("{cost} saved by the cache", cost=cost(total.usage.saved)) if total.usage.saved > 0 else ""


CURRENCY = N_(
    "Costs are in US dollars, as providers list them; the bill may differ because of exchange rates, "
    "taxes and rounding."
)
LEFT_OUT = N_("What imported workflows used before their import is not included.")


def month_text(month: MonthUsage) -> str:
    """Cost of this month, and the limit."""
    text = _("This month: {spent}, no limit", spent=cost(month.spent))
    if month.limit:
        text = _(
            "This month: {spent} of {limit} ({percent})",
            spent=cost(month.spent),
            limit=cost(month.limit),
            percent=percent(month.spent / month.limit),
        )
    estimated = (
        _(
            "{cost} of this is estimated, because a reply has not arrived yet, was cut off or was lost, or because "
            "the server reported no usage. A lost reply is counted at its highest possible cost.",
            cost=cost(month.estimated),
        )
        if round(month.estimated, 4) > 0
        else ""
    )
    unpriced = month.limit and month.unpriced
    allowed = (
        _("Requests without a known price are allowed this month and do not count toward the limit.")
        if unpriced
        else ""
    )
    return "\n".join(filter(None, (text, estimated, allowed)))


def embedding_offer_text(offer: EmbeddingOffer) -> str:
    """What could be embedded, and its possible cost."""
    price = _("up to {cost}", cost=cost_bound(offer.cost, up=True)) if offer.cost is not None else _("price unknown")
    return ngettext(
        "{number} text is waiting to be embedded by {model} ({price}).",
        "{number} texts are waiting to be embedded by {model} ({price}).",
        offer.texts,
        number=number(offer.texts),
        model=offer.model,
        price=price,
    )


def warning_text(month: MonthUsage) -> str:
    """Warning that most of the limit is used."""
    share = percent(month.spent / month.limit) if month.limit else ""
    return _("{percent} of this month's cost limit of {limit} has been used.", percent=share, limit=cost(month.limit))


def cost_text(total: UsageSum, *, short: bool = False) -> str:
    """``$1.25``, ``unknown``, or ``at least $1.25`` if some prices are unknown.

    ``short`` is ``≥ $1.25``.
    """
    if total.cost is None:
        return _("unknown")
    if short and total.usage.tokens_unpriced:
        return f"≥ {cost(total.cost)}"
    return _("at least {cost}", cost=cost(total.cost)) if total.usage.tokens_unpriced else cost(total.cost)
