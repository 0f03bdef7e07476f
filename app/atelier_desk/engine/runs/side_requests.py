"""Short requests to a run's model beside its work, for titles and memory extraction: within the run's limits, one at a
time.

No run waits for them, and the caller commits their usage to the run's journal (``SideRequests.settle``) before the next
may be made.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from enum import StrEnum
from weakref import WeakValueDictionary

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.events.run import MemoryExtractionDone, RequestLost, TitleGenerated
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, Role, Usage
from atelier_desk.engine.costs.month_budget import Hold
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.reply_processing import ReceivedReply
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.llm.network.inactivity_timeout import watched
from atelier_desk.llm.token_and_cost_estimates import at_most, estimate, highest_input_price
from atelier_desk.policy import budget
from atelier_desk.storage.writing.journal_commit import Rename
from atelier_desk.support.background_tasks import to_the_end

log = logging.getLogger(__name__)

SILENCE_S = 30.0
"""Seconds of silence after which the request is abandoned."""


@dataclass(frozen=True, slots=True)
class SideRequest:
    """A reply and its usage."""

    text: str
    provider: str
    model: str
    usage: Usage
    duration_ms: int
    hold: Hold
    """What it holds until ``SideRequests.settle``."""


class SkipReason(StrEnum):
    """Why nothing was asked: the model is too small, or its agent's limits have no room for another request."""

    SMALL = "small"
    ROOM = "room"


class SideRequests:
    """Makes side requests."""

    def __init__(self, env: RunEnvironment, runs: LiveRuns) -> None:
        self._env = env
        self.runs = runs
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, run_id: str) -> asyncio.Lock:
        """Return the lock to hold from checking a run's limits until the usage is committed.

        Two requests would find the same room.
        """
        return self._turns.setdefault(run_id, asyncio.Lock())

    async def ask(self, state: RunState, instructions: str, text: str, reply_tokens: int) -> SideRequest | SkipReason:
        """Return the model's reply of at most ``reply_tokens`` tokens.

        Raises:
            AtelierError: the model cannot be asked.
        """
        opened = await self._env.gateway.open(state.agent, state.language)
        if opened.dialect is ToolDialect.GUIDED:
            return SkipReason.SMALL
        prompt_tokens = estimate(instructions + text) + 20
        prices = (highest_input_price(opened.info), opened.info.price_output or 0.0)
        await self._env.month.prepare()
        hold = Hold()
        known = self._env.month.priced(opened.info)
        room = self._env.month.reserve(
            state,
            prompt_tokens=prompt_tokens,
            reply_tokens=reply_tokens,
            prices=prices,
            priced=known,
            hold=hold,
        )
        if isinstance(room, budget.ReachedLimit):
            return SkipReason.ROOM
        received, began = ReceivedReply(room), self._env.clock.monotonic()

        def made() -> SideRequest:
            reply = received.reply
            usage = received.usage(prompt_tokens, opened.info)
            duration_ms = round((self._env.clock.monotonic() - began) * 1000)
            return SideRequest(
                sanitized(reply.content),
                opened.info.provider,
                reply.model or state.agent.model,
                usage,
                duration_ms,
                hold,
            )

        request = ChatRequest(
            model=state.agent.model,
            messages=(ChatMessage(role=Role.SYSTEM, content=instructions), ChatMessage(role=Role.USER, content=text)),
            max_tokens=room,
            enable_thinking=False,
            context_window=opened.window,
        )
        most = at_most(prompt_tokens, room, opened.info)
        await self._env.sent.send(hold, opened.info.provider, state.agent.model, most, state)
        try:
            await received.read(
                watched(opened.plain.stream(request), self._env.clock, SILENCE_S),
                lambda: self._env.month.check_again(hold),
            )
        except BaseException as error:
            if received.charged(error):
                await to_the_end(self.lose(state.run_id, made()))
            else:
                await self._env.sent.refused(hold)
            raise
        return made()

    async def settle(
        self,
        live: LiveRun,
        spent: SideRequest,
        body: MemoryExtractionDone | RequestLost | TitleGenerated,
        rename: Rename | None = None,
    ) -> None:
        """Commit the usage; raises as ``SentRequests.settle``. What follows an ended run is known to go on from here: a
        snapshot of other events of it would not count.
        """
        await self._env.sent.settle(self._env.journal, live.handle, spent.hold, body, rename=rename)
        self.runs.settled(live)

    async def lose(self, run_id: str, spent: SideRequest) -> None:
        """Record the cost of a request without a result."""
        try:
            live = await self.runs.load(run_id)
            lost = RequestLost(
                provider=spent.provider, model=spent.model, usage=spent.usage, duration_ms=spent.duration_ms
            )
            await self.settle(live, spent, lost)
        except AtelierError as error:
            log.info("what a request cost was not stored: %s", type(error).__name__)
