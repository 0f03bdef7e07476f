"""Decide whether a question may be asked: not after the user ignored three, and not while fifty are pending."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from atelier_desk.domain import limits
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.policy.circuit_breaker import BreakerState, CircuitBreaker

PERMIT_GRACE_S = 5.0
"""Seconds within which a permitted test question must reach the queue; later it counts as abandoned."""


class WorkflowQuestionGate:
    """One circuit breaker per workflow, and the limit of its queue.

    ``pending`` counts a workflow's pending questions; the engine reports each question's end through ``record``.
    """

    def __init__(self, pending: Callable[[str], Awaitable[int]], clock: Clock) -> None:
        self._pending = pending
        self._clock = clock
        self._breakers: dict[str, CircuitBreaker] = {}
        self._permitted_at: dict[str, float] = {}

    async def refusal(self, workflow_id: str) -> str | None:
        """Return why a question may not be asked, in words for the model, or None.

        None after a cool-down permits the test question.
        """
        waiting = await self._pending(workflow_id)
        if waiting >= limits.QUESTION_PENDING:
            return (
                f"{waiting} questions are waiting for the user in this workflow; at most {limits.QUESTION_PENDING} "
                f"are allowed. "
                "Question rejected. Go on without it, or wait until some are answered."
            )
        breaker = self._breaker(workflow_id)
        self._release_lost_test(workflow_id, breaker, waiting)
        if breaker.try_acquire():
            if breaker.state is BreakerState.HALF_OPEN:
                self._permitted_at[workflow_id] = self._clock.monotonic()
            return None
        seconds = max(1, math.ceil(breaker.retry_after_s or breaker.cooldown_s))
        return (
            f"User appears unresponsive ({breaker.threshold} consecutive timeouts). Question rejected. Retry in "
            f"{seconds} seconds."
        )

    def record(self, workflow_id: str, status: QuestionStatus) -> None:
        """Record how a question ended.

        An answer or skip closes the breaker, a timeout counts; ``pending`` (abandoned) is neutral.
        """
        breaker = self._breaker(workflow_id)
        match status:
            case QuestionStatus.ANSWERED | QuestionStatus.SKIPPED:
                breaker.success()
            case QuestionStatus.TIMEOUT:
                breaker.failure()
            case QuestionStatus.PENDING:
                breaker.release()
        self._permitted_at.pop(workflow_id, None)

    def forget(self, workflow_id: str) -> None:
        """Forget a deleted workflow."""
        self._breakers.pop(workflow_id, None)
        self._permitted_at.pop(workflow_id, None)

    def _breaker(self, workflow_id: str) -> CircuitBreaker:
        if workflow_id not in self._breakers:
            self._breakers[workflow_id] = CircuitBreaker(self._clock)
        return self._breakers[workflow_id]

    def _release_lost_test(self, workflow_id: str, breaker: CircuitBreaker, waiting: int) -> None:
        """Release a test question lost with its cancelled run; otherwise the breaker would wait forever."""
        permitted = self._permitted_at.get(workflow_id)
        if (
            breaker.testing
            and waiting == 0
            and permitted is not None
            and self._clock.monotonic() - permitted > PERMIT_GRACE_S
        ):
            breaker.release()
