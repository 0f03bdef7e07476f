"""The breaker's state table, and a state machine that compares it with a plain model."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from atelier_desk.policy.circuit_breaker import BreakerState, CircuitBreaker
from tests.helpers.manual_clock import ManualClock


def opened(clock: ManualClock) -> CircuitBreaker:
    breaker = CircuitBreaker(clock)
    for _ in range(3):
        assert breaker.try_acquire()
        breaker.failure()
    return breaker


def test_it_stays_closed_until_the_third_failure_in_a_row() -> None:
    breaker = CircuitBreaker(ManualClock())
    breaker.failure()
    breaker.failure()
    assert (breaker.state, breaker.try_acquire()) == (BreakerState.CLOSED, True)
    breaker.failure()
    assert (breaker.state, breaker.try_acquire()) == (BreakerState.OPEN, False)
    assert breaker.retry_after_s == 60


def test_a_success_resets_the_count() -> None:
    breaker = CircuitBreaker(ManualClock())
    breaker.failure()
    breaker.failure()
    breaker.success()
    breaker.failure()
    breaker.failure()
    assert breaker.state is BreakerState.CLOSED


async def test_it_lets_one_attempt_through_after_the_cool_down() -> None:
    clock = ManualClock()
    breaker = opened(clock)
    await clock.advance(59.9)
    assert not breaker.try_acquire()
    await clock.advance(0.1)
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.try_acquire()
    assert not breaker.try_acquire()


@pytest.mark.parametrize(
    ("end", "state"),
    [("success", BreakerState.CLOSED), ("failure", BreakerState.OPEN), ("release", BreakerState.HALF_OPEN)],
)
async def test_the_trial_attempt_decides(end: str, state: BreakerState) -> None:
    clock = ManualClock()
    breaker = opened(clock)
    await clock.advance(60)
    assert breaker.try_acquire()
    getattr(breaker, end)()
    assert breaker.state is state
    assert breaker.try_acquire() is (state is not BreakerState.OPEN)


async def test_a_late_failure_does_not_lengthen_the_cool_down() -> None:
    clock = ManualClock()
    breaker = opened(clock)
    await clock.advance(30)
    breaker.failure()
    assert breaker.retry_after_s == 30


def test_a_success_closes_it_even_while_open() -> None:
    breaker = opened(ManualClock())
    breaker.success()
    assert breaker.state is BreakerState.CLOSED
    assert breaker.failures == 0


def test_invalid_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="threshold"):
        CircuitBreaker(ManualClock(), threshold=0)


class Machine(RuleBasedStateMachine):
    """The breaker against a model that only knows the rules: count, time of opening, whether a trial is running."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.breaker = CircuitBreaker(self.clock, threshold=3, cooldown_s=60)
        self.count = 0
        self.opened_at: float | None = None
        self.testing = False

    def waiting(self) -> float:
        return 0.0 if self.opened_at is None else max(0.0, self.opened_at + 60 - self.clock.monotonic())

    @rule(seconds=st.sampled_from([0.5, 20.0, 59.0, 60.0, 500.0]))
    def time_passes(self, seconds: float) -> None:
        asyncio.run(self.clock.advance(seconds))

    @rule()
    def attempt(self) -> None:
        allowed = self.opened_at is None or (self.waiting() == 0 and not self.testing)
        assert self.breaker.try_acquire() is allowed
        if allowed and self.opened_at is not None:
            self.testing = True

    @rule()
    def succeed(self) -> None:
        self.breaker.success()
        self.count, self.opened_at, self.testing = 0, None, False

    @rule()
    def fail(self) -> None:
        half_open = self.opened_at is not None and self.waiting() == 0
        self.breaker.failure()
        self.count += 1
        self.testing = False
        if half_open or (self.opened_at is None and self.count >= 3):
            self.opened_at = self.clock.monotonic()

    @precondition(lambda self: self.testing)
    @rule()
    def give_up(self) -> None:
        self.breaker.release()
        self.testing = False

    @invariant()
    def agrees(self) -> None:
        assert self.breaker.retry_after_s == pytest.approx(self.waiting())
        expected = (
            BreakerState.CLOSED
            if self.opened_at is None
            else BreakerState.OPEN
            if self.waiting() > 0
            else BreakerState.HALF_OPEN
        )
        assert self.breaker.state is expected
        assert self.breaker.testing is self.testing


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
