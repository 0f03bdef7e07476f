"""Circuit breakers of agents: after three consecutive failures an agent is not used for a minute."""

from __future__ import annotations

import math

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.sub_agent import ChildPlan, ChildStatus
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.circuit_breaker import BreakerState, CircuitBreaker


class AgentBreakers:
    """The breakers of this process.

    One per stored agent; agents created by their parents share one per provider and model.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._breakers: dict[str, CircuitBreaker] = {}

    def open_for(self, agent_id: str, agent: AgentConfig) -> str | None:
        """Return why this agent may not be used now, in words for the model; has no effect on the breaker."""
        breaker = self._of(agent_id, agent)
        if breaker.state is BreakerState.OPEN:
            return _text(agent, breaker)
        return None

    def refusal(self, plan: ChildPlan) -> str | None:
        """Return why this sub-agent may not begin now, or None: after a cool-down one is let through as a test."""
        breaker = self._of(plan.agent_id, plan.agent)
        return None if breaker.try_acquire() else _text(plan.agent, breaker)

    def release(self, plan: ChildPlan) -> None:
        """Release a sub-agent that was let through but did not begin."""
        self._of(plan.agent_id, plan.agent).release()

    def record(self, state: RunState, status: ChildStatus) -> None:
        """Record a sub-agent's end: an error counts, its own completion closes the breaker, being stopped is
        neutral."""
        if state.agent.provider == DIRECT_CALL:
            # A failed single call says nothing about any agent or model.
            return
        breaker = self._of(state.agent_id, state.agent)
        if status is ChildStatus.ERROR:
            breaker.failure()
        elif status in (ChildStatus.COMPLETED, ChildStatus.ABANDONED):
            breaker.success()
        else:
            breaker.release()

    def _of(self, agent_id: str, agent: AgentConfig) -> CircuitBreaker:
        key = agent_id or f"{agent.provider}/{agent.model}"
        if key not in self._breakers:
            self._breakers[key] = CircuitBreaker(self._clock)
        return self._breakers[key]


def _text(agent: AgentConfig, breaker: CircuitBreaker) -> str:
    seconds = max(1, math.ceil(breaker.retry_after_s or breaker.cooldown_s))
    return (
        f"{agent.name} failed {breaker.failures} times in a row and is not asked for now. Retry in {seconds} "
        f"seconds, use another agent, "
        "or do the work yourself."
    )
