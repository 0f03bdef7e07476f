"""Retries that cannot be noticed: only while nothing of the reply was shown, a bounded number of times, with a wait that grows."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from atelier_desk.domain.chat import ChatDelta, RetryDelta
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.i18n import N_, _

T = TypeVar("T")

REASONS = {
    "rate_limited": N_("the server limits the number of requests"),
    "overloaded": N_("the server is busy"),
    "server_error": N_("the server had an error of its own"),
    "unreachable": N_("the server does not answer"),
    "proxy": N_("the proxy does not answer"),
    "truncated": N_("the reply was cut"),
    "timeout": N_("the server did not answer in time"),
}
"""Codes of a ``RetryDelta`` in words."""

_RETRIED = frozenset({"rate_limited", "overloaded", "loading", "server_error", "unreachable", "proxy", "truncated"})


def retry_text(reason: str, delay_s: float) -> str:
    """What a person is told of a ``RetryDelta``: a model that loads is no failed attempt, and no wait is not "in 0 s"."""
    if reason == "loading":
        return _("The server is loading the model; it is asked again in {delay} s.", delay=max(1, round(delay_s)))
    if delay_s <= 0:
        return reason
    words = _(REASONS[reason]) if reason in REASONS else reason
    return _("Trying again in {delay} s: {reason}", delay=max(1, round(delay_s)), reason=words)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to wait.

    Attributes:
        attempts: requests sent at most, the first included.
        base_s, cap_s: the wait before attempt n is ``base_s * 2**(n-2)``, at most ``cap_s``, less up to half of it at random.
        longest_s: when a server asks to wait longer than this, the error is raised at once instead.
        loading_attempts: the same as ``attempts`` while the server loads its model: at ``cap_s`` apart, some ten minutes.
    """

    attempts: int = 5
    base_s: float = 0.5
    cap_s: float = 16.0
    longest_s: float = 120.0
    loading_attempts: int = 40

    def delay(self, error: ProviderError, attempt: int, rng: Callable[[], float]) -> float | None:
        """Seconds to wait before attempt number ``attempt`` (2 is the first retry), None when it should not be tried again.

        A server's own wish (``Retry-After``) is a lower bound: up to a tenth is added so that clients do not come back together.
        """
        most = max(self.attempts, self.loading_attempts) if error.code == "loading" and self.attempts > 1 else self.attempts
        if attempt > most or not retryable(error):
            return None
        if error.retry_after_s is not None:
            return None if error.retry_after_s > self.longest_s else error.retry_after_s * (1 + 0.1 * rng())
        full = min(self.cap_s, self.base_s * 2.0 ** (attempt - 2))
        return full * (1 - 0.5 * rng())


def retryable(error: ProviderError) -> bool:
    """Whether the same request may succeed when sent again.

    A gateway's timeout (408, 504) is; our own, after minutes of silence, is not: the person has waited long enough.
    """
    if not error.recoverable:
        return False
    return error.code in _RETRIED or (error.code == "timeout" and error.status is not None)


async def stream_with_retries(
    attempt: Callable[[], AsyncGenerator[ChatDelta, None]], *, clock: Clock, policy: RetryPolicy, rng: Callable[[], float] = random.random
) -> AsyncGenerator[ChatDelta, None]:
    """Run attempts until one works, yielding a ``RetryDelta`` before each wait. After the first delta of a reply errors pass through."""
    number = 1
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
            delay = None if shown else policy.delay(error, number, rng)
            if delay is None:
                raise
            reason = error.code
        yield RetryDelta(attempt=number, delay_s=delay, reason=reason)
        await clock.sleep(delay)


async def call_with_retries(
    call: Callable[[], Awaitable[T]], *, clock: Clock, policy: RetryPolicy, rng: Callable[[], float] = random.random
) -> T:
    """The same for a call that gives its answer at once."""
    number = 1
    while True:
        try:
            return await call()
        except ProviderError as error:
            number += 1
            delay = policy.delay(error, number, rng)
            if delay is None:
                raise
        await clock.sleep(delay)
