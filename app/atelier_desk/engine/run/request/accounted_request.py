"""A request to the run's model as limits and journal see it: reserved, noted before it leaves, saved while its reply
streams.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.events.run import EventBody, ReplyCutOff
from atelier_desk.domain.model_messages import ChatDelta, ChatReply, FinishReason, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.engine.costs.month_budget import Hold
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.gateways.direct_tool_call import direct_model
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.reply_processing import unended
from atelier_desk.llm.network.inactivity_timeout import watched
from atelier_desk.llm.secrets import redact_reply
from atelier_desk.llm.token_and_cost_estimates import at_most, estimate, highest_input_price, priced
from atelier_desk.policy import budget
from atelier_desk.storage.writing.sent_request_keys import OWN, SentKey


class AccountedRequest:
    """Reserves a request, and counts it from before it leaves until its usage is committed.

    Attributes:
        message_id: identifies the reply from its first token on.
        content, reasoning: text streamed so far; a stop during the reply commits it as cut off.
    """

    def __init__(self, env: RunEnvironment, handle: RunHandle) -> None:
        self._env = env
        self._handle = handle
        self.message_id = new_id()
        self.content = ""
        self.reasoning = ""
        self._called = ""
        self._saved_at = env.clock.monotonic()
        self._estimated = 0
        self._uncalibrated = 0
        self._most = Usage()
        self._hold = Hold(own=True)
        self._info: ModelInfo | None = None
        self._begun = False
        self._sent = False
        self._broken = False
        self._partial_saved = False

    async def _open(self, state: RunState) -> OpenModel:
        """Return the agent's model; if its server refused tools, in the dialect that needs none."""
        if state.agent.provider == DIRECT_CALL:
            return direct_model(state.agent.model)
        agent = state.agent.model_copy(update={"tool_dialect": ToolDialect.XML}) if state.tools_refused else state.agent
        return await self._env.gateway.open(agent, state.language)

    def _room(
        self, opened: OpenModel, prompt_tokens: int, reply_tokens: int, *, within_run: bool = True
    ) -> int | budget.ReachedLimit:
        self._release()
        self._hold = Hold(own=True)
        return self._env.month.reserve(
            self._handle.current,
            prompt_tokens=prompt_tokens,
            reply_tokens=reply_tokens,
            prices=(highest_input_price(opened.info), opened.info.price_output or 0.0),
            priced=self._env.month.priced(opened.info),
            within_run=within_run,
            hold=self._hold,
        )

    async def _check_again(self) -> None:
        """Check before the provider sends the same request once more, after a wait in which settings may have changed.

        Raises:
            LimitError: the monthly limit no longer allows it.
            AtelierError: the provider cannot be used any more.
        """
        await self._env.month.check_again(self._hold)
        await self._open(self._handle.current)
        self._sent = True

    def _release(self) -> None:
        """Free what is set aside for a request that was not sent; one that was is freed when it is settled."""
        if self._hold.key is None:
            self._env.month.free(self._hold)

    async def _send(self, reply_tokens: int) -> None:
        """Note that a request leaves: from now on it counts by the most it may cost, also after a kill."""
        self._most = at_most(self._prompt_tokens, reply_tokens, self._info) if self._info is not None else Usage()
        if self._most.cost:
            self._env.month.sending(self._hold, SentKey(self._handle.run_id, OWN), self._most.cost)
            try:
                await self._save_partial(self._handle.current, self._most)
            except BaseException:
                self._env.month.free(self._hold)
                raise
        # The provider may have been disabled while the request was prepared; the commit of the error frees the hold.
        await self._open(self._handle.current)
        self._sent = True

    def cut_off(self, reason: str) -> list[EventBody]:
        """Return events that keep a cut-off reply; empty if nothing was streamed or it is already stored."""
        closed_here = not self._broken and reason != "error" and bool(self.content or self.reasoning or self._called)
        usage = self._used() if closed_here else unended(self._used(), self._most)
        # A server that has the request charges for it, though it said nothing yet.
        used = self._begun or (self._sent and usage.cost > 0)
        if not used or self._partial_saved or self._handle.current.message_id == self.message_id:
            return []
        cut = ReplyCutOff(
            message_id=self.message_id,
            content=redact_reply(self.content),
            reasoning=redact_reply(self.reasoning),
            reason=reason,
            usage=usage,
            in_conversation=True,
        )
        return [cut]

    @property
    def _prompt_tokens(self) -> int:
        """What a limit must have room for: a server's low counts never make it less than our own estimate."""
        return max(self._estimated, self._uncalibrated)

    async def _store_lost(self, *events: EventBody) -> None:
        """Commit the events of a reply that is cut off. It counts as stored from the time of writing: a stop during the
        commit would count it once more.
        """

        def decide(_now: RunState) -> tuple[EventBody, ...]:
            self._sent, self._partial_saved = False, True
            return events

        await self._env.journal.append_if(self._handle, decide, clear_partial=True)

    def _used(self) -> Usage:
        """Return the estimated usage so far: servers report counts only at the end of a reply."""
        written = estimate(self.content + self.reasoning + self._called)
        usage = Usage(tokens_input=self._estimated, tokens_output=written, estimated=True)
        return priced(usage, self._info)

    def _stopped(self, reason: FinishReason) -> ChatReply:
        """Return the received part of a reply whose stream was closed here."""
        return ChatReply(
            content=redact_reply(self.content), reasoning=redact_reply(self.reasoning), finish_reason=reason
        )

    def _watched(self, deltas: AsyncGenerator[ChatDelta, None]) -> AsyncGenerator[ChatDelta, None]:
        """Apply the inactivity limit to a root run's reply.

        Sub-agents are watched as a whole, see ``InactivityWatch``.
        """
        if self._handle.current.parent_run_id is not None:
            return deltas
        return watched(deltas, self._env.clock, self._env.in_force.applied.inactivity_s)

    async def _save_partial(self, state: RunState, usage: Usage) -> None:
        self._saved_at = self._env.clock.monotonic()
        provider = self._info.provider if self._info is not None else state.agent.provider
        await self._env.repos.journal.save_partial(
            state.run_id,
            state.workflow_id,
            self.message_id,
            content=sanitized(redact_reply(self.content)),
            reasoning=sanitized(redact_reply(self.reasoning)),
            usage=usage,
            spent=self._env.sent.record(provider, state.agent.model, usage, state) if usage.cost else None,
        )
