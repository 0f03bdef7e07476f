"""Circuit breaker: after several consecutive failures, stop trying for a while, then let one attempt through.

closed --[consecutive failures]--> open --[cool-down]--> half open --[success]--> closed, or --[failure]--> open again.
"""

from __future__ import annotations

from enum import StrEnum

from atelier_desk.domain import limits
from atelier_desk.domain.clock import Clock


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """Counts consecutive failures. Every attempt begins with ``try_acquire`` and ends with ``success``, ``failure`` or
    ``release``.

    Attributes:
        threshold: consecutive failures that open it.
        cooldown_s: seconds it stays open.
        failures: consecutive failures so far.
    """

    def __init__(
        self, clock: Clock, *, threshold: int = limits.BREAKER_FAILURES, cooldown_s: float = limits.BREAKER_COOLDOWN_S
    ) -> None:
        if threshold < 1 or cooldown_s < 0:
            raise ValueError("threshold must be at least 1 and cooldown_s at least 0")
        self._clock = clock
        self.threshold = threshold
        self.cooldown_s = cooldown_s
        self.failures = 0
        self._opened_at: float | None = None
        self._testing = False

    @property
    def state(self) -> BreakerState:
        if self._opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.retry_after_s > 0 else BreakerState.HALF_OPEN

    @property
    def retry_after_s(self) -> float:
        """Return the seconds until an attempt may be let through; 0 when closed or half open."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self.cooldown_s - self._clock.monotonic())

    @property
    def testing(self) -> bool:
        """Whether the single attempt of the half-open state is in progress."""
        return self._testing

    def try_acquire(self) -> bool:
        """Whether an attempt may begin now. Half open lets one through at a time."""
        match self.state:
            case BreakerState.CLOSED:
                return True
            case BreakerState.OPEN:
                return False
            case BreakerState.HALF_OPEN:
                if self._testing:
                    return False
                self._testing = True
                return True

    def success(self) -> None:
        """Record a successful attempt: closes the breaker from any state."""
        self.failures = 0
        self._opened_at = None
        self._testing = False

    def failure(self) -> None:
        """Record a failed attempt. A late failure while open counts but does not extend the cool-down."""
        self.failures += 1
        half_open = self.state is BreakerState.HALF_OPEN
        self._testing = False
        if half_open or (self._opened_at is None and self.failures >= self.threshold):
            self._opened_at = self._clock.monotonic()

    def release(self) -> None:
        """End an attempt without a result: the next one may be the test."""
        self._testing = False
