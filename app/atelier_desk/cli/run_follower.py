"""Follow a run and its team until it ends, waits or is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any

from atelier_desk.cli.answering_base import Asker
from atelier_desk.cli.event_renderers import Renderer
from atelier_desk.cli.event_text import unfinished
from atelier_desk.cli.parser import ABANDONED, FAILED, LIMITED, OK, WAITING
from atelier_desk.cli.questions_and_approvals import Responders
from atelier_desk.cli.stepper import Stepper
from atelier_desk.cli.terminal_io import Output, ReaderGone
from atelier_desk.domain.errors import AtelierError, ConflictError
from atelier_desk.domain.events.run import LimitKind
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import ChunkType, StreamEvent, Topic
from atelier_desk.domain.workflow import Run, RunMode, RunStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.runs.turn_stream import standing
from atelier_desk.presentation.cost_text import warning_text
from atelier_desk.presentation.run_notices import continue_text
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import _
from atelier_desk.support.shutdown import CANCELLED

STATUS = {
    "completed": OK,
    "error": FAILED,
    "abandoned": ABANDONED,
    "limited": LIMITED,
    "waiting": WAITING,
    "cancelled": CANCELLED,
    "interrupted": CANCELLED,
}
"""Exit status by the status of ``workflow_complete`` or of the run."""
STANDING = ("waiting", "limited")
"""Statuses of ``workflow_complete`` after which the team may still run or be answered here."""


class Follower:
    """Shows a workflow's events, answers its questions, decides about calls and releases steps.

    Listening starts with the object, so events of a run started later are not missed.
    """

    def __init__(
        self,
        atelier: Atelier,
        out: Output,
        workflow_id: str,
        renderer: Renderer,
        people: Responders,
        stepper: Stepper | None = None,
        *,
        talking: bool = False,
    ) -> None:
        """``talking``: another line is read after this turn, so the person can simply write on."""
        self._atelier = atelier
        self._out = out
        self._workflow_id = workflow_id
        self._renderer = renderer
        self._people = people
        self._stepper = stepper
        self._talking = talking
        self._events: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._unsubscribe = atelier.bus.subscribe(self._events.put_nowait, workflow_id)
        self._unwarn = atelier.bus.on_changed(self._on_changed)
        self._asking: dict[str, asyncio.Task[bool]] = {}
        self._terminal = asyncio.Lock()
        """One question at a time: the terminal has one input line."""
        self._settled: asyncio.Task[Run] | None = None
        """Done when no run of the team is active; None when that must be checked again."""
        self._failed: BaseException | None = None
        self._printed = ""
        """Status of the latest ``workflow_complete``."""
        self._caught_up = 0
        """Number of the last stored event that was read from the journal instead of the queue."""
        self._replies: dict[str, int] = {}
        """By run: number of the last complete reply read from the journal."""
        self.owns = True
        """Whether this command started the run; if so, ending the command interrupts it."""

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic == "usage":
            background_tasks.start(self._warn(), "warning of the monthly limit", self._atelier.bus.failed)

    async def _warn(self) -> None:
        self._out.note(warning_text(await self._atelier.usage.month()), "warn")

    def close(self) -> None:
        self._unsubscribe()
        self._unwarn()
        for task in (*self._asking.values(), self._settled):
            if task is not None:
                task.cancel()

    @contextlib.contextmanager
    def begun(self) -> Iterator[None]:
        """Wraps the start of a run: when that fails, nothing is followed."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    async def begin(self, run_id: str, going_on: Awaitable[None], *, may_be_over: bool = False) -> None:
        """Start the run that ``follow`` shows.

        A run that is already active in the window's process stays that process's own.

        Raises:
            ConflictError: the run has ended, and ``may_be_over`` is False.
        """
        with self.begun():
            try:
                await going_on
            except ConflictError:
                over = (await self._atelier.repos.runs.get(run_id)).status.final
                if over and not may_be_over:
                    raise
                if not over:
                    self.owns = False
                    self._out.note(_("The run is already in progress."))

    async def follow(self, run_id: str, *, pending: bool = False, after: int | None = None) -> int:
        """Follow until the run ends or its team waits; returns the exit status.

        Cancelling interrupts the run; ``resume`` continues it. ``pending`` first handles the questions and
        approvals that were already open. With ``after`` the stored events of the run after that number are
        shown first.
        """
        try:
            if after is not None:
                await self._catch_up(run_id, after)
            if pending:
                await self._ask_pending()
            return await self._until_over(run_id)
        except asyncio.CancelledError:
            await self._interrupt(run_id)
            await self._show_interrupted(run_id)
            return CANCELLED
        except ReaderGone:
            await self._interrupt(run_id)
            raise
        finally:
            self.close()
            finish = getattr(self._renderer, "finish", None)
            if finish is not None:
                with contextlib.suppress(ReaderGone):
                    finish()

    async def _ask_pending(self) -> None:
        for asker in (self._people.questions, self._people.approvals):
            for asked_id in await asker.pending(self._workflow_id):
                self._ask(asked_id, asker)

    async def _until_over(self, run_id: str) -> int:
        self._watch(run_id)
        while True:
            event = await self._events.get()
            if event is None:
                status = await self._at_rest(run_id)
                if status is not None:
                    return status
                continue
            if self._was_caught_up(event):
                continue
            self._show(event, run_id)
            self._respond(event)
            if event.run_id != run_id:
                continue
            if isinstance(end := event.payload, payloads.WorkflowComplete):
                self._printed = end.status
                if self._printed not in STANDING:
                    return STATUS.get(self._printed, FAILED)
            elif event.chunk_type is ChunkType.ERROR and not event.durable:
                # The journal could not be written: the run has stopped, and no further events follow.
                return FAILED
            elif event.chunk_type is ChunkType.RUN_STATUS:
                # The run continues, or reports its new status.
                self._printed = ""

    def _show(self, event: StreamEvent, run_id: str) -> None:
        if event.durable:
            # Recorded before the event is shown, so both reach the other process or neither does.
            self._out.shown(self._workflow_id, run_id, event.seq)
        self._renderer.show(event)
        match payload := event.payload:
            case payloads.MessageAdded() if event.depth == 0 and (ended := unfinished(payload)):
                self._out.note(ended, "warn")
            case payloads.WorkflowComplete() if event.run_id == run_id and payload.status not in STANDING:
                self._offer_more(payload.finish_reason)

    async def _catch_up(self, run_id: str, after: int) -> None:
        """Show stored events that nobody has shown yet, such as those of another process."""
        run = await self._atelier.repos.runs.get(run_id)
        team = run.correlation_id or run.id
        async for event in self._atelier.runs.replay(self._workflow_id):
            if event.seq > after and event.correlation_id == team:
                if self._streamed_before(event, run_id):
                    self._out.write("\n")
                else:
                    self._show(event, run_id)
                self._caught_up = event.seq
                if isinstance(payload := event.payload, payloads.MessageAdded) and payload.role == "assistant":
                    self._replies[event.run_id] = event.seq

    def _was_caught_up(self, event: StreamEvent) -> bool:
        """Whether the journal has already shown this event, or the reply it is a part of.

        A reply can be read from the journal before all its parts have arrived in the queue.
        """
        if event.durable:
            return event.seq <= self._caught_up
        return isinstance(event.payload, payloads.TextPayload) and event.seq < self._replies.get(event.run_id, 0)

    def _streamed_before(self, event: StreamEvent, run_id: str) -> bool:
        """Whether the process that ended already showed this part of a reply."""
        request = self._out.request
        payload = event.payload
        cut = isinstance(payload, payloads.MessageAdded) and event.run_id == run_id and payload.cut_off
        return cut and request.again and request.streaming and not self._out.json

    def _respond(self, event: StreamEvent) -> None:
        match payload := event.payload:
            case payloads.UserQuestionStart():
                self._ask(payload.user_question.question_id, self._people.questions)
            case payloads.ValidationRequired():
                self._ask(payload.validation_id, self._people.approvals)
            case payloads.UserQuestionComplete():
                self._answered(payload.question_id)
            case payloads.ValidationResponse():
                self._answered(payload.validation_id)

    def _offer_more(self, finish: str) -> None:
        """Say how to continue a last reply that was cut off."""
        if not finish:
            return
        words = continue_text(finish)
        if self._talking:
            self._out.note(_("To continue, type: {text}", text=words), "warn")
        else:
            command = f'atelier run --workflow {self._workflow_id} "{words}"'
            self._out.note(_("To continue: {command}", command=command), "warn")

    def _watch(self, run_id: str) -> None:
        """Add an end mark after the events when no run of the team is active any more."""
        if self._settled is None:
            self._settled = asyncio.create_task(self._atelier.runs.wait(run_id))
            self._settled.add_done_callback(lambda task: None if task.cancelled() else self._events.put_nowait(None))

    async def _at_rest(self, run_id: str) -> int | None:
        """Exit status when the team cannot continue by itself; None while it can.

        It has ended, is paused, or waits for an answer that nobody gives here.
        """
        if self._failed is not None:
            raise self._failed
        if self._asking or (self._settled is not None and not self._settled.done()):
            return None
        if self._settled is None:
            self._watch(run_id)
            return None
        if not self._events.empty():
            self._events.put_nowait(None)
            return None
        self._settled.result()
        self._settled = None
        run = await self._atelier.repos.runs.get(run_id)
        if run.status.final:
            return STATUS[run.status.value]
        end = await standing(self._atelier, run_id)
        # The loop guard also stops the run at a limit, and has reported it.
        status = self._printed or str(end.data["status"])
        if (
            status == "waiting"
            and self._stepper is not None
            and await self._stepper.take_steps(self._workflow_id, run_id)
        ):
            self._watch(run_id)
            return None
        if not self._printed:
            self._renderer.show(end)
        await self._show_waiting(run, limited=status == "limited")
        return STATUS[status]

    async def _show_waiting(self, run: Run, *, limited: bool) -> None:
        """Show what the team waits for and what to type; a limit was reported already."""
        asked = await self._people.show_pending(self._workflow_id)
        if limited:
            return
        if run.status is RunStatus.PAUSED:
            self._out.note(
                _("The run was paused. Continue with: atelier resume {workflow}", workflow=self._workflow_id), "warn"
            )
        elif run.status is RunStatus.INTERRUPTED:
            self._print_interrupted()
        elif not asked:
            self._out.note(
                _("A sub-agent was paused. Continue with: atelier resume {workflow}", workflow=self._workflow_id),
                "warn",
            )

    def _ask(self, asked_id: str, asker: Asker[Any]) -> None:
        if asked_id in self._asking:
            return
        task = asyncio.create_task(self._in_turn(asked_id, asker))
        self._asking[asked_id] = task
        task.add_done_callback(lambda done: self._asked(asked_id, done))

    async def _in_turn(self, asked_id: str, asker: Asker[Any]) -> bool:
        async with self._terminal:
            try:
                return await asker.settle(asked_id)
            except AtelierError as error:
                self._out.note(_("Error: {problem}", problem=error.localized(_)), "error")
                return False

    def _asked(self, asked_id: str, task: asyncio.Task[bool]) -> None:
        self._asking.pop(asked_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            # An unexpected error ends the command, as elsewhere.
            self._failed = error
        if self._settled is not None and self._settled.done():
            # It was determined before this answer.
            self._settled = None
        self._events.put_nowait(None)

    def _answered(self, asked_id: str) -> None:
        """Stop asking when it was answered elsewhere or timed out; our own answer ends its task."""
        task = self._asking.get(asked_id)
        if task is not None and asked_id not in self._people.given:
            task.cancel()

    async def _interrupt(self, run_id: str) -> None:
        """Interrupt the run when the command ends; a run that another process started continues."""
        if self.owns:
            await self._atelier.runs.live.interrupt(run_id, "program" if self._out.handing_over else "command")

    async def _show_interrupted(self, run_id: str) -> None:
        if self._out.handing_over:
            # The next process shows it from the journal.
            return
        while not self._events.empty():
            event = self._events.get_nowait()
            if event is not None:
                self._renderer.show(event)
        if not self.owns:
            return
        run = await self._atelier.repos.runs.get(run_id)
        if run.status.final:
            # It ended at that moment, and reported it.
            return
        self._renderer.show(await standing(self._atelier, run_id))
        if run.status is RunStatus.INTERRUPTED:
            self._print_interrupted()

    def _print_interrupted(self) -> None:
        self._out.note(
            _("The run was interrupted. Continue with: atelier resume {workflow}", workflow=self._workflow_id), "warn"
        )


async def resume_team(
    atelier: Atelier,
    run: Run,
    raised: Mapping[LimitKind, float] | None = None,
    *,
    finish: bool = False,
    stepping: bool = False,
) -> None:
    """Resume a root run and all paused runs below it; a limit that still holds stops it again.

    ``raised`` is added to the limits of each agent that stopped at one of them; with ``finish`` each of those
    gives a last answer. With ``stepping`` each stops before its next step.

    Raises:
        ConflictError: the run has ended, or is active already.
    """
    raised = dict(raised or {})
    limits = {handle.run_id: handle.current.limit for handle in await atelier.runs.team_of(run.id)}

    async def go_on(run_id: str) -> None:
        limit = limits.get(run_id)
        added = {limit.limit: raised[limit.limit]} if limit is not None and raised and limit.limit in raised else None
        if added:
            raised.pop(LimitKind.MONTH, None)  # shared by all of them
        mode, steps = (RunMode.STEPPING, 0) if stepping else (None, None)
        await atelier.runs.steering.resume(
            run_id, raise_limits=added, finish=finish and limit is not None, mode=mode, steps=steps
        )

    await go_on(run.id)
    for each in await atelier.repos.runs.teams([run.id]):
        if each.id != run.id and each.status is RunStatus.PAUSED:
            with contextlib.suppress(ConflictError):
                # Resuming its parent has resumed it.
                await go_on(each.id)
