"""The runs of this process: start and talk. Everything a person or script can do to a run goes through here; see also ``steering``."""

from __future__ import annotations

import logging
from asyncio import FIRST_COMPLETED, sleep, wait
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.base import new_id
from atelier_desk.domain.chat import ImagePart, TextFile
from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, UsageError
from atelier_desk.domain.events import Dispatch, PauseReason, RunStarted, UserMessage
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.stream import StreamEvent, Topic
from atelier_desk.domain.workflow import Run, RunMode, RunStatus, Workflow
from atelier_desk.engine import history
from atelier_desk.engine.journal import RunHandle, run_events
from atelier_desk.engine.live import LiveRuns
from atelier_desk.engine.messages import IMAGE_BYTES, MOST_IMAGES, check_message
from atelier_desk.engine.run.environment import RunEnvironment
from atelier_desk.engine.run.mend import mended
from atelier_desk.engine.steering import Steering
from atelier_desk.engine.team.inactivity import InactivityWatch
from atelier_desk.engine.team.progress import ProgressReporter
from atelier_desk.engine.team.teams import Teams
from atelier_desk.i18n import N_, language

__all__ = ["IMAGE_BYTES", "MOST_IMAGES", "AgentResolver", "RunManager", "Who", "check_message"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Who:
    """Who answers: the configuration, and the stored agent it came from (empty for one made up on the spot)."""

    agent: AgentConfig
    agent_id: str = ""


AgentResolver = Callable[[Workflow, str], Awaitable[Who]]


async def _nothing(workflow: Workflow, content: str) -> None:
    return None


class RunManager(Steering):
    """Starts and steers runs.

    Attributes:
        resolve_agent: finds who answers in a workflow when the caller does not say.
        on_started: called with the workflow and the message after a run has started; names new workflows.
    """

    def __init__(self, env: RunEnvironment, resolve_agent: AgentResolver, *, slots: int = limits.WORKFLOWS_RUNNING) -> None:
        super().__init__(env, LiveRuns(env, slots))
        self.teams = Teams(env, self._runs)
        env.team = self.teams
        self._watch = InactivityWatch(env, self._runs, self.teams)
        self._progress = ProgressReporter(env, self._runs)
        self._settings: Settings | None = None
        self._unlisten = env.bus.on_changed(self._changed)
        self.resolve_agent = resolve_agent
        self.on_started: Callable[[Workflow, str], Awaitable[object]] = _nothing

    @property
    def slots(self) -> int:
        """How many runs may work at once; others wait their turn with status ``processing``."""
        return self._runs.slots.limit

    @slots.setter
    def slots(self, count: int) -> None:
        self._runs.slots.limit = count

    @property
    def inactivity_s(self) -> float:
        """Seconds without a word after which a model's reply, or a sub-agent, is ended."""
        return self._env.inactivity_s

    @inactivity_s.setter
    def inactivity_s(self, seconds: float) -> None:
        self._env.inactivity_s = self._watch.timeout_s = seconds

    # -- starting and talking ------------------------------------------------------------------------------------------------------

    async def send(
        self,
        workflow_id: str,
        content: str,
        *,
        agent: AgentConfig | None = None,
        agent_id: str = "",
        images: tuple[ImagePart, ...] = (),
        files: tuple[TextFile, ...] = (),
        strategy: Dispatch = Dispatch.QUEUE,
        mode: RunMode = RunMode.AUTO,
        approval: ApprovalMode | None = None,
        message_id: str = "",
    ) -> str:
        """Say something in a workflow: starts a run, or reaches the one that works, as ``strategy`` says. Returns the run's id.

        Args:
            agent: who answers when a run starts; None takes the stored agent ``agent_id``, else the workflow's, else the default one.
            message_id: the id of the message in the transcript, for who has to find out later whether it was sent; empty takes a new one.
            approval: how often a person is asked in a run that starts; None takes the agent's own mode.

        Raises:
            LimitError: the message is too long.
            UsageError: the message is blank.
            NotFoundError: no such workflow.
        """
        check_message(content, images, files)
        files = tuple(file.model_copy(update={"text": mended(file.text)}) for file in files)
        message = UserMessage(content=mended(content), images=images, files=files, strategy=strategy, message_id=message_id or new_id())
        async with self._workflow_lock(workflow_id):
            row = await self._env.repos.workflows.get(workflow_id)
            active = await self._find_active(row)
            if active is not None and strategy is Dispatch.TERMINATE:
                await self.cancel(active)
            elif active is not None and await self._say(active, message):
                return active
            who = Who(agent, agent_id) if agent is not None else await self.resolve_agent(row, agent_id)
            if approval is not None:
                who = Who(who.agent.model_copy(update={"approval": approval}), who.agent_id)
            return await self._start(row, message, who, mode, row.head_run_id)

    async def regenerate(self, workflow_id: str, run_id: str) -> str:
        """Answer a turn again with the same message. The old branch stays. Raises as ``edit_and_resend`` does."""
        return await self.edit_and_resend(workflow_id, run_id, None)

    async def edit_and_resend(
        self, workflow_id: str, run_id: str, content: str | None, *, agent: AgentConfig | None = None, agent_id: str = ""
    ) -> str:
        """Answer a turn again: a new run beside ``run_id`` with ``content`` (None: the same message). The old branch stays.

        Without an agent it is answered by whom the workflow names, or by the same one when that was made up for the turn.

        Raises:
            ConflictError: a run of the workflow is at work.
            NotFoundError: the workflow has no such turn.
        """
        async with self._workflow_lock(workflow_id):
            row = await self._env.repos.workflows.get(workflow_id)
            if await self._find_active(row) is not None:
                raise ConflictError(N_("The agent is still working. Stop it before you try another branch."))
            run = await self._env.repos.runs.get(run_id)
            if run.workflow_id != workflow_id:
                raise NotFoundError(N_("There is no run {id}."), id=run_id)
            bodies = [event.body for event in await run_events(self._env.repos, run_id)]
            first = next((body for body in bodies if isinstance(body, UserMessage)), None)
            started = next((body for body in bodies if isinstance(body, RunStarted)), None)
            if first is None or started is None:
                raise UsageError(N_("This turn has no message to answer again."))
            text = first.content if content is None else mended(content)
            check_message(text, first.images, first.files)
            message = UserMessage(content=text, images=first.images, files=first.files)
            if agent is None and not agent_id and not started.agent_id:
                agent = started.agent
            who = Who(agent, agent_id) if agent is not None else await self.resolve_agent(row, agent_id)
            return await self._start(row, message, who, RunMode.AUTO, run.previous_run_id)

    async def _start(self, row: Workflow, message: UserMessage, who: Who, mode: RunMode, previous: str | None) -> str:
        run_id = new_id()
        settings = self._settings = self._settings or await self._env.repos.settings.load()
        handle = RunHandle(run_id=run_id, workflow_id=row.id, history=await self._runs.conversations.before(previous))
        started = RunStarted(
            agent_id=who.agent_id,
            agent=who.agent,
            mode=mode,
            previous_run_id=previous,
            correlation_id=run_id,
            max_depth=settings.max_depth,
            approvals=ApprovalPolicy(**settings.approvals.__dict__, mode=who.agent.approval),
            language=language(),
            workspace=row.folders,
        )
        self._env.journal.learn(row)
        try:
            await self._env.journal.append(handle, started, message)
        finally:
            # Also when whoever sent it no longer waits: it is in the journal.
            if handle.state is not None:
                self._runs.drive(self._runs.add(handle))
        try:
            await self.on_started(row, message.content)
        except AtelierError as error:
            # The turn is under way: who sent it must not send it again because of a name.
            log.warning("what follows the start of run %s failed: %s", run_id, error)
        return run_id

    # -- what there is -------------------------------------------------------------------------------------------------------------

    def active(self, workflow_id: str) -> str | None:
        """The id of the workflow's root run that is not over, or None."""
        return self._runs.alive.get(workflow_id)

    async def index(self) -> None:
        """Learn from the database which runs are alive; called once when the engine opens.

        One that says it is at work was cut off by a kill, because nobody else has the data folder open: it is marked as interrupted.
        """
        rows = await self._env.repos.runs.alive()
        for row in rows:
            if row.parent_run_id is None:
                self._runs.alive[row.workflow_id] = row.id
            else:
                self.teams.alive.setdefault(row.correlation_id, set()).add(row.id)
        for row in rows:
            if row.status is RunStatus.PROCESSING:
                try:
                    await self._runs.mark_interrupted([await self._runs.load(row.id)], "killed")
                except (AtelierError, ValueError):
                    # One journal that cannot be folded must not keep the others from being opened.
                    log.exception("run %s cannot be read", row.id)

    async def _find_active(self, row: Workflow) -> str | None:
        known = self.active(row.id)
        if known is not None or row.head_run_id is None:
            return known
        live = self._runs.get(row.head_run_id)
        if live is not None and live.handle.state is not None:
            final = live.handle.state.status.final
        else:
            final = (await self._env.repos.runs.get(row.head_run_id)).status.final
        return None if final else row.head_run_id

    def state_of(self, run_id: str) -> RunHandle | None:
        """The run in memory, if it is there."""
        live = self._runs.get(run_id)
        return live.handle if live else None

    # -- waiting and restarting ----------------------------------------------------------------------------------------------------

    async def wait(self, run_id: str) -> Run:
        """Wait until the run is over, or nothing in its team is at work any more because somebody has to act; returns its row."""
        live = await self._runs.load(run_id)
        while not live.handle.current.status.final or live.at_work:
            working = [each.task for each in (live, *await self._runs.below(live)) if each.at_work and each.task is not None]
            if not working:
                break
            await wait(working, return_when=FIRST_COMPLETED)
            # What follows from an end, a parent that goes on, begins in the next round of the loop.
            await sleep(0)
        if live.handle.stale or live.handle.row is None:
            return await self._env.repos.runs.get(run_id)
        return live.handle.row

    async def team_of(self, run_id: str) -> list[RunHandle]:
        """A run and everything below it that is not over, from the top down."""
        live = await self._runs.load(run_id)
        return [live.handle, *(below.handle for below in await self._runs.below(live))]

    async def resume_all(self) -> list[str]:
        """Go on with every run that was cut off by a kill or by the end of the program.

        Runs that wait for a person, are paused, or were interrupted because a person ended their command stay as they are.
        """
        resumed = []
        rows = await self._env.repos.runs.alive()
        known = {row.id for row in rows}
        for row in rows:
            live = self._runs.get(row.id)
            if row.status is RunStatus.PAUSED or (live is not None and live.at_work):
                continue
            try:
                if row.status is RunStatus.INTERRUPTED and (await self._runs.load(row.id)).handle.current.ended == "command":
                    continue
                if row.parent_run_id is not None and row.parent_run_id not in known:
                    above = (await self._runs.load(row.parent_run_id)).handle.current
                    if above.status.final and not above.failed:
                        # Its parent ended while it was being stopped.
                        await self._runs.cancel(row.id)
                        continue
                if await self._held_above(row):
                    continue
                await self.resume(row.id, below=False)
            except AtelierError as error:
                log.warning("run %s cannot go on: %s", row.id, error)
            except ValueError:
                # One journal that cannot be folded must not hold up the others.
                log.exception("run %s cannot be read", row.id)
            else:
                if row.status in (RunStatus.PROCESSING, RunStatus.INTERRUPTED):
                    resumed.append(row.id)
        return resumed

    async def _held_above(self, row: Run) -> bool:
        """Whether a person paused a run above a sub-agent, which a kill then kept from pausing itself."""
        if row.parent_run_id is None:
            return False
        above = await self._above(await self._runs.load(row.id))
        return any(live.handle.current.pause is PauseReason.USER for live in above)

    async def close(self) -> None:
        """Stop driving. Runs at work are not ended but interrupted."""
        self._unlisten()
        self._progress.close()
        await self._watch.close()
        await self._runs.close()

    def _changed(self, topic: Topic, id: str) -> None:
        if topic == "settings":
            self._settings = None

    def forget(self, workflow_id: str) -> None:
        """Drop a deleted workflow's runs from memory."""
        self._runs.forget(workflow_id)
        self._env.journal.forget(workflow_id)
        lock = self._workflow_locks.get(workflow_id)
        if lock is not None and not lock.locked():
            del self._workflow_locks[workflow_id]

    def replay(self, workflow_id: str, run_id: str | None = None) -> AsyncIterator[StreamEvent]:
        """See ``history.replay``."""
        return history.replay(self._env.repos, workflow_id, run_id)

    async def fork(self, workflow_id: str, at: int) -> Workflow:
        """See ``history.fork``."""
        forked = await history.fork(self._env.repos, self._env.journal, workflow_id, at)
        for row in await self._env.repos.runs.list(forked.id):
            if row.parent_run_id is None and not row.status.final:
                self._runs.alive[forked.id] = row.id
        self._env.bus.changed("workflow", forked.id)
        return forked
