"""What paid requests outside runs cost, embeddings by a server and a person's own web searches: held against the
monthly limit, and counted by the quarter of an hour beside what runs use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import AtelierError, LimitError, ProviderError
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.usage import Payment
from atelier_desk.engine.costs.in_flight_requests import SentRequests
from atelier_desk.engine.costs.month_budget import Hold, MonthBudget
from atelier_desk.knowledge.query_vector import EMBEDDED_CHARS
from atelier_desk.llm.embedders.remote import EmbeddingUse
from atelier_desk.llm.provider_type_registry import find
from atelier_desk.llm.token_and_cost_estimates import estimate, highest_input_price, priced
from atelier_desk.storage.repositories.usage_totals import UsageRecord
from atelier_desk.support.background_tasks import to_the_end
from atelier_desk.support.i18n import N_
from atelier_desk.support.locale_format import cost_bound

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.domain.settings import EmbedderSettings
    from atelier_desk.storage.repositories.usage_totals import UsedRepository


ModelInfoOf = Callable[[str, str], Awaitable["ModelInfo"]]
"""What is known of a model, by the names of its provider and its own; see ``ModelService.stored_info``."""


class OutsideCosts:
    """``llm.embedders.remote.Meter`` and ``domain.usage.Paying`` over the month's budget."""

    def __init__(
        self,
        month: MonthBudget,
        model_info: ModelInfoOf,
        permitted: Callable[[str], Awaitable[object]],
        used: UsedRepository,
        clock: Clock,
    ) -> None:
        """``permitted`` raises if nothing may be sent to the provider of a name; see ``ProviderService.permitted``."""
        self._month = month
        self._model_info = model_info
        self._permitted = permitted
        self._clock = clock
        self._sent = SentRequests(month, used, clock)
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
        """Within it one request for vectors is sent. It is counted before, by the estimated ``tokens``, so that a kill
        forgets nothing; afterwards by what the server counted (``EmbeddingUse.tokens``), and not at all when it
        refused.

        Raises:
            LimitError: ``month``: what is left of the monthly limit does not pay for it, or its price is not known.
            UsageError: the provider is disabled.
        """
        await self._permitted(provider)
        info = await self._model_info(provider, model)
        use = EmbeddingUse(tokens)
        if info.price_input == 0:
            yield use
            return
        price = None if info.price_input is None else highest_input_price(info) / 1_000_000
        cost = None if price is None else price * tokens
        most = Usage(tokens_input=tokens, cost=cost or 0.0, cost_estimated=cost or 0.0, estimated=True)
        async with self._counted(f"{provider}/{model}", provider, model, cost, most, lambda: _embedded(info, use)):
            yield use

    @asynccontextmanager
    async def paying(self, service: str, model: str, cost: float | None, _what: str) -> AsyncIterator[Payment]:
        """``domain.usage.Paying``: counted before, and not at all when the service refused.

        Raises:
            LimitError: as ``counted``.
        """
        usage = Usage(cost=cost or 0.0)
        most = usage.model_copy(update={"cost_estimated": usage.cost})
        async with self._counted(service, service, model, cost, most, lambda: usage) as hold:
            yield Payment(check_again=lambda: self._month.check_again(hold))

    @asynccontextmanager
    async def _counted(
        self, name: str, provider: str, model: str, cost: float | None, most: Usage, used: Callable[[], Usage]
    ) -> AsyncIterator[Hold]:
        """Within it one request is sent, which may cost ``cost`` (None: nobody knows) and counts as ``most`` until it
        is counted by what it ``used``; also when it breaks off.
        """
        hold = await self._held(name, cost)
        await self._sent.send(hold, provider, model, most)
        refused = ended = False
        try:
            yield hold
            ended = True
        except (LimitError, ProviderError) as error:
            refused = not (isinstance(error, ProviderError) and error.charged)
            raise
        finally:
            if refused:
                await self._sent.refused(hold)
            elif await to_the_end(self._count(hold, provider, model, used() if ended else most)):
                raise asyncio.CancelledError

    async def _held(self, name: str, cost: float | None) -> Hold:
        """Set aside what a request may cost."""
        await self._month.prepare()
        hold = Hold()
        reached = self._month.hold(hold, cost)
        if reached is not None and reached.limit is LimitKind.UNPRICED:
            raise LimitError(
                N_(
                    "The price of {name} is not known, so the monthly cost limit cannot be enforced: nothing was sent. "
                    "Enter this price in the settings, or allow requests without a known price for this month in "
                    "Settings → Usage."
                ),
                code="month",
                name=name,
            )
        if reached is not None:
            needed, left = cost_bound(reached.needed, up=True), cost_bound(reached.left, up=False)
            raise LimitError(
                N_(
                    "The monthly cost limit does not allow this request to {name}: it may cost up to {cost}, and only "
                    "{left} is left."
                ),
                code="month",
                name=name,
                cost=needed,
                left=left,
            )
        return hold

    async def _count(self, hold: Hold, provider: str, model: str, usage: Usage) -> None:
        now = self._clock.now()
        # A month begins at a quarter of an hour everywhere, but not at a full hour of UTC.
        slot = now.replace(minute=now.minute // 15 * 15, second=0, microsecond=0)
        async with self._writing:
            await self._sent.settle_outside(hold, UsageRecord("", "", provider, model, slot, usage, 1, 0))


def _embedded(info: ModelInfo, use: EmbeddingUse) -> Usage:
    """Return what a request for vectors used, as its server counted it, or as it was estimated."""
    return priced(
        Usage(tokens_input=use.tokens, estimated=use.estimated), info.model_copy(update={"price_output": 0.0})
    )
