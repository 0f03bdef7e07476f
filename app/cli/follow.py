"""Following a run from the command line until it ends, waits or is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from app.cli.answers import Answers, show_pending
from app.cli.dispatch import ABANDONED, CANCELLED, FAILED, LIMITED, OK, WAITING
from app.cli.output import Output
from app.cli.render import Renderer
from app.domain.errors import AtelierError
from app.domain.stream import ChunkType, StreamEvent
from app.domain.workflow import Run, RunStatus
from app.i18n import _

if TYPE_CHECKING:
    from app.engine.atelier import Atelier

STATUS = {
    "completed": OK,
    "error": FAILED,
    "abandoned": ABANDONED,
    "limited": LIMITED,
    "waiting": WAITING,
    "cancelled": CANCELLED,
}
"""Exit status by the status of ``workflow_complete``, or of the run."""


class Follower:
    """Shows one workflow's stream and answers its questions.

    Listening starts with the object, so that no event of a run started afterwards is missed.
    """

    def __init__(self, atelier: Atelier, out: Output, workflow_id: str, renderer: Renderer, answers: Answers) -> None:
        self._atelier = atelier
        self._out = out
        self._workflow_id = workflow_id
        self._renderer = renderer
        self._answers = answers
        self._events: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._unsubscribe = atelier.bus.subscribe(self._events.put_nowait, workflow_id)
        self._asking: dict[str, asyncio.Task[bool]] = {}
        self._left_open = False

    def close(self) -> None:
        self._unsubscribe()
        for task in self._asking.values():
            task.cancel()

    async def follow(self, run_id: str, *, pending: bool = False) -> int:
        """Until the run is over or waits; gives the exit status. Cancelling this cancels the run, which is saved.

        ``pending`` first answers the questions that were open before.
        """
        try:
            if pending:
                for asked in await self._atelier.questions.pending(self._workflow_id):
                    self._ask(asked.id)
            return await self._until_over(run_id)
        except asyncio.CancelledError:
            await self._cancel(run_id)
            return CANCELLED
        finally:
            self.close()
            finish = getattr(self._renderer, "finish", None)
            if finish is not None:
                finish()

    async def _until_over(self, run_id: str) -> int:
        while True:
            event = await self._events.get()
            if event is None:
                status = await self._standing(run_id)
                if status is not None:
                    return status
                continue
            self._renderer.show(event)
            if event.chunk_type is ChunkType.USER_QUESTION_START:
                self._ask(str(event.data["user_question"]["question_id"]))
            elif event.chunk_type is ChunkType.USER_QUESTION_COMPLETE:
                self._answered(str(event.data["question_id"]))
            elif event.run_id == run_id and event.chunk_type is ChunkType.WORKFLOW_COMPLETE and event.data["status"] != "waiting":
                return STATUS.get(str(event.data["status"]), FAILED)
            elif event.run_id == run_id and event.chunk_type is ChunkType.ERROR and not event.durable:
                # The journal could not be written: the run stands still, and nothing further comes.
                return FAILED
            elif event.run_id == run_id and event.chunk_type is ChunkType.RUN_STATUS and event.data["status"] == "paused":
                # A pause at a limit says so in the next event; a person's pause says nothing more.
                self._events.put_nowait(None)

    async def _standing(self, run_id: str) -> int | None:
        """The exit status when the run does not go on by itself: paused, or waiting for an answer nobody gives here."""
        run = await self._atelier.repos.runs.get(run_id)
        if run.status.final:
            return STATUS[run.status.value]
        if run.status is RunStatus.PAUSED:
            self._renderer.show(self._waiting(run))
            self._out.note(_("The run was paused. Go on with: atelier resume {workflow}", workflow=self._workflow_id), "warn")
            return WAITING
        if self._left_open and not self._asking and run.status is RunStatus.AWAITING_USER:
            self._renderer.show(self._waiting(run))
            await show_pending(self._atelier, self._out, self._workflow_id)
            return WAITING
        return None

    def _waiting(self, run: Run) -> StreamEvent:
        """The end of the stream of a run that waits: not durable, because answering it goes on with the same stream."""
        return StreamEvent(
            seq=self._atelier.journal.last_stream_seq(run.workflow_id),
            time=self._atelier.clock.now(),
            workflow_id=run.workflow_id,
            run_id=run.id,
            parent_run_id=run.parent_run_id,
            correlation_id=run.correlation_id,
            agent_id=run.agent_id,
            agent_name=run.agent_name,
            depth=run.depth,
            durable=False,
            chunk_type=ChunkType.WORKFLOW_COMPLETE,
            data={"status": "waiting"},
        )

    def _ask(self, question_id: str) -> None:
        if question_id in self._asking:
            return
        task = asyncio.create_task(self._answer(question_id))
        self._asking[question_id] = task
        task.add_done_callback(lambda done: self._asked(question_id, done))

    async def _answer(self, question_id: str) -> bool:
        # One question at a time: the terminal has one line to type in.
        others = [task for other, task in self._asking.items() if other != question_id and not task.done()]
        if others:
            await asyncio.wait(others)
        try:
            return await self._answers.answer(await self._atelier.questions.get(question_id))
        except AtelierError as error:
            self._out.note(_("Error: {problem}", problem=error.localized(_)), "error")
            return False

    def _asked(self, question_id: str, task: asyncio.Task[bool]) -> None:
        self._asking.pop(question_id, None)
        if task.cancelled():
            return
        if task.exception() is not None or not task.result():
            self._left_open = True
            self._events.put_nowait(None)

    def _answered(self, question_id: str) -> None:
        """Stop asking when the question was answered from elsewhere; our own answer ends its task by itself."""
        task = self._asking.get(question_id)
        if task is not None and question_id not in self._answers.given:
            task.cancel()

    async def _cancel(self, run_id: str) -> None:
        await self._atelier.runs.cancel(run_id)
        await self._atelier.runs.wait(run_id)
        while not self._events.empty():
            event = self._events.get_nowait()
            if event is not None:
                self._renderer.show(event)
