"""End replies that send nothing meaningful any more, despite other traffic on the connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, RetryDelta
from atelier_desk.llm.network.watchdog import Stalled, Watchdog
from atelier_desk.support.i18n import N_

SILENT = N_(
    "The model did not respond for {seconds} seconds. If it needs more time, raise the inactivity "
    "timeout in Settings → General, then try again."
)


async def watched(
    deltas: AsyncGenerator[ChatDelta, None], clock: Clock, limit_s: float, problem: str = SILENT
) -> AsyncGenerator[ChatDelta, None]:
    """Pass deltas through with an inactivity limit; comments and empty pieces give no deltas and do not count.

    Args:
        limit_s: maximum seconds of silence; a provider's own wait before another attempt is added.
        problem: message on timeout, with ``{seconds}``.

    Raises:
        ProviderError: silence exceeded the limit (code ``timeout``).
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
