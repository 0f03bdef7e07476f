"""The runs of this process: starting, awaiting and controlling them."""

from __future__ import annotations

import logging
from asyncio import FIRST_COMPLETED, sleep, wait
from collections.abc import AsyncIterator, Sequence

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import ConflictError, NotFoundError, UsageError
from atelier_desk.domain.events.run import QueueChanged, RunStarted, UserMessage
from atelier_desk.domain.model_messages import ImagePart, TextFile
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.stream.event import StreamEvent, Topic
from atelier_desk.domain.workflow import QUEUED, Dispatch, Run, RunMode, Workflow
from atelier_desk.engine.attachments.reading import PreparedAttachments
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.journal import replay_and_fork
from atelier_desk.engine.journal.journal import RunHandle, run_events
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.run.reducer.state import used_folders, without_called_skill
from atelier_desk.engine.run.tainted_file_reads import read_at_start
from atelier_desk.engine.runs.answering import Answering
from atelier_desk.engine.runs.effective_agent import Responder, other_agent, responder
from atelier_desk.engine.runs.live_runs import LiveRuns
from atelier_desk.engine.runs.memory_extraction import MemoryExtraction
from atelier_desk.engine.runs.message_attachments import Attaching
from atelier_desk.engine.runs.message_validation import IMAGE_BYTES, MOST_IMAGES, calling, check_message
from atelier_desk.engine.runs.pause_resume_step import Steering
from atelier_desk.engine.runs.pins_and_compaction_undo import ContextEditing
from atelier_desk.engine.runs.queued_messages import WaitingMessages
from atelier_desk.engine.runs.recovery import Recovery
from atelier_desk.engine.runs.rights_withdrawal import RightsWithdrawal
from atelier_desk.engine.runs.side_requests import SideRequests
from atelier_desk.engine.runs.workflow_titles import Titles
from atelier_desk.engine.services.common.workflow_names import name_from, placeholders
from atelier_desk.engine.team.inactivity import InactivityWatch
from atelier_desk.engine.team.sub_agent_progress import ProgressReporter
from atelier_desk.engine.team.sub_agent_runs import Teams
from atelier_desk.policy.permissions import taint_sources
from atelier_desk.policy.permissions.rule_scope import for_run
from atelier_desk.storage.writing.journal_commit import Rename
from atelier_desk.support.i18n import N_, language
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.resolved_folders import resolved_paths

__all__ = ["IMAGE_BYTES", "MOST_IMAGES", "RunManager", "check_message"]

log = logging.getLogger(__name__)


def _rename(row: Workflow, content: str) -> Rename | None:
    """Return the rename of an unnamed workflow after its first message."""
    name = name_from(content) if row.name in placeholders() else ""
    return Rename(row.name, name, "words") if name else None


class RunManager:
    """Starts runs, and is the interface to them for people and scripts; its parts handle running ones.

    Attributes:
        env: everything a run accesses.
        live: the runs in memory, including each workflow's live one.
        teams: interactions between the runs of a team.
        steering: pause, resume, step, message.
        rights_withdrawal: withdrawal of rights during runs.
        answering: what runs wait for.
        editing: changes of the context that a model is sent.
        attaching: attachments of messages.
        waiting: messages queued until the preceding turn is answered.
        titles: workflow titles by the model.
        remembering: memory extraction by the model.
        recovery: runs interrupted by a kill or the end of the program.
    """

    def __init__(self, env: RunEnvironment, *, slots: int = limits.WORKFLOWS_RUNNING) -> None:
        self.env = env
        self.live = LiveRuns(env, slots, Teams)
        self.teams = self.live.teams
        self.steering = Steering(env, self.live)
        self.rights_withdrawal = RightsWithdrawal(env, self.live)
        self.answering = Answering(env, self.live)
        self.editing = ContextEditing(env, self.live)
        self.attaching = Attaching(env)
        self.waiting = WaitingMessages(env, self.live)
        self.recovery = Recovery(env, self.live, self.steering)
        requests = SideRequests(env, self.live)
        self.titles = Titles(env, requests)
        self.remembering = MemoryExtraction(env, requests)
        self._watch = InactivityWatch(env, self.live)
        self._progress = ProgressReporter(env, self.live)
        self._settings: Settings | None = None
        self._settings_changes = 0
        self._unlisten = env.bus.on_changed(self._changed)

    async def send(
        self,
        workflow_id: str,
        content: str,
        *,
        agent: AgentConfig | None = None,
        agent_id: str = "",
        images: tuple[ImagePart, ...] = (),
        files: tuple[TextFile, ...] = (),
        attachments: Sequence[PreparedAttachments | Attachment] = (),
        strategy: Dispatch = Dispatch.QUEUE,
        mode: RunMode = RunMode.AUTO,
        approval: ApprovalMode | None = None,
        message_id: str = "",
    ) -> str:
        """Send a message in a workflow: starts a run, or reaches the running one, according to ``strategy``. Returns
        the run's id.

        Args:
            agent: who answers if a run starts; None uses the stored agent ``agent_id``, else the workflow's, else the
                default one.
            images, files: from programs that send their own, stored completely in the journal.
            attachments: a person's attachments: just read, or already stored with the workflow (for example by a
                draft).
            message_id: the message's id in the transcript, to check later whether it was sent; empty creates one.
            approval: approval mode of a run that starts; None uses the agent's own.

        Raises:
            LimitError: the message is too long.
            UsageError: the message is blank.
            NotFoundError: no such workflow.
        """
        direct = agent is not None and agent.provider == DIRECT_CALL
        check_message(content, images, files, attachments, limits.CALL if direct else limits.MESSAGE)
        files = tuple(file.model_copy(update={"text": sanitized(file.text)}) for file in files)
        async with self.live.beginning(workflow_id):
            row = await self.env.repos.workflows.get(workflow_id)
            active = await self._find_active(row)
            if active is not None and strategy is Dispatch.TERMINATE:
                await self.cancel(active)
                active = None
            who = Responder(agent, agent_id) if agent is not None else await responder(self.env, row, agent_id)
            message = UserMessage(
                content=sanitized(content),
                images=images,
                files=files,
                # Their bytes are on disk before the event that names them is committed.
                attachments=await self.attaching.make(workflow_id, attachments, who.agent),
                strategy=strategy,
                message_id=message_id or new_id(),
            )
            message = await calling(self.env, message, row.workspace)
            if active is not None and await self.steering.send(active, await self._answered_by(message, active, who)):
                return active
            if approval is not None:
                who = Responder(who.agent.model_copy(update={"approval": approval}), who.agent_id)
            return await self._start(row, message, who, mode, row.head_run_id)

    async def regenerate(
        self, workflow_id: str, run_id: str, message_id: str = "", *, provider: str = "", model: str = ""
    ) -> str:
        """Regenerate a turn with the same messages, up to ``message_id`` (empty: all). The old branch stays. Raises as
        ``edit_and_resend``.

        ``provider`` and ``model`` answer this time only; the workflow's choice is unchanged.
        """
        return await self.edit_and_resend(
            workflow_id, run_id, None, message_id, model=(provider, model) if model else None
        )

    async def edit_and_resend(
        self,
        workflow_id: str,
        run_id: str,
        content: str | None,
        message_id: str = "",
        *,
        model: tuple[str, str] | None = None,
    ) -> str:
        """Regenerate a turn: a new run beside ``run_id`` with ``content`` (None: the same text). The old branch stays.

        A turn has several messages if some were queued or steered it. ``message_id`` is the one to change (empty: the
        first), or the reply to regenerate; earlier ones are sent again unchanged, later ones stay on the old branch.
        The workflow's agent answers, or the same one if it was created for the turn. ``model``
        (provider and name) replaces the agent's own for this answer.

        Raises:
            ConflictError: a run of the workflow is working.
            NotFoundError: the workflow has no such turn.
        """
        async with self.live.beginning(workflow_id):
            row = await self.env.repos.workflows.get(workflow_id)
            if await self._find_active(row) is not None:
                raise ConflictError(N_("The agent is still working. Stop it before you start another branch."))
            run = await self.env.repos.runs.get(run_id)
            if run.workflow_id != workflow_id or run.deleted_at is not None:
                raise NotFoundError(N_("There is no run {id}."), id=run_id)
            bodies = [event.body for event in await run_events(self.env.repos, run_id)]
            messages = await self._user_messages(
                run_id, [body for body in bodies if isinstance(body, UserMessage)], message_id
            )
            started = next((body for body in bodies if isinstance(body, RunStarted)), None)
            if not messages or started is None:
                raise UsageError(N_("This turn has no message to answer."))
            if content is not None:
                messages = messages if message_id else messages[:1]
                text = sanitized(content)
                check_message(text, messages[-1].images, messages[-1].files, messages[-1].attachments)
                messages[-1] = messages[-1].model_copy(update={"content": text})
            who = await responder(self.env, row) if started.agent_id else Responder(started.agent, "")
            if model is not None:
                who = Responder(who.agent.model_copy(update={"provider": model[0], "model": model[1]}), who.agent_id)
            messages = [await self._again(row, each, who.agent) for each in messages]
            return await self._start(row, messages[0], who, RunMode.AUTO, run.previous_run_id, messages[1:])

    async def _user_messages(self, run_id: str, bodies: Sequence[UserMessage], message_id: str) -> list[UserMessage]:
        """Return the person's messages of a turn as finally sent, in order, up to ``message_id`` if given."""
        repos = self.env.repos
        last = await repos.messages.get(message_id) if message_id else None
        if last is not None and last.run_id != run_id:
            raise NotFoundError(N_("There is no message {id} in this turn."), id=message_id)
        found: list[tuple[int, UserMessage]] = []
        for body in bodies:
            try:
                row = await repos.messages.get(body.message_id)
            except NotFoundError:
                continue  # it was withdrawn before it was sent
            if row.kind != QUEUED and (last is None or row.seq <= last.seq):
                again = UserMessage(
                    content=row.content, images=body.images, files=body.files, attachments=body.attachments
                )
                found.append((row.seq, again))
        return [said for _seq, said in sorted(found, key=lambda each: each[0])]

    async def _again(self, row: Workflow, said: UserMessage, agent: AgentConfig) -> UserMessage:
        """Prepare a message for sending again.

        Present version of what it calls, and attachments fitted to the answering model.
        """
        attachments = await self.attaching.make(row.id, said.attachments, agent)
        return await calling(self.env, said.model_copy(update={"attachments": attachments}), row.workspace)

    async def _answered_by(self, message: UserMessage, run_id: str, who: Responder) -> UserMessage:
        """Add who answers a message to a running run, if that was changed since it began."""
        other = other_agent((await self.live.load(run_id)).handle.current, who.agent, who.agent_id)
        return message.model_copy(update={"agent": other, "agent_id": who.agent_id}) if other is not None else message

    async def send_queued(self, workflow_id: str, message_id: str = "", *, mode: RunMode = RunMode.AUTO) -> str:
        """Send a queued message (empty: the first) now: it interrupts the running turn, or begins the next one.

        The others stay queued. Returns the run's id. ``mode`` is for a turn that begins.

        Raises:
            ConflictError: it is no longer queued.
        """
        async with self.live.beginning(workflow_id):
            row = await self.env.repos.workflows.get(workflow_id)
            waiting = await self.waiting.of(row)
            message = next((each for each in waiting if message_id in ("", each.message_id)), None)
            if message is None:
                raise ConflictError(N_("This message is no longer queued: it was sent or removed."))
            active = await self._find_active(row)
            if active is not None and await self.waiting.interrupt(await self.live.load(active), message.message_id):
                return active
            # Its turn has ended, so it is queued elsewhere, or was just sent.
            if message not in await self.waiting.of(row):
                raise ConflictError(N_("This message is no longer queued: it was sent or removed."))
            who = await responder(self.env, row)
            return await self._start(row, message.model_copy(update={"agent": None}), who, mode, row.head_run_id)

    async def _start(
        self,
        row: Workflow,
        message: UserMessage,
        who: Responder,
        mode: RunMode,
        previous: str | None,
        then: Sequence[UserMessage] = (),
    ) -> str:
        """Begin a turn with ``message``; ``then`` is sent after the answer, before already queued messages."""
        run_id = new_id()
        settings = await self._settings_of_now()
        queued = await self.waiting.of(row)
        after = [each for each in queued if each.message_id != message.message_id]
        approvals = for_run(
            settings.approvals,
            who.agent.approval,
            run_id=run_id,
            workflow_id=row.id,
            agent_id=who.agent_id,
            workspace=resolved_paths(row.workspace),
        )
        # Include rules against other agents: they may become sub-agents, with the same instructions.
        trusted, instructions = await self.env.folder_instructions(row.workspace, approvals.rules)
        skills = await self.env.skills.catalogue(row.workspace)
        before = await self.live.conversations.before(previous)
        uses = used_folders(before.history.with_more, (message, *then, *after))
        lost = await self.env.skills.withdrawn(uses, row.workspace) if uses else ()
        message, *waiting = (without_called_skill(each, lost) for each in (message, *then, *after))
        marks = self.env.marks
        marked = await in_tool_thread(read_at_start, marks, instructions, skills) if marks else ()
        self.env.journal.learn(row)
        handle = RunHandle(run_id=run_id, workflow_id=row.id, history=before.history)
        started = RunStarted(
            agent_id=who.agent_id,
            agent=who.agent,
            mode=mode,
            previous_run_id=previous,
            correlation_id=run_id,
            max_depth=settings.max_depth,
            approvals=approvals,
            language=language(),
            workspace=row.workspace,
            trusted=trusted,
            instructions=instructions,
            skills=skills,
            skills_withdrawn=lost,
            # On any branch: reports, files and commands belong to the workflow.
            tainted=taint_sources.merged(before.tainted, row.tainted, await self.env.journal.tainted(row.id), marked),
        )
        # Views still show the queue of the ended turn. Nothing else reports that it is empty now.
        emptied = [QueueChanged(order=())] if queued and not waiting else []
        bodies = (started, message, *emptied, *waiting)
        with self.live.expect(run_id):
            try:
                await self.env.journal.append(handle, *bodies, rename=_rename(row, message.content))
            finally:
                # Even if the sender no longer waits: it is in the journal.
                if handle.state is not None:
                    self.live.drive(self.live.add(handle))
        return run_id

    async def cancel(self, run_id: str) -> None:
        """Stop at once, with everything below: requests are closed, tools cancelled, completed work is kept.

        Ended runs are not changed; their memory extraction is cancelled.
        """
        await self.remembering.stop(run_id)
        await self.live.cancel(run_id)

    async def at_work(self) -> dict[str, str]:
        """Return the running turns, which may cost money: run ids and workflow names."""
        roots = [self.live.alive.get(home, "") for home in self.live.at_work()]
        rows = [await self.env.repos.runs.get(root) for root in filter(None, roots)]
        return {row.id: (await self.env.repos.workflows.get(row.workflow_id)).name for row in rows}

    async def continue_at_start(self) -> None:
        """Mark the running turns to be continued at the next start, as chosen when closing."""
        self.live.closes = "next_start"

    async def _find_active(self, row: Workflow) -> str | None:
        known = self.live.alive.get(row.id)
        if known is not None or row.head_run_id is None:
            return known
        live = self.live.get(row.head_run_id)
        if live is not None and live.handle.state is not None:
            final = live.handle.state.status.final
        else:
            final = (await self.env.repos.runs.get(row.head_run_id)).status.final
        return None if final else row.head_run_id

    def state_of(self, run_id: str) -> RunHandle | None:
        """Return the run if it is in memory."""
        live = self.live.get(run_id)
        return live.handle if live else None

    async def wait(self, run_id: str) -> Run:
        """Wait until the run ends, or its whole team waits for somebody to act; return its row."""
        row = await self.env.repos.runs.get(run_id)
        if row.unread:
            return row
        live = await self.live.load(run_id)
        while not live.handle.current.status.final or live.at_work:
            working = [
                each.task for each in (live, *await self.live.below(live)) if each.at_work and each.task is not None
            ]
            if not working:
                break
            await wait(working, return_when=FIRST_COMPLETED)
            # Consequences of an end, such as a continuing parent, begin in the next loop iteration.
            await sleep(0)
        if live.handle.stale or live.handle.row is None:
            return await self.env.repos.runs.get(run_id)
        return live.handle.row

    async def team_of(self, run_id: str) -> list[RunHandle]:
        """Return a run and everything unfinished below it, top-down."""
        live = await self.live.load(run_id)
        return [live.handle, *(below.handle for below in await self.live.below(live))]

    async def close(self) -> None:
        """Stop driving. Running runs are interrupted, not ended."""
        self._unlisten()
        await self.titles.close()
        await self.remembering.close()
        self._progress.close()
        await self._watch.close()
        await self.live.close()

    def _changed(self, topic: Topic, id: str) -> None:
        if topic == "settings":
            self._settings = None
            self._settings_changes += 1

    async def _settings_of_now(self) -> Settings:
        """Return the settings; changes during the read cause a second one.

        Raises:
            StorageError: ``damaged_row``: a setting or a rule is damaged, and might be a restriction.
        """
        while (known := self._settings) is None:
            changes = self._settings_changes
            await self.env.repos.settings.refuse_damaged()
            found = await self.env.repos.settings.load()
            if changes == self._settings_changes:
                self._settings = found
        return known

    def replay(self, workflow_id: str, run_id: str | None = None) -> AsyncIterator[StreamEvent]:
        """See ``replay_and_fork.replay``."""
        return replay_and_fork.replay(self.env.repos, workflow_id, run_id)

    async def fork(self, workflow_id: str, at: int) -> Workflow:
        """See ``replay_and_fork.fork``."""
        forked = await replay_and_fork.fork(self.env.repos, self.env.journal, workflow_id, at)
        self.live.add_unfinished(await self.env.repos.runs.list(forked.id))
        self.env.bus.changed("workflow", forked.id)
        return forked
