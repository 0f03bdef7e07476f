"""Retry failed requests: who, how often, and after which wait.

A provider retries unnoticed, only while nothing of the reply was shown. A sub-agent's request is only retried by its
run (``ChatRequest.retry`` is False), because attempts of both would multiply; a root run also repairs a broken-off
reply (``run_delay``).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from atelier_desk.domain import limits
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import SETTINGS_CHANGED, ProviderError
from atelier_desk.domain.model_messages import LOADING, ChatDelta, RetryDelta, RetryDue

T = TypeVar("T")

_RETRIED = frozenset({"rate_limited", "overloaded", "loading", "server_error", "unreachable", "proxy", "truncated"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of attempts and waits.

    Attributes:
        attempts: maximum requests, including the first.
        base_s, cap_s: the wait before attempt n is ``base_s * 2**(n-2)``, at most ``cap_s``, reduced by up to
            ``jitter`` at random.
        longest_s: if a server requests a longer wait, the error is raised immediately; where nobody could retry later
            (``insists``), the next attempt is made after this time.
        loading_attempts: like ``attempts`` for answers that the model is still loading, counted separately: at
            intervals of ``cap_s``, about ten minutes.
    """

    attempts: int = 5
    base_s: float = 0.5
    cap_s: float = 16.0
    jitter: float = 0.5
    insists: bool = False
    longest_s: float = 120.0
    loading_attempts: int = 40

    def delay(self, error: ProviderError, attempt: int, rng: Callable[[], float]) -> float | None:
        """Return the seconds before attempt number ``attempt`` (2 is the first retry), None if it should not be made.

        Attempts are counted separately for a server that loads its model, for which callers with their own retries wait
        as well. ``Retry-After`` is a lower limit: up to a tenth is added so that clients do not return together.
        """
        most = self.loading_attempts if error.code == LOADING else self.attempts
        if attempt > most or not retryable(error):
            return None
        return self.wait(error, attempt, rng)

    def wait(self, error: ProviderError, attempt: int, rng: Callable[[], float]) -> float | None:
        """Return the seconds before an attempt; None if the server requests more than allowed."""
        full = min(self.cap_s, self.base_s * 2.0 ** (attempt - 2)) * (1 - self.jitter * rng())
        asked = error.retry_after_s
        if asked is None:
            return full
        if self.insists:
            return max(full, min(asked, self.longest_s))
        return None if asked > self.longest_s else asked * (1 + 0.1 * rng())


RUN = RetryPolicy(
    attempts=limits.REPLY_ATTEMPTS,
    base_s=limits.CHILD_RETRY_S[0],
    cap_s=limits.CHILD_RETRY_S[1],
    jitter=0.25,
    insists=True,
    longest_s=limits.CHILD_WAIT_S,
)
"""How a run itself retries a request."""


def run_delay(
    error: ProviderError, attempt: int, *, child: bool, begun: bool, rng: Callable[[], float]
) -> float | None:
    """Return the seconds before a run makes attempt ``attempt`` (2 is the first retry), None if it does not.

    Nobody else would retry for a sub-agent (``child``). For a root run the provider retries until the reply has
    ``begun``, so the run handles later failures, silence, which is often an unnoticed connection loss, and connections
    closed by new settings, which it opens again. The provider itself waits for a loading model.
    """
    if not error.recoverable or error.code == LOADING or attempt > RUN.attempts:
        return None
    silent = error.code == "timeout" and error.status is None
    return RUN.wait(error, attempt, rng) if child or begun or silent or error.code == SETTINGS_CHANGED else None


def retryable(error: ProviderError) -> bool:
    """Whether the same request may succeed when sent again.

    Includes a gateway's timeout (408, 504); our own, after minutes of silence, is left to the run.
    """
    if not error.recoverable:
        return False
    return error.code in _RETRIED or (error.code == "timeout" and error.status is not None)


class _Failed:
    """Counts failed attempts, separately for a loading server."""

    def __init__(self) -> None:
        self._counts = {True: 1, False: 1}

    def next(self, error: ProviderError) -> int:
        """Return the number of the next attempt."""
        loading = error.code == LOADING
        self._counts[loading] += 1
        return self._counts[loading]


async def stream_with_retries(
    attempt: Callable[[], AsyncGenerator[ChatDelta, None]],
    *,
    clock: Clock,
    policy: RetryPolicy,
    rng: Callable[[], float],
) -> AsyncGenerator[ChatDelta, None]:
    """Run attempts until one succeeds, yielding a ``RetryDelta`` before each wait and a ``RetryDue`` after it.

    Errors after the first delta of a reply are raised.
    """
    number, failed = 1, _Failed()
    while True:
        shown = False
        try:
            async with aclosing(attempt()) as deltas:
                async for delta in deltas:
                    shown = True
                    yield delta
            return
        except ProviderError as error:
            number += 1
            delay = None if shown else policy.delay(error, failed.next(error), rng)
            if delay is None:
                raise
            reason, charged = error.code, error.charged
        yield RetryDelta(attempt=number, delay_s=delay, reason=reason, charged=charged)
        await clock.sleep(delay)
        yield RetryDue()


async def call_with_retries(
    call: Callable[[], Awaitable[T]], *, clock: Clock, policy: RetryPolicy, rng: Callable[[], float]
) -> T:
    """Like ``stream_with_retries`` for a non-streaming call."""
    failed = _Failed()
    while True:
        try:
            return await call()
        except ProviderError as error:
            delay = policy.delay(error, failed.next(error), rng)
            if delay is None:
                raise
        await clock.sleep(delay)
