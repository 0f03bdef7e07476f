"""One model request: compaction until it fits, streaming, and the committed reply."""

from __future__ import annotations

import logging
import math
import random
from contextlib import aclosing
from dataclasses import asdict, replace

from atelier_desk.domain.agent import SearchScope, ToolDialect
from atelier_desk.domain.errors import AtelierError, ContextOverflowError, LimitError, ProviderError
from atelier_desk.domain.events.run import (
    ContextCompacted,
    EventBody,
    ImagesRejected,
    LimitReached,
    ModelReplied,
    ModelRetried,
    PauseReason,
    RunFinished,
    RunPaused,
    ToolsRefused,
    WindowLearned,
)
from atelier_desk.domain.model_messages import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReasoningDelta,
    ReplyDone,
    RetryDelta,
    RetryDue,
    Role,
    TextDelta,
    TextTurns,
    ToolCallDelta,
    Usage,
)
from atelier_desk.domain.stream.payloads import Reasoning, Token
from atelier_desk.domain.system_prompt_and_tools import PromptFrame
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.engine.journal.journal import Follow, RunHandle
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import context_fitting, prompt_texts, tool_search
from atelier_desk.engine.run.request.accounted_request import AccountedRequest
from atelier_desk.engine.run.request.repetition_detection import Repetition
from atelier_desk.engine.run.request.reply_processing import (
    Length,
    ReceivedReply,
    counted,
    judged,
    unended,
    unique_calls,
)
from atelier_desk.engine.run.request.request_failures import run_failure, tools_unread
from atelier_desk.engine.run.request.request_images import with_pictures
from atelier_desk.engine.run.request.toolset import make_frame, offered_tools, tools_tokens, toolset
from atelier_desk.engine.team.team_interface import TeamPort
from atelier_desk.llm.network import retry
from atelier_desk.llm.replies.picture_refusal import refuses_pictures, unexplained
from atelier_desk.llm.replies.redaction import reply_without_secrets
from atelier_desk.llm.replies.tool_refusal import refuses_tools
from atelier_desk.llm.secrets import redact
from atelier_desk.llm.token_and_cost_estimates import BYTES_PER_TOKEN, estimate, priced
from atelier_desk.policy import budget
from atelier_desk.support.i18n import N_, _

log = logging.getLogger(__name__)

SAVE_EVERY_S = 1.0
"""Maximum seconds between saves of the partial reply, so that a kill loses at most that much text."""
MOST_OVERFLOWS = 2
"""Refusals as too long before the run fails: one compaction and one retry."""
LEAST_WINDOW = 512
"""Tokens; smaller contexts reported by a server are not believed."""
SUMMARY_TOKENS = 800
"""Maximum tokens of a summary."""
SHORT = 4_096
"""Tokens accepted by every server by default: shorter requests are not refused for their length."""
SHRINK = 0.75
"""Assumed fraction of the context when a server says "too long" without a number."""


class _NoRoomToRetry(Exception):
    """What the failed attempt may have cost leaves no room for the same request."""


class ModelCall(AccountedRequest):
    """Performs one ``CallModel`` step; the result of ``follow`` is committed with the reply."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, teams: TeamPort, follow: Follow) -> None:
        super().__init__(env, handle)
        self._teams = teams
        self._follow = follow
        self._reasoning_ms = 0
        self._frame: PromptFrame | None = None
        self._with_tools = True
        self._searched: tool_search.ToolSearchState | None = None
        self._sees = True
        self._blind = False
        self._pictured = False
        self._based_on = 0
        self._native_tools = False

    async def perform(self, *, with_tools: bool) -> None:
        """Make the request and commit the reply, or the failure."""
        state = self._handle.current
        try:
            opened = await self._open(state)
            ready = await self._reserved(opened, await self._fit(opened, with_tools=with_tools))
            if ready is None:
                return
            self._info = opened.info
            started = self._env.clock.monotonic()
            request = ready.request
            self._pictured = not isinstance(request.messages, TextTurns) and any(m.images for m in request.messages)
            if self._pictured:
                request = await with_pictures(request, self._env.repos.artefacts, state.workflow_id, opened.pictures)
            reply = await self._stream(opened, request)
        except _NoRoomToRetry:
            return  # the run's next step asks again, with what is left, or pauses
        except ContextOverflowError as error:
            self._sent, self._broken = False, True
            await self._overflowed(error)
        except ProviderError as error:
            log.warning("model request failed: %s", error.code)
            self._sent, self._broken = self._sent and error.charged, True
            await self._failed(error)
        else:
            duration_ms = round((self._env.clock.monotonic() - started) * 1000)
            tried = (
                self._native_tools
                and opened.info.supports_tools is None
                and state.agent.tool_dialect is ToolDialect.AUTO
                and not self._handle.current.tools_refused
            )
            if tried and tools_unread(reply, ready.request.tools, ready.uncalibrated):
                await self._without_native_tools(opened, ready, reply)
                return
            await self._commit(opened, ready, reply, duration_ms)
        finally:
            self._release()

    async def _fit(self, opened: OpenModel, *, with_tools: bool) -> context_fitting.ReadyRequest:
        """Compact until the request fits; each compaction is committed before the next is planned."""
        state = self._handle.current
        guided = opened.dialect is ToolDialect.GUIDED
        window = min(opened.window, state.window or opened.window)
        # A model too small to call tools itself cannot search for them either.
        mine = toolset(self._env.registry, state)
        searched = None if guided else tool_search.searched(mine, state, window)
        self._searched = searched if with_tools else None
        search = searched.search if searched is not None else None
        tools = offered_tools(mine, state, guided=guided, search=search) if with_tools else ()
        # Instructions of folders take at most a quarter of the context.
        room = min(prompt_texts.ROOM, int(window * BYTES_PER_TOKEN / 4))
        system = prompt_texts.system_prompt(state, mine.text(search), room, skills=not guided)
        self._frame = make_frame(state.workflow_id, system, tools)
        self._with_tools = with_tools
        self._sees = opened.info.supports_vision is True and not state.pictures_refused
        self._blind = opened.info.supports_vision is False or state.pictures_refused
        self._native_tools = bool(tools) and opened.dialect is ToolDialect.NATIVE
        tool_tokens = tools_tokens(tools)
        # The guided dialect never sends definitions, but shows the model a few examples.
        tool_tokens = 0 if guided else tool_tokens
        while True:
            state = self._handle.current
            window = min(opened.window, state.window or opened.window)
            factor = self._env.calibration(state.agent).factor
            step = context_fitting.plan(
                state,
                system=system,
                tools=tools,
                window=window,
                factor=factor,
                tool_tokens=tool_tokens,
                sees=self._sees,
                blind=self._blind,
            )
            if isinstance(step, context_fitting.ReadyRequest):
                self._based_on = state.last_seq
                return step
            if isinstance(step, context_fitting.CutResults):
                await self._env.journal.append(
                    self._handle, ContextCompacted(method="cut_results", dropped=step.seqs, tokens_before=step.tokens)
                )
            elif isinstance(step, context_fitting.Shorten):
                shorter = ContextCompacted(
                    method="cut_message", dropped=(step.seq,), kept=step.unshortened, tokens_before=step.tokens
                )
                await self._env.journal.append(self._handle, shorter)
            else:
                await self._summarise(opened, step, window, factor)

    async def _reserved(
        self, opened: OpenModel, ready: context_fitting.ReadyRequest
    ) -> context_fitting.ReadyRequest | None:
        """Limit the reply to what the run's limits allow; without room, pause the run at the limit and return None.

        A final answer that the user requested at a limit may exceed the run's limits, but never the monthly one.
        """
        await self._env.month.prepare()
        self._estimated, self._uncalibrated = ready.tokens, ready.uncalibrated
        final = self._handle.current.final_only
        room = self._room(opened, self._prompt_tokens, ready.request.max_tokens, within_run=not final)
        if isinstance(room, budget.ReachedLimit):
            stopped: list[EventBody] = [LimitReached(**asdict(room)), RunPaused(reason=PauseReason.LIMIT)]
            await self._env.journal.append_if(
                self._handle,
                lambda now: None if now.status.final or now.pause is not None else stopped,
                clear_partial=True,  # of a request that was not sent again for this limit
            )
            return None
        return replace(ready, request=ready.request.model_copy(update={"max_tokens": room}))

    async def _check_room_again(self) -> None:
        try:
            await self._check_again()
        except LimitError:
            self._env.month.free(self._hold)
            self._sent = False
            raise _NoRoomToRetry from None

    async def _reserve_again(self, opened: OpenModel, request: ChatRequest) -> None:
        """Reserve for a request that is sent once more, as the one before counts."""
        await self._env.month.prepare()
        final = self._handle.current.final_only
        room = self._room(opened, self._prompt_tokens, request.max_tokens, within_run=not final)
        if isinstance(room, budget.ReachedLimit) or room < request.max_tokens:
            raise _NoRoomToRetry
        await self._send(request.max_tokens)

    async def _summarise(self, opened: OpenModel, step: context_fitting.Summarise, window: int, factor: float) -> None:
        summary, usage = "", Usage()
        # A summary counts like a reply; without room for it the digest, which is free, is used.
        await self._env.month.prepare()
        room = self._room(opened, math.ceil(step.tokens / min(1.0, factor)), min(SUMMARY_TOKENS, window // 5))
        if opened.dialect is not ToolDialect.GUIDED and not isinstance(room, budget.ReachedLimit):
            try:
                summary, usage = await self._model_summary(opened, step.entries, window, factor, room)
            except (LimitError, ProviderError) as error:
                self._sent = False
                log.warning("summary by the model failed (%s); a digest stands in", error.code)
        by_model = bool(summary.strip())
        if not by_model:
            summary = prompt_texts.digest(step.entries, limit=max(400, int(window * 0.2 * 3.2)))
        chosen = {entry.origin for entry in step.entries}

        def decide(now: RunState) -> list[EventBody]:
            self._sent = False  # what it used is in this event
            # Meanwhile something may have been pinned, or an older compaction undone, which renumbers entries.
            numbered = zip(now.numbers, now.conversation, strict=True)
            dropped = {number: entry for number, entry in numbered if entry.origin in chosen and not entry.held}
            saved = (
                sum(context_fitting.entry_tokens(entry, factor) for entry in dropped.values())
                - estimate(summary) * factor
            )
            return [
                ContextCompacted(
                    method="summary" if by_model else "digest",
                    dropped=tuple(dropped),
                    summary=summary,
                    covers_history=any(number < 0 for number in dropped),
                    tokens_before=step.tokens,
                    tokens_after=max(0, int(step.tokens - saved)),
                    usage=usage,
                )
            ]

        await self._env.journal.append_if(self._handle, decide, clear_partial=True)

    async def _model_summary(
        self, opened: OpenModel, entries: tuple[ContextEntry, ...], window: int, factor: float, reply_tokens: int
    ) -> tuple[str, Usage]:
        room = int((window * 0.8 - reply_tokens - 200) / factor * 3.0)
        text = prompt_texts.as_text(entries)
        if len(text) > room:
            text = text[: room // 3] + "\n[…]\n" + text[-(room - room // 3) :]
        request = ChatRequest(
            model=self._handle.current.agent.model,
            messages=(
                ChatMessage(role=Role.SYSTEM, content=prompt_texts.SUMMARY_INSTRUCTIONS),
                ChatMessage(role=Role.USER, content=text),
            ),
            max_tokens=reply_tokens,
            enable_thinking=False,
            context_window=window,
            retry=self._handle.current.parent_run_id is None,
        )
        self._estimated, self._info, received = estimate(text), opened.info, ReceivedReply(reply_tokens)
        await self._send(reply_tokens)
        failed = False
        try:
            await received.read(self._watched(opened.plain.stream(request)), self._check_again)
        except ProviderError as error:
            if not received.charged(error):
                raise
            log.warning("summary by the model broke off (%s); a digest stands in", error.code)
            failed = True
        usage = received.usage(self._estimated, opened.info)
        if failed or received.cut:
            return "", usage
        return received.reply.content[: max(400, int(window * 0.2 * 3.2))], usage

    async def _stream(self, opened: OpenModel, request: ChatRequest) -> ChatReply:
        state = self._handle.current
        began, length = self._env.clock.monotonic(), Length(request.max_tokens)
        repetition = Repetition() if self._env.in_force.applied.stop_repetition else None
        await self._send(request.max_tokens)
        async with aclosing(self._watched(opened.model.stream(request))) as deltas:
            async for delta in deltas:
                self._begun = self._begun or not isinstance(delta, RetryDelta | RetryDue)
                if length.over(delta):
                    log.warning(
                        "the server writes beyond the %s tokens of a reply: the stream is closed", request.max_tokens
                    )
                    return self._stopped(FinishReason.LENGTH)
                if isinstance(delta, TextDelta):
                    if not self.content and self.reasoning:
                        self._reasoning_ms = round((self._env.clock.monotonic() - began) * 1000)
                    self.content += delta.content
                    self._env.journal.publish(state, Token(content=delta.content, message_id=self.message_id))
                elif isinstance(delta, ReasoningDelta):
                    if delta.all_before:
                        self.reasoning, self.content = self.reasoning + self.content, ""
                    self.reasoning += delta.content
                    thought = Reasoning(content=delta.content, message_id=self.message_id, all_before=delta.all_before)
                    self._env.journal.publish(state, thought)
                elif isinstance(delta, ToolCallDelta):
                    self._called += delta.arguments  # every piece repeats the name
                elif isinstance(delta, RetryDue):
                    await self._check_room_again()
                elif isinstance(delta, RetryDelta):
                    retried = ModelRetried(attempt=delta.attempt, delay_s=delta.delay_s, reason=redact(delta.reason))
                    lost = self.cut_off("error") if delta.charged else []
                    if not lost:
                        self._sent = self._sent and delta.charged  # a stop while it waits costs nothing
                        await self._env.journal.append(self._handle, retried)
                        continue
                    await self._store_lost(*lost, retried)
                    await self._reserve_again(opened, request)
                    self._partial_saved = False  # the next request is another one
                elif isinstance(delta, ReplyDone):
                    return reply_without_secrets(delta.reply)
                if repetition is not None and repetition.over(delta):
                    log.warning("the model repeats itself: the stream is closed")
                    return self._stopped(FinishReason.REPETITION)
                if self._env.clock.monotonic() - self._saved_at >= SAVE_EVERY_S and (self.content or self.reasoning):
                    if isinstance(delta, ToolCallDelta):
                        # A call is shown once it is complete; until then this says that the reply has not stalled.
                        self._env.journal.publish(state, Token(content="", message_id=self.message_id))
                    await self._save_partial(state, unended(self._used(), self._most))
        raise ProviderError(N_("The model's answer ended unexpectedly."), code="truncated", recoverable=True)

    async def _commit(
        self, opened: OpenModel, ready: context_fitting.ReadyRequest, reply: ChatReply, duration_ms: int
    ) -> None:
        sent = opened.info.provider != DIRECT_CALL  # a direct call sends nothing anywhere
        most, called = ready.request.max_tokens, self._called
        usage = counted(reply, tokens_input=ready.tokens, most_output=most, called=called) if sent else Usage()
        if usage.tokens_input and not usage.estimated and opened.dialect is not ToolDialect.GUIDED:
            self._env.calibration(self._handle.current.agent).observe(ready.uncalibrated, usage.tokens_input)
        usage = priced(usage, opened.info)
        self._env.month.charged(opened.info, usage.cost)
        used = {call.call.id for call in self._handle.current.calls}
        used.update(call.id for entry in self._handle.current.entries for call in entry.calls)
        frame = self._frame
        new = (frame,) if frame is not None and frame.id not in self._env.frames else ()
        await self._env.journal.append(
            self._handle,
            ModelReplied(
                message_id=self.message_id,
                reply=unique_calls(judged(reply, ready.request.model), used),
                provider=opened.info.provider,
                dialect=opened.dialect.value,
                frame=frame.id if frame else "",
                with_tools=self._with_tools,
                with_images=self._sees,
                blind=self._blind,
                based_on=self._based_on,
                searched_tools=self._searched.tools if self._searched is not None else 0,
                searched_tokens=self._searched.tokens if self._searched is not None else 0,
                search_scope=self._searched.search.scope if self._searched is not None else SearchScope.SERVERS,
                usage=usage,
                context_tokens=usage.tokens_input + usage.tokens_output,
                context_window=ready.window,
                max_tokens=ready.request.max_tokens,
                duration_ms=duration_ms,
                reasoning_ms=self._reasoning_ms or (duration_ms if reply.reasoning else 0),
            ),
            clear_partial=True,
            frames=new,
            follow=self._follow,
        )
        self._env.frames.update(each.id for each in new)
        if reply.tool_calls and self._native_tools and opened.info.supports_tools is None:
            await self._remember(supports_tools=True)

    async def _without_native_tools(
        self, opened: OpenModel, ready: context_fitting.ReadyRequest, reply: ChatReply
    ) -> None:
        """Ask again in the dialect that needs no definitions, now and in later runs. The reply is kept as cut off: it
        was paid for.
        """
        usage = priced(counted(reply, tokens_input=ready.tokens, most_output=ready.request.max_tokens), opened.info)
        cut = [each.model_copy(update={"usage": usage}) for each in self.cut_off("error")]
        note = _("the server did not pass the tools on to the model")
        await self._store_lost(*cut, ToolsRefused(reason=note))
        await self._remember(supports_tools=False)

    async def _overflowed(self, error: ContextOverflowError) -> None:
        state = self._handle.current
        if state.overflows + 1 >= MOST_OVERFLOWS or (error.n_ctx is None and error.status is None):
            await self._failed(error)
            return
        opened = await self._open(state)
        known = min(opened.window, state.window or opened.window)
        if error.n_prompt:
            self._env.calibration(state.agent).observe(self._uncalibrated, error.n_prompt)
        named = error.n_ctx if error.n_ctx and error.n_ctx < known else None
        guess = int(min(known, self._estimated or known) * SHRINK)
        learned = WindowLearned(context_window=max(LEAST_WINDOW, named or guess))
        await self._store_lost(*self.cut_off("overflow"), learned)
        if named is not None and named >= LEAST_WINDOW:
            # A value reported by the server applies to the model in every run; our own guess only to this one.
            await self._remember(context_window=named)

    async def _failed(self, error: ProviderError) -> None:
        state = self._handle.current
        message = redact(error.localized(_))
        if self._native_tools and not self._begun and not state.tools_refused and refuses_tools(error):
            detail = redact(str(error.params.get("detail") or message))
            await self._env.journal.append(self._handle, ToolsRefused(reason=detail), clear_partial=True)
            await self._remember(supports_tools=False)
            return
        if self._pictured and not self._begun and not state.pictures_refused and refuses_pictures(error):
            detail = redact(str(error.params.get("detail") or message))
            await self._env.journal.append(self._handle, ImagesRejected(reason=detail), clear_partial=True)
            await self._remember(supports_vision=False)
            return
        if not self._begun and unexplained(error) and await self._left_out(error):
            return
        attempt = state.retries + 2
        delay = retry.run_delay(
            error, attempt, child=state.parent_run_id is not None, begun=self._begun, rng=random.random
        )
        if delay is not None:
            # Repeating is safe: nothing of the partial reply was acted upon, and tool results are in the journal.
            retried = ModelRetried(attempt=attempt, delay_s=delay, reason=message, again=True)
            await self._store_lost(*self.cut_off("error"), retried)
            await self._env.clock.sleep(delay)
            return
        if state.parent_run_id is None:
            await self._store_lost(*self.cut_off("error"), run_failure(error, message))
            return
        attempts = f" ({state.retries + 1} attempts)" if state.retries else ""
        end = RunFinished(status=RunStatus.ERROR, error=f"{message}{attempts}")
        # Nobody would read the results of background sub-agents.
        await self._teams.stop_below(self._handle)
        events = [*self.cut_off("error"), end]

        def decide(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                return None
            self._partial_saved = True
            return events

        await self._teams.conclude(self._handle, decide, clear_partial=True)

    async def _left_out(self, error: ProviderError) -> bool:
        """After an unexplained refusal, retry once with less: without the newest images, or shortened if long.

        Returns whether it is retried; its success shows what the refusal was about.
        """
        state = self._handle.current
        newest = context_fitting.newest_pictures(state, sees=self._sees, blind=self._blind)
        if self._pictured and not state.left_out and newest is not None:
            detail = redact(str(error.params.get("detail") or ""))
            names = tuple(image.name for image in newest.images if image.name)
            await self._env.journal.append(
                self._handle, ImagesRejected(reason=detail, entries=(newest.seq,), names=names), clear_partial=True
            )
            return True
        opened = await self._open(state)
        least = max(state.context_tokens, (opened.info.context_window or 2 * SHORT) // 2)
        if state.left_out or state.overflows or error.params.get("field") or self._estimated <= least:
            return False
        learned = WindowLearned(context_window=max(LEAST_WINDOW, int(min(opened.window, self._estimated) * SHRINK)))
        await self._env.journal.append(self._handle, learned, clear_partial=True)
        return True

    async def _remember(self, **facts: int | bool) -> None:
        """Store what a refusal revealed for later runs; this one has it in its journal."""
        try:
            await self._env.gateway.learned(self._handle.current.agent, **facts)
        except AtelierError as error:
            log.warning("what was learned of the model is not kept: %s", error)
