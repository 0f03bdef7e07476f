"""The caps of a run and of the month, for a tool's call that pays for something itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.domain.events.run import LimitKind, MediaPaid, PictureDescribed
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.usage import CheckAgain, Payment
from atelier_desk.engine.costs.month_budget import Hold
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.llm.token_and_cost_estimates import at_most, highest_input_price
from atelier_desk.policy import budget
from atelier_desk.policy.budget import caps
from atelier_desk.support.locale_format import cost_bound
from atelier_desk.tools.calls.context import Used

UNPRICED = (
    "The price of {what} is not known, so the user's monthly cost limit cannot be enforced: nothing was sent. The user "
    "can enter the price in "
    "{where}, or allow requests without a known price for this month in Settings, Usage (atelier usage "
    "--allow-unpriced)."
)
NO_ROOM = (
    "The user's monthly cost limit has no room for it: it costs up to {cost}, and only {left} is left. The user can "
    "raise it in Settings, Usage."
)


class CallSpending:
    """``tools.calls.context.Spending`` of one call."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, call_id: str) -> None:
        self._env = env
        self._handle = handle
        self._call_id = call_id
        self.run_id = handle.run_id

    @asynccontextmanager
    async def room(
        self, info: ModelInfo, prompt_tokens: int, reply_tokens: int
    ) -> AsyncIterator[tuple[int, Used, CheckAgain]]:
        await self._env.month.prepare()
        hold, state = Hold(), self._handle.current
        room = self._env.month.reserve(
            state,
            prompt_tokens=prompt_tokens,
            reply_tokens=reply_tokens,
            prices=(highest_input_price(info), info.price_output or 0.0),
            priced=self._env.month.priced(info),
            hold=hold,
        )
        if isinstance(room, budget.ReachedLimit):
            if room.limit is LimitKind.UNPRICED:
                raise _unpriced("the vision model", "Settings, Providers")
            raise ToolError("The limits of this run have no room for a request to the vision model.", code="limit")
        settled = False

        async def used(model: str, usage: Usage, duration_ms: int) -> None:
            nonlocal settled
            settled = True
            described = PictureDescribed(
                call_id=self._call_id, provider=info.provider, model=model, usage=usage, duration_ms=duration_ms
            )
            await self._env.sent.settle(self._env.journal, self._handle, hold, described)

        await self._env.sent.send(hold, info.provider, info.name, at_most(prompt_tokens, room, info), state)
        try:
            yield room, used, lambda: self._env.month.check_again(hold)
        finally:
            if not settled:
                await self._env.sent.refused(hold)

    @asynccontextmanager
    async def paying(
        self, provider: str, model: str, cost: float | None, what: str, where: str
    ) -> AsyncIterator[Payment]:
        month, sent = self._env.month, self._env.sent
        await month.prepare()
        hold, state = Hold(run_id=self.run_id), self._handle.current
        cap = caps(state.agent, state.raised_limits).get(LimitKind.COST)
        spent = state.spent.cost + month.held_by(self.run_id)
        if cap is not None and cost is not None and spent + cost > cap:
            raise ToolError("The cost limit of this run has no room for it.", code="limit")
        reached = month.hold(hold, cost)
        if reached is not None and reached.limit is LimitKind.UNPRICED:
            raise _unpriced(what, where)
        if reached is not None:
            left = cost_bound(reached.left, up=False)
            raise ToolError(NO_ROOM, code="limit", cost=cost_bound(reached.needed, up=True), left=left)
        usage, payment = Usage(cost=cost or 0.0), Payment()
        most = usage.model_copy(update={"cost_estimated": usage.cost})
        await sent.send(hold, provider, model, most, state)
        ended = False
        try:
            yield payment
            ended = True
        except ProviderError as error:
            payment.returned = payment.returned or not (payment.accepted or error.charged)
            raise
        finally:
            if payment.returned:
                await sent.refused(hold)
            else:
                used = usage if ended else most
                paid = MediaPaid(call_id=self._call_id, provider=provider, model=model, usage=used)
                await sent.settle(self._env.journal, self._handle, hold, paid)


def _unpriced(what: str, where: str) -> ToolError:
    return ToolError(UNPRICED, code="limit", what=what, where=where)
