"""Ends a reply that says nothing any more, whatever still travels over its connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, RetryDelta
from atelier_desk.llm.wire.watchdog import Stalled, Watchdog
from atelier_desk.support.i18n import N_

SILENT = N_(
    "The model did not respond for {seconds} seconds. If it needs more time, raise the inactivity "
    "timeout in Settings → General, then try again."
)


async def watched(
    deltas: AsyncGenerator[ChatDelta, None], clock: Clock, limit_s: float, problem: str = SILENT
) -> AsyncGenerator[ChatDelta, None]:
    """The same deltas; comments and empty pieces, which keep a connection open, make none and so do not count.

    Args:
        limit_s: seconds of silence that are borne; a provider's own wait before another attempt comes on top.
        problem: what is said then, with ``{seconds}``.

    Raises:
        ProviderError: nothing was said for that long (code ``timeout``).
    """
    async with aclosing(deltas), Watchdog(clock, limit_s) as watchdog:
        while True:
            try:
                delta = await watchdog.run(anext(deltas))
            except StopAsyncIteration:
                return
            except Stalled:
                break
            watchdog.set_limit(limit_s + delta.delay_s if isinstance(delta, RetryDelta) else limit_s)
            yield delta
    raise ProviderError(
        problem,
        code="timeout",
        recoverable=True,
        seconds=f"{limit_s:g}",
    )
