"""Who sends a failed request again, how often, and after which wait.

A provider does it by itself, unnoticed: only while nothing of the reply was shown. A sub-agent's request is sent again by its run alone
(``ChatRequest.retry`` is false), since attempts of both would be multiplied; a root run also mends a reply that broke off (``run_delay``).
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

from atelier_desk.domain import limits
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import LOADING, ChatDelta, RetryDelta

T = TypeVar("T")

_RETRIED = frozenset({"rate_limited", "overloaded", "loading", "server_error", "unreachable", "proxy", "truncated"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to wait.

    Attributes:
        attempts: requests sent at most, the first included.
        base_s, cap_s: the wait before attempt n is ``base_s * 2**(n-2)``, at most ``cap_s``, less up to ``jitter`` of it at random.
        longest_s: when a server asks to wait longer than this, the error is raised at once instead; where nobody is there to try again
            (``insists``) the next attempt is made after that.
        loading_attempts: the same as ``attempts`` for answers that say the server still loads its model, which are counted apart: at
            ``cap_s`` apart, some ten minutes.
    """

    attempts: int = 5
    base_s: float = 0.5
    cap_s: float = 16.0
    jitter: float = 0.5
    insists: bool = False
    longest_s: float = 120.0
    loading_attempts: int = 40

    def delay(self, error: ProviderError, attempt: int, rng: Callable[[], float]) -> float | None:
        """Seconds to wait before attempt number ``attempt`` (2 is the first retry), None when it should not be tried again. Attempts
        are numbered apart for a server that loads its model, which a caller that tries again by itself waits for as well.

        A server's own wish (``Retry-After``) is a lower bound: up to a tenth is added so that clients do not come back together.
        """
        most = self.loading_attempts if error.code == LOADING else self.attempts
        if attempt > most or not retryable(error):
            return None
        return self.wait(error, attempt, rng)

    def wait(self, error: ProviderError, attempt: int, rng: Callable[[], float]) -> float | None:
        """Seconds before an attempt that is to be made; None when the server asks for more than is borne."""
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
"""How a run sends a request again by itself."""


def run_delay(error: ProviderError, attempt: int, *, child: bool, begun: bool, rng: Callable[[], float]) -> float | None:
    """Seconds before a run sends its request for the ``attempt``-th time (2 is the first retry), None when it does not.

    Nobody else would try a sub-agent (``child``) again. For a root run the provider does until the reply has ``begun``, so the run mends
    what breaks off later, and silence: often a connection that was lost unnoticed. The provider itself waits for a model that is loaded.
    """
    if not error.recoverable or error.code == LOADING or attempt > RUN.attempts:
        return None
    silent = error.code == "timeout" and error.status is None
    return RUN.wait(error, attempt, rng) if child or begun or silent else None


def retryable(error: ProviderError) -> bool:
    """Whether the same request may succeed when sent again.

    A gateway's timeout (408, 504) is; our own, after minutes of silence, is for the run to try again.
    """
    if not error.recoverable:
        return False
    return error.code in _RETRIED or (error.code == "timeout" and error.status is not None)


class _Failed:
    """Counts failed attempts, those of a server that loads its model apart."""

    def __init__(self) -> None:
        self._counts = {True: 1, False: 1}

    def next(self, error: ProviderError) -> int:
        """The number of the attempt that would follow."""
        loading = error.code == LOADING
        self._counts[loading] += 1
        return self._counts[loading]


async def stream_with_retries(
    attempt: Callable[[], AsyncGenerator[ChatDelta, None]], *, clock: Clock, policy: RetryPolicy, rng: Callable[[], float] = random.random
) -> AsyncGenerator[ChatDelta, None]:
    """Run attempts until one works, yielding a ``RetryDelta`` before each wait. After the first delta of a reply errors pass through."""
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
            reason = error.code
        yield RetryDelta(attempt=number, delay_s=delay, reason=reason)
        await clock.sleep(delay)


async def call_with_retries(
    call: Callable[[], Awaitable[T]], *, clock: Clock, policy: RetryPolicy, rng: Callable[[], float] = random.random
) -> T:
    """The same for a call that gives its answer at once."""
    failed = _Failed()
    while True:
        try:
            return await call()
        except ProviderError as error:
            delay = policy.delay(error, failed.next(error), rng)
            if delay is None:
                raise
        await clock.sleep(delay)
