"""The runs of this process: start, steer, wait, resume. Everything a person or script can do to a run goes through here."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from app.domain import limits
from app.domain.agent import AgentConfig
from app.domain.base import new_id
from app.domain.chat import ImagePart
from app.domain.errors import AtelierError, ConflictError, LimitError, UsageError
from app.domain.events import (
    CallStatus,
    Dispatch,
    EventBody,
    Injected,
    LimitKind,
    PauseReason,
    QuestionAnswered,
    ReplyInterrupted,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    UserMessage,
)
from app.domain.question import QuestionStatus
from app.domain.stream import ChunkType, StreamEvent
from app.domain.workflow import Run, RunMode, RunStatus, Workflow
from app.engine import history
from app.engine.journal import RunHandle
from app.engine.run.driver import CANCELLED, SUPERSEDED, Driver, Stop, closing_events
from app.engine.run.environment import RunEnvironment
from app.engine.run.prompt import FINISH_NOTE
from app.engine.run.reduce import FINISH_NOW
from app.engine.run.steps import Done, Wait, next_step
from app.engine.run.tool_calls import finished
from app.i18n import N_, _, language
from app.tools.core.user_question import answer_result

log = logging.getLogger(__name__)

FINISHED_KEPT = 16
"""Runs that are over and stay in memory."""
MOST_IMAGES = 10
IMAGE_BYTES = 8 * 1024 * 1024
"""Base64 characters of one image; servers refuse larger ones."""


@dataclass(frozen=True, slots=True)
class Who:
    """Who answers: the configuration, and the stored agent it came from (empty for one made up on the spot)."""

    agent: AgentConfig
    agent_id: str = ""


AgentResolver = Callable[[Workflow, str], Awaitable[Who]]


async def _nothing(workflow: Workflow, content: str) -> None:
    return None


@dataclass
class _Live:
    """A run in memory; ``task`` is set while it is being driven."""

    handle: RunHandle
    driver: Driver | None = None
    task: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class RunManager:
    """Starts and steers runs.

    Attributes:
        slots: how many runs may work at once; others wait their turn with status ``processing``.
        resolve_agent: finds who answers in a workflow when the caller does not say.
        on_started: called with the workflow and the message after a run has started; names new workflows.
    """

    def __init__(self, env: RunEnvironment, resolve_agent: AgentResolver, *, slots: int = limits.WORKFLOWS_RUNNING) -> None:
        self._env = env
        self.resolve_agent = resolve_agent
        self.on_started: Callable[[Workflow, str], Awaitable[object]] = _nothing
        self.conversations = history.Conversations(env.repos)
        self._live: dict[str, _Live] = {}
        self._alive: dict[str, str] = {}
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._workflow_locks: dict[str, asyncio.Lock] = {}
        self.slots = slots
        self._working = 0
        self._slot_free = asyncio.Condition()
        self._closing = False

    # -- starting and talking ------------------------------------------------------------------------------------------------------

    async def send(
        self,
        workflow_id: str,
        content: str,
        *,
        agent: AgentConfig | None = None,
        agent_id: str = "",
        images: tuple[ImagePart, ...] = (),
        strategy: Dispatch = Dispatch.QUEUE,
        mode: RunMode = RunMode.AUTO,
    ) -> str:
        """Say something in a workflow: starts a run, or reaches the one that works, as ``strategy`` says. Returns the run's id.

        Args:
            agent: who answers when a run starts; None takes the stored agent ``agent_id``, else the workflow's, else the default one.

        Raises:
            LimitError: the message is too long.
            UsageError: the message is blank.
        """
        check_message(content, images)
        async with self._workflow_lock(workflow_id):
            active = await self._find_active(workflow_id)
            message = UserMessage(content=content, images=images, strategy=strategy)
            if active is not None and strategy is not Dispatch.TERMINATE:
                await self._dispatch(active, message)
                return active
            if active is not None:
                await self.cancel(active)
            row = await self._env.repos.workflows.get(workflow_id)
            who = Who(agent, agent_id) if agent is not None else await self.resolve_agent(row, agent_id)
            return await self._start(row, message, who, mode, row.head_run_id)

    async def regenerate(self, workflow_id: str, run_id: str) -> str:
        """Answer a turn again with the same message. The old branch stays. Raises as ``edit_and_resend`` does."""
        return await self.edit_and_resend(workflow_id, run_id, None)

    async def edit_and_resend(
        self, workflow_id: str, run_id: str, content: str | None, *, agent: AgentConfig | None = None, agent_id: str = ""
    ) -> str:
        """Answer a turn again: a new run beside ``run_id`` with ``content`` (None: the same message). The old branch stays.

        Raises:
            ConflictError: a run of the workflow is at work.
        """
        async with self._workflow_lock(workflow_id):
            if await self._find_active(workflow_id) is not None:
                raise ConflictError(N_("The agent is still working. Stop it before you try another branch."))
            run = await self._env.repos.runs.get(run_id)
            events = await history.run_events(self._env.repos, run_id)
            first = next((event.body for event in events if isinstance(event.body, UserMessage)), None)
            if first is None:
                raise UsageError(N_("This turn has no message to answer again."))
            text = first.content if content is None else content
            check_message(text, first.images)
            message = UserMessage(content=text, images=first.images)
            row = await self._env.repos.workflows.get(workflow_id)
            who = Who(agent, agent_id) if agent is not None else await self.resolve_agent(row, agent_id)
            return await self._start(row, message, who, RunMode.AUTO, run.previous_run_id)

    async def _start(self, row: Workflow, message: UserMessage, who: Who, mode: RunMode, previous: str | None) -> str:
        run_id = new_id()
        handle = RunHandle(run_id=run_id, workflow_id=row.id, history=await self.conversations.before(previous))
        started = RunStarted(
            agent_id=who.agent_id,
            agent=who.agent,
            mode=mode,
            previous_run_id=previous,
            correlation_id=run_id,
            language=language(),
            workspace=row.folders,
        )
        await self._env.journal.append(handle, started, message)
        self._live[run_id] = _Live(handle)
        self._alive[row.id] = run_id
        self._drive(run_id)
        await self.on_started(row, message.content)
        return run_id

    async def _dispatch(self, run_id: str, message: UserMessage) -> None:
        live = await self._load(run_id)
        if message.strategy is Dispatch.INTERRUPT:
            if not await self._stop(live, Stop("interrupt", then=(message,))):
                closing = closing_events(live.handle.current, CallStatus.CANCELLED, SUPERSEDED)
                await self._env.journal.append(live.handle, *closing, message)
                await self._unpause(live)
        else:
            await self._env.journal.append(live.handle, message)
            if message.strategy is Dispatch.QUEUE:
                await self._unpause(live)
        self._drive(run_id)

    async def _unpause(self, live: _Live) -> None:
        """A person who writes to a paused run wants it to go on; a limit that still holds stops it again and asks."""
        if live.handle.current.pause is not None:
            await self._env.journal.append(live.handle, RunResumed())

    # -- steering ------------------------------------------------------------------------------------------------------------------

    def active(self, workflow_id: str) -> str | None:
        """The id of the workflow's root run that is not over, or None."""
        return self._alive.get(workflow_id)

    async def index(self) -> None:
        """Learn from the database which runs are alive; called once when the engine opens."""
        for row in await self._env.repos.runs.alive():
            if row.parent_run_id is None:
                self._alive[row.workflow_id] = row.id

    async def _find_active(self, workflow_id: str) -> str | None:
        known = self._alive.get(workflow_id)
        if known is not None:
            return known
        row: Workflow = await self._env.repos.workflows.get(workflow_id)
        if row.head_run_id is None:
            return None
        run: Run = await self._env.repos.runs.get(row.head_run_id)
        return None if run.status.final else run.id

    async def pause(self, run_id: str) -> None:
        """Let the current step end, then hold the run until ``resume``.

        Raises:
            ConflictError: the run is over.
        """
        live = await self._load(run_id)
        if live.handle.current.status.final:
            raise ConflictError(N_("This run is over; there is nothing to pause."))
        if live.driver is not None and live.task is not None and not live.task.done():
            live.driver.pause_requested = True
        elif live.handle.current.pause is None:
            await self._env.journal.append(live.handle, RunPaused(reason=PauseReason.USER))

    async def resume(
        self,
        run_id: str,
        *,
        raise_limits: dict[LimitKind, float] | None = None,
        mode: RunMode | None = None,
        steps: int | None = None,
        finish: bool = False,
    ) -> None:
        """Go on with a run that was paused, cut off by a kill, stopped at a limit, or failed to reach its model.

        Args:
            raise_limits: what to add to the caps that stopped it. A limit that stays stops it again.
            steps: in stepping mode, how many steps to take; None takes them all.
            finish: give one last answer without tools, whatever the limit says.

        Raises:
            ConflictError: the run is over, or at work already.
        """
        live = await self._load(run_id)
        state = live.handle.current
        if live.task is not None and not live.task.done():
            raise ConflictError(N_("This run is at work already."))
        if state.status.final and not state.failed:
            raise ConflictError(N_("This run is over. Send a message to go on with the conversation."))
        if state.failed and (await self._env.repos.workflows.get(state.workflow_id)).head_run_id != run_id:
            raise ConflictError(N_("The conversation went on after this turn. Send the message again instead."))
        if state.status is RunStatus.AWAITING_USER and isinstance(next_step(state), Wait):
            return
        bodies: list[EventBody] = [RunResumed(raise_limits=raise_limits or {}, mode=mode, steps=steps)]
        bodies += await self._lost_reply(state.run_id)
        if finish:
            bodies += [*closing_events(state, CallStatus.CANCELLED, CANCELLED), Injected(reason=FINISH_NOW, content=FINISH_NOTE)]
        await self._env.journal.append(live.handle, *bodies, clear_partial=True)
        self._drive(run_id)

    async def _lost_reply(self, run_id: str) -> list[EventBody]:
        """What a kill left of a streamed reply, as the event that keeps it."""
        partial = await self._env.repos.journal.partial(run_id)
        if not partial or not (partial.get("content") or partial.get("reasoning")):
            return []
        return [
            ReplyInterrupted(
                message_id=str(partial["message_id"]),
                content=str(partial.get("content") or ""),
                reasoning=str(partial.get("reasoning") or ""),
                reason="killed",
            )
        ]

    async def cancel(self, run_id: str) -> None:
        """Stop at once: the model's request is closed, the tool cancelled, what was done is kept. A run that is over stays as it is."""
        live = await self._load(run_id)
        if await self._stop(live, Stop("cancel")):
            return
        state = live.handle.current
        if not state.status.final:
            closing = closing_events(state, CallStatus.CANCELLED, CANCELLED)
            lost = await self._lost_reply(run_id)
            end = RunFinished(status=RunStatus.CANCELLED)
            await self._env.journal.append(live.handle, *lost, *closing, end, clear_partial=True)
            self._settled(live)

    async def _stop(self, live: _Live, stop: Stop) -> bool:
        """Stop the driver in the middle of its step; False when it is not at work."""
        driver, task = live.driver, live.task
        if driver is None or task is None or task.done():
            return False
        driver.stop = stop
        driver.stopped = asyncio.get_running_loop().create_future()
        task.cancel()
        if stop.kind == "interrupt":
            # The driver commits the message and goes on; it is over only when the run is.
            await asyncio.wait({task, driver.stopped}, return_when=asyncio.FIRST_COMPLETED)
            return True
        await asyncio.wait({task})
        return live.handle.current.status.final

    async def answer_question(self, question_id: str, status: QuestionStatus, selected: tuple[str, ...] = (), text: str = "") -> None:
        """Give a waiting call its result: an answer, a skip or a timeout. The run goes on when nothing else is open.

        Raises:
            NotFoundError: no such question.
            ConflictError: it was answered already.
        """
        question = await self._env.repos.questions.get(question_id)
        live = await self._load(question.run_id)
        async with live.lock:
            state = live.handle.current
            asked = next((q for q in state.questions if q.id == question_id), None)
            call = state.call(question.call_id)
            if asked is None or call is None or call.status != "waiting":
                raise ConflictError(N_("This question was answered already."))
            answered = asked.model_copy(update={"status": status, "selected_options": selected, "text_response": text})
            result = answer_result(answered)
            tool = call.intent.tool if call.intent else call.call.name
            waited = round((self._env.clock.now() - asked.created_at).total_seconds() * 1000)
            await self._env.journal.append(
                live.handle,
                QuestionAnswered(
                    question_id=question_id, call_id=asked.call_id, status=status, selected_options=selected, text_response=text
                ),
                finished(asked.call_id, tool, result, duration_ms=max(0, waited)),
            )
        self._env.record_answer(question.workflow_id, status)
        self._drive(question.run_id)

    # -- waiting and restarting ----------------------------------------------------------------------------------------------------

    async def wait(self, run_id: str) -> Run:
        """Wait until the run is over or waits for someone; returns its row."""
        live = await self._load(run_id)
        while live.task is not None and not live.task.done():
            await asyncio.wait({live.task})
        return await self._env.repos.runs.get(run_id)

    async def resume_all(self) -> list[str]:
        """Go on with every run a kill cut off; runs that wait for a person or are paused stay as they are."""
        resumed = []
        for row in await self._env.repos.runs.alive():
            if row.status is not RunStatus.PROCESSING:
                continue
            live = self._live.get(row.id)
            if live is not None and live.task is not None and not live.task.done():
                continue
            try:
                await self.resume(row.id)
            except AtelierError as error:
                log.warning("run %s cannot go on: %s", row.id, error)
            else:
                resumed.append(row.id)
        return resumed

    async def close(self) -> None:
        """Stop driving. Runs at work are not ended: the next start goes on with them."""
        self._closing = True
        tasks = [live.task for live in self._live.values() if live.task is not None and not live.task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def forget(self, workflow_id: str) -> None:
        """Drop a deleted workflow's runs from memory."""
        for run_id in [run_id for run_id, live in self._live.items() if live.handle.workflow_id == workflow_id]:
            del self._live[run_id]
        self._alive.pop(workflow_id, None)
        self._env.journal.forget(workflow_id)
        self.conversations.forget()

    def state_of(self, run_id: str) -> RunHandle | None:
        """The run in memory, if it is there."""
        live = self._live.get(run_id)
        return live.handle if live else None

    def replay(self, workflow_id: str, run_id: str | None = None) -> AsyncIterator[StreamEvent]:
        """See ``history.replay``."""
        return history.replay(self._env.repos, workflow_id, run_id)

    async def fork(self, workflow_id: str, at: int) -> Workflow:
        """See ``history.fork``."""
        forked = await history.fork(self._env.repos, self._env.journal, workflow_id, at)
        self._env.bus.changed("workflow", forked.id)
        return forked

    # -- inside --------------------------------------------------------------------------------------------------------------------

    def _workflow_lock(self, workflow_id: str) -> asyncio.Lock:
        return self._workflow_locks.setdefault(workflow_id, asyncio.Lock())

    async def _load(self, run_id: str) -> _Live:
        live = self._live.get(run_id)
        if live is None:
            handle, events = await history.load(self._env.repos, self.conversations, run_id)
            self._env.memory_scopes.setdefault(run_id, {}).update(history.memory_scope(events))
            live = self._live.setdefault(run_id, _Live(handle))
        return live

    def _drive(self, run_id: str) -> None:
        live = self._live[run_id]
        if self._closing or (live.task is not None and not live.task.done()):
            return
        if isinstance(next_step(live.handle.current), Wait | Done):
            self._settled(live)
            return
        live.driver = Driver(self._env, live.handle)
        live.task = asyncio.create_task(self._work(live), name=f"run {run_id}")

    async def _work(self, live: _Live) -> None:
        assert live.driver is not None
        try:
            await self._take_slot(live)
            try:
                await live.driver.drive()
            finally:
                await self._free_slot()
        except asyncio.CancelledError:
            stop = live.driver.stop
            task = asyncio.current_task()
            if stop is None or task is None:
                raise
            # Stopped while it waited for a slot: nothing was open, so only the end has to be written.
            task.uncancel()
            live.driver.stop = None
            end: tuple[EventBody, ...] = (RunFinished(status=RunStatus.CANCELLED),) if stop.kind == "cancel" else ()
            closing = closing_events(live.handle.current, CallStatus.CANCELLED, CANCELLED)
            await self._env.journal.append(live.handle, *closing, *stop.then, *end)
            self._settled(live)
        except BaseExceptionGroup as group:
            self._broke(live, group.exceptions[0])
        except Exception as error:
            self._broke(live, error)
        else:
            self._settled(live)
        finally:
            if not self._closing:
                asyncio.get_running_loop().call_soon(self._again, live)

    def _again(self, live: _Live) -> None:
        """Something may have been said between the driver's last look and its end."""
        state = live.handle.state
        known = live.handle.run_id in self._live
        if known and state is not None and not isinstance(next_step(state), Wait | Done):
            self._drive(live.handle.run_id)

    def _settled(self, live: _Live) -> None:
        state = live.handle.current
        if state.status.final:
            if self._alive.get(state.workflow_id) == state.run_id:
                del self._alive[state.workflow_id]
            if not state.failed:
                self.conversations.finished(state)
            self._env.memory_scopes.pop(state.run_id, None)
            self._over(state.run_id)

    def _over(self, run_id: str) -> None:
        """Keep the newest runs that are over in memory, and let the others go: the journal has them."""
        self._finished[run_id] = None
        self._finished.move_to_end(run_id)
        while len(self._finished) > FINISHED_KEPT:
            old, _none = self._finished.popitem(last=False)
            live = self._live.get(old)
            if live is not None and live.handle.current.status.final and (live.task is None or live.task.done()):
                del self._live[old]

    def _broke(self, live: _Live, error: BaseException) -> None:
        """The journal could not be written: nothing followed from what was not committed. Fold again at the next try."""
        log.error("run %s stopped: %s", live.handle.run_id, error, exc_info=error)
        state = live.handle.current
        code = error.code if isinstance(error, AtelierError) else "internal_error"
        text = error.localized(_) if isinstance(error, AtelierError) else f"{type(error).__name__}: {error}"
        self._env.publish(state, ChunkType.ERROR, code=code, message=text, recoverable=True)
        self._live.pop(live.handle.run_id, None)
        self._env.journal.forget(live.handle.workflow_id)

    async def _take_slot(self, live: _Live) -> None:
        async with self._slot_free:
            await self._slot_free.wait_for(lambda: self._working < self.slots)
            self._working += 1

    async def _free_slot(self) -> None:
        async with self._slot_free:
            self._working -= 1
            self._slot_free.notify_all()


def check_message(content: str, images: tuple[ImagePart, ...] = ()) -> None:
    """Refuse a message nobody could answer.

    Raises:
        UsageError: it is blank and has no image.
        LimitError: it is longer than ``limits.MESSAGE`` characters, or has too many or too large images.
    """
    if not content.strip() and not images:
        raise UsageError(N_("The message is empty. Write something, or attach an image."))
    if len(images) > MOST_IMAGES:
        raise LimitError(N_("The message has {count} images; at most {most} are allowed."), count=len(images), most=MOST_IMAGES)
    if any(len(image.data) > IMAGE_BYTES for image in images):
        raise LimitError(N_("An image is larger than {most} MB. Make it smaller and attach it again."), most=IMAGE_BYTES * 3 // 4 // 10**6)
    if len(content) > limits.MESSAGE:
        raise LimitError(N_("The message has {length} characters; at most {most} are allowed."), length=len(content), most=limits.MESSAGE)
