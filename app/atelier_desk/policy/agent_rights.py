"""Rights of an agent, of which it can only pass on less."""

from __future__ import annotations

from dataclasses import dataclass

from atelier_desk.domain.agent import ApprovalMode, Budget
from atelier_desk.policy.approval_strictness_and_grouping import stricter

NO_CAPS = Budget()
CAPS = tuple(Budget.model_fields)


@dataclass(frozen=True, slots=True)
class Rights:
    """Everything an agent may do.

    Attributes:
        tools: names of the tools it may call.
        mcp_servers: servers whose tools it may call.
        workspace: folders it may access.
        mode: how often a person is asked; a stricter mode means fewer rights.
        iterations: model replies per message.
        depth, max_depth: its nesting depth, and the depth at which no sub-agents start.
    """

    tools: frozenset[str]
    mcp_servers: frozenset[str] = frozenset()
    workspace: frozenset[str] = frozenset()
    mode: ApprovalMode = ApprovalMode.SELECTIVE
    iterations: int = 1
    budget: Budget = NO_CAPS
    depth: int = 0
    max_depth: int = 0

    def within(self, other: Rights) -> bool:
        """Whether nothing here exceeds ``other``."""
        return (
            self.tools <= other.tools
            and self.mcp_servers <= other.mcp_servers
            and self.workspace <= other.workspace
            and stricter(self.mode, other.mode) is self.mode
            and self.iterations <= other.iterations
            and _budget_within(self.budget, other.budget)
            and self.max_depth <= other.max_depth
            and self.depth >= other.depth
        )


def grant(parent: Rights, wanted: Rights) -> Rights:
    """Return the intersection of what a sub-agent wants and what its parent has.

    The budget is cut to the parent's limits; its share is deducted later.
    """
    return Rights(
        tools=wanted.tools & parent.tools,
        mcp_servers=wanted.mcp_servers & parent.mcp_servers,
        workspace=wanted.workspace & parent.workspace,
        mode=stricter(parent.mode, wanted.mode),
        iterations=min(parent.iterations, wanted.iterations),
        budget=Budget.model_validate(
            {cap: _least(getattr(parent.budget, cap), getattr(wanted.budget, cap)) for cap in CAPS}
        ),
        depth=parent.depth + 1,
        max_depth=min(parent.max_depth, wanted.max_depth),
    )


def _least(cap: float | None, wanted: float | None) -> float | None:
    if cap is None or wanted is None:
        return wanted if cap is None else cap
    return min(cap, wanted)


def _budget_within(inner: Budget, outer: Budget) -> bool:
    pairs = ((getattr(inner, cap), getattr(outer, cap)) for cap in CAPS)
    return all(most is None or (value is not None and value <= most) for value, most in pairs)
