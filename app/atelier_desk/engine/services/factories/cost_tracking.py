"""What costs money, and how much it may cost."""

from __future__ import annotations

from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts
from atelier_desk.engine.costs.month_budget import MonthBudget
from atelier_desk.engine.services.lazy_services import LazyParts


def month_budget(engine: LazyParts) -> MonthBudget:
    """What all paid requests may cost this month."""
    made = MonthBudget(engine.clock, engine.bus)
    made.cost_since, made.warn = lambda since: engine.usage.cost_since(since, made.in_flight), engine.usage.warn
    made.raise_limit, made.allow_unpriced = engine.usage.raise_limit, engine.usage.allow_unpriced
    engine.in_force.subscribe(made.apply, "monthly_cost_limit", "monthly_warned", "monthly_unpriced")
    return made


def outside_costs(engine: LazyParts) -> OutsideCosts:
    """What embeddings by a server cost."""
    return OutsideCosts(
        engine.month_budget, engine.models.stored_info, engine.providers.permitted, engine.repos.used, engine.clock
    )
