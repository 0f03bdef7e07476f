"""What embeddings by a server cost: held against the monthly limit, and counted by the hour beside what runs use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import AtelierError, LimitError, ProviderError
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.model_messages import Usage
from atelier_desk.engine.month_budget import Hold, MonthBudget
from atelier_desk.engine.run.tool_budget import SENT
from atelier_desk.knowledge.query_vector import EMBEDDED_CHARS
from atelier_desk.llm.embedders.remote import EmbeddingUse
from atelier_desk.llm.registry import find
from atelier_desk.llm.tokens import estimate, highest_input_price
from atelier_desk.storage.repositories.usage_totals import UsageRecord
from atelier_desk.support.i18n import N_
from atelier_desk.support.number_format import cost_bound

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.domain.settings import EmbedderSettings
    from atelier_desk.storage.repositories.usage_totals import UsedRepository


ModelInfoOf = Callable[[str, str], Awaitable["ModelInfo"]]
"""What is known of a model, by the names of its provider and its own; see ``ModelService.stored_info``."""


class EmbeddingCosts:
    """``llm.embedders.remote.Meter`` over the month's budget."""

    def __init__(self, month: MonthBudget, model_info: ModelInfoOf, used: UsedRepository, clock: Clock) -> None:
        self._month = month
        self._model_info = model_info
        self._used = used
        self._clock = clock
        self._writing = asyncio.Lock()

    async def price(self, settings: EmbedderSettings) -> float | None:
        """US dollars for a million tokens; 0 for an embedder on this machine, None where nobody knows."""
        kind = find(settings.kind)
        if kind is None or not kind.embeds:
            return 0.0
        try:
            return (await self._model_info(settings.provider, settings.model)).price_input
        except AtelierError:
            return None

    async def at_most(self, settings: EmbedderSettings, texts: int) -> float | None:
        """US dollars that vectors of so many texts may cost; None where no price is known."""
        price = await self.price(settings)
        return None if price is None else texts * estimate("x" * EMBEDDED_CHARS) * price / 1_000_000

    @asynccontextmanager
    async def counted(self, provider: str, model: str, tokens: int) -> AsyncIterator[EmbeddingUse]:
        """Within it one request for vectors is sent. It is counted before, by the estimated ``tokens``, so that a kill forgets nothing;
        afterwards by what the server counted (``EmbeddingUse.tokens``), and not at all when it refused.

        Raises:
            LimitError: ``month``: what is left of the monthly limit does not pay for it, or its price is not known.
        """
        info = await self._model_info(provider, model)
        use = EmbeddingUse(tokens)
        if info.price_input == 0:
            yield use
            return
        await self._month.prepare()
        hold, price = Hold(), None if info.price_input is None else highest_input_price(info) / 1_000_000
        reached = self._month.hold(hold, None if price is None else price * tokens)
        if reached is not None and reached.limit is LimitKind.UNPRICED:
            raise LimitError(
                N_(
                    "The price of {model} is not known, so the monthly cost limit cannot be kept: nothing was sent. Enter its price in "
                    "Settings → Providers, or allow requests without a known price for this month in Settings → Usage."
                ),
                code="month",
                model=f"{provider}/{model}",
            )
        if reached is not None:
            needed, left = cost_bound(reached.needed, up=True), cost_bound(reached.left, up=False)
            raise LimitError(
                N_("The monthly cost limit has no room for embeddings: they may cost up to {cost}, and {left} is left."),
                code="month",
                cost=needed,
                left=left,
            )
        try:
            await self._count(info, tokens, requests=1)
            try:
                yield use
            except ProviderError as error:
                if error.code not in SENT:
                    await self._count(info, -tokens, requests=-1)
                raise
            if use.tokens != tokens:
                await self._count(info, use.tokens - tokens)
        finally:
            self._month.free(hold)

    async def _count(self, info: ModelInfo, tokens: int, *, requests: int = 0) -> None:
        cost = tokens * (info.price_input or 0.0) / 1_000_000
        unpriced = tokens if info.price_input is None else 0
        usage = Usage(tokens_input=tokens, cost=cost, tokens_unpriced=unpriced)
        hour = self._clock.now().replace(minute=0, second=0, microsecond=0)
        async with self._writing:
            await self._used.count(UsageRecord("", "", info.provider, info.name, hour, usage, requests, 0))
        self._month.count(cost)
