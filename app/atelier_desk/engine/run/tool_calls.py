"""Run tool calls: commit the intent, run the tool, commit its result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from atelier_desk.domain.agent import SearchScope
from atelier_desk.domain.approval import ApprovalKind, ApprovalRequest
from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.events.run import (
    ApprovalRequested,
    CallStatus,
    ChildrenJoined,
    ChildrenPlanned,
    EventBody,
    LimitKind,
    OutputShown,
    QuestionAsked,
    ToolCallStarted,
)
from atelier_desk.domain.permission import RuleScope
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.result_parts import ResultPart
from atelier_desk.domain.stream.payloads import ToolProgress
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.engine.journal.journal import Follow, RunHandle
from atelier_desk.engine.run import mcp_server_requests
from atelier_desk.engine.run.call_preparation import CallPreparation
from atelier_desk.engine.run.call_verdict import disclosure_filter
from atelier_desk.engine.run.decided_call import Decided
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.paid_call_limits import CallSpending
from atelier_desk.engine.run.permission_rules import barred_host, host_arguments, settings_allowed
from atelier_desk.engine.run.reducer.state import CallState, RunState
from atelier_desk.engine.run.tainted_file_reads import marking
from atelier_desk.engine.run.tool_result_events import call_finished, closed, noting_edits, stored_parts
from atelier_desk.engine.team.team_interface import TeamPort
from atelier_desk.policy import approval_strictness_and_grouping, budget
from atelier_desk.policy.permissions import rule_scope
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import (
    AnswerChild,
    AskParent,
    AskUser,
    Effect,
    JoinChildren,
    ServerAsks,
    StartChildren,
    Tool,
    ToolContext,
    ToolResult,
)
from atelier_desk.tools.calls.context import GivenInput
from atelier_desk.tools.calls.result_limits import capped
from atelier_desk.tools.calls.stable_record_ids import stable_id
from atelier_desk.tools.control.answer_child import AnswerChildTool
from atelier_desk.tools.registry.registry import PreparedCall
from atelier_desk.workspace.resolved_folders import resolved_paths

log = logging.getLogger(__name__)

EFFECT_UNKNOWN = (
    "This call was cut off when the program stopped, and its effect is unknown. Check what was done before doing it "
    "again, "
    "and tell the user about it."
)


def question_id(run_id: str, call_id: str) -> str:
    """Return the question's id, equal for every attempt at the same call."""
    return stable_id(f"{run_id}:{call_id}", "question")


def approval_id(state: RunState, call_id: str) -> str:
    """Return the id of a call's request; it includes the reply, so that a reused call id inherits nothing."""
    return stable_id(f"{state.run_id}:{state.message_id}:{call_id}", "approval")


class ToolCalls:
    """Performs the steps of one run that concern calls; the result of ``follow`` is committed with each result."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, teams: TeamPort, follow: Follow) -> None:
        self._env = env
        self._handle = handle
        self._teams = teams
        self._follow = follow
        self._preparing = CallPreparation(env, handle, teams)

    async def begin(self, calls: Sequence[CallState]) -> None:
        """Begin the next call, or the leading read-only calls together; the driver repeats this for the rest.

        Calls that need approval are requested all at once; those before them run meanwhile. If the run changed while
        they were judged, nothing is committed, and the driver starts over.
        """
        state = self._handle.current
        self._preparing.begin(state)
        prepared = [await self._tried(await self._preparing.decide(state, call)) for call in calls]
        asking = [one for one in prepared if one.asks]
        if asking:
            named = [(await self._named(self._request(state, one), one), one.intent.grounds) for one in asking]
            asked = [ApprovalRequested(approval=request, grounds=grounds) for request, grounds in named]
            await self._env.journal.append_if(self._handle, lambda now: asked if now is state else None)
            return
        bodies = self._intents(state, prepared)
        await self._env.journal.append_if(
            self._handle, lambda now: bodies if now is state else None, follow=self._follow
        )

    def beginning(self, state: RunState, calls: Sequence[CallState]) -> list[EventBody]:
        """Return what ``begin`` would commit now, to be committed together with earlier events.

        Empty if a call needs approval first, or if judging one blocks, because commits do not wait for that.
        """
        self._preparing.begin(state)
        prepared = self._preparing.at_once(state, calls)
        return [] if prepared is None or any(one.asks for one in prepared) else self._intents(state, prepared)

    def _intents(self, state: RunState, prepared: list[Decided]) -> list[EventBody]:
        """Return the intents of the calls that begin now; an impossible one gets its result at once."""
        bodies: list[EventBody] = []
        for one in self._batch(state, prepared):
            bodies.append(one.intent)
            if one.failure is not None:
                bodies.append(call_finished(one.call.id, one.intent.tool, one.failure))
        return bodies

    async def run(self, calls: Sequence[CallState]) -> None:
        """Run calls with committed intents concurrently."""
        if len(calls) == 1:
            await self._run(calls[0])
            return
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(self._run(call))

    async def recover(self, calls: Sequence[CallState]) -> None:
        """Finish cut-off calls: idempotent ones run again, others are closed with an unknown effect."""
        gone = mcp_server_requests.lost(self._handle.current)
        if gone:
            await self._env.journal.append(self._handle, *gone, follow=self._follow)
            return
        for call in calls:
            assert call.intent is not None
            if call.intent.idempotent and self._env.registry.has(call.intent.tool):
                await self._run(call)
            else:
                await self._env.journal.append(self._handle, *closed(call, CallStatus.UNKNOWN, EFFECT_UNKNOWN))

    async def _tried(self, one: Decided) -> Decided:
        """Return the call, or the error it would give after approval: then the model is told, and nobody is asked."""
        if one.asks is None or one.ready is None or not one.ready.described.plans:
            return one
        outcome = await self._env.registry.run(one.ready, self._context(one.intent, one.ready.tool))
        if not isinstance(outcome, ToolResult) or outcome.success:
            return one
        # It was not approved, so it must not be repeated after a kill, when it might succeed.
        return one.refused(outcome, idempotent=False)

    async def _named(self, request: ApprovalRequest, one: Decided) -> ApprovalRequest:
        """Complete a request with the names of its agents, which models may call by id, whether a file is created or
        replaced, and how long that can be undone.
        """
        details = request.details
        if request.kind is ApprovalKind.FILE_OP and request.effect == Effect.WRITE:
            details = {**details, "undo_days": (await self._env.repos.settings.load()).checkpoint_days}
            return request.model_copy(update={"details": details, "presentation": await self._summarized(one)})
        if "target_agent_id" not in details and "tasks" not in details:
            return request
        names = {agent.id: agent.name for agent in await self._env.repos.agents.list()}
        if "target_agent_id" in details:
            target = details["target_agent_id"]
            details = {**details, "target_agent_name": names.get(target, details.get("target_agent_name", target))}
        if isinstance(details.get("tasks"), list):
            tasks = [
                {**task, "agent_name": names.get(task.get("agent_id"), task.get("agent_id"))}
                for task in details["tasks"]
            ]
            details = {**details, "tasks": tasks}
        return request.model_copy(update={"details": details})

    async def _summarized(self, one: Decided) -> Presentation:
        """Return the display data of a call that changes files, by what exists now."""
        shown, ready = one.intent.presentation, one.ready
        assert ready is not None
        try:
            text = await in_tool_thread(ready.tool.summary_now, ready.input, self._context(one.intent, ready.tool))
        except (AtelierError, OSError):
            text = ""  # it would fail, as the card shows
        return shown.model_copy(update={"summary": shown.summary.model_copy(update={"text": text})}) if text else shown

    def _request(self, state: RunState, prepared: Decided) -> ApprovalRequest:
        assert prepared.ready is not None
        assert prepared.asks is not None
        described, intent = prepared.ready.described, prepared.intent
        return ApprovalRequest(
            id=approval_id(state, prepared.call.id),
            workflow_id=state.workflow_id,
            run_id=state.run_id,
            root_run_id=state.root_run_id,
            call_id=prepared.call.id,
            agent_id=state.agent_id,
            agent_name=state.agent.name,
            lineage=state.lineage,
            kind=described.kind,
            tool=intent.tool,
            operation=str(intent.arguments.get("operation") or ""),
            server=intent.server,
            section=intent.section,
            effect=intent.effect,
            risk=approval_strictness_and_grouping.risk_of(state.approvals, intent.tool, described.risk.value),
            reason=prepared.asks.reason,
            rule=prepared.asks.rule,
            about=prepared.asks.about,
            always=prepared.always,
            arguments=intent.arguments,
            details=self._details(state, prepared.ready),
            presentation=intent.presentation,
            subjects=intent.subjects,
            timeout_s=state.approvals.timeout_s,
            on_timeout=state.approvals.on_timeout,
            created_at=self._env.clock.now(),
        )

    @staticmethod
    def _details(state: RunState, ready: PreparedCall) -> dict[str, object]:
        """Return details for a card, with the scope of a permanent permission."""
        described = ready.described
        local = bool(described.subjects.command or described.subjects.paths or ready.tool.needs_workspace)
        where = rule_scope.holds(state.workflow_id, resolved_paths(state.workspace), local=local)
        if where.scope is RuleScope.ALWAYS:
            return described.details
        return {**described.details, "always_in": {"scope": where.scope.value, "scope_id": where.scope_id}}

    @staticmethod
    def _batch(state: RunState, prepared: list[Decided]) -> list[Decided]:
        cap = budget.caps(state.agent, state.raised_limits).get(LimitKind.TOOL_CALLS)
        room = len(prepared) if cap is None else max(1, int(cap - state.spent.tool_calls))
        if state.steps is not None:
            room = 1
        reading = 0
        for one in prepared:
            if one.ready is None or one.ready.described.effect is not Effect.READ or one.ready.described.alone:
                break
            reading += 1
        return prepared[: max(1, min(reading, room))]

    async def _run(self, call: CallState) -> None:
        intent = call.intent
        assert intent is not None
        ready = await self._preparing.narrowed(intent.call_id) or self._preparing.ready(call, intent)
        if isinstance(ready, ToolResult):
            await self._env.journal.append(
                self._handle, call_finished(intent.call_id, intent.tool, ready), follow=self._follow
            )
            return
        while not await self._attempt(intent, ready):
            log.debug("tasks changed while %s ran: it runs again", intent.tool)

    async def _attempt(self, intent: ToolCallStarted, ready: PreparedCall) -> bool:
        """Run a call and commit its result.

        Returns False if it changes tasks that somebody else changed meanwhile: then nothing was done, and it must be
        judged again.
        """
        tool = ready.tool
        journal = self._env.journal
        seen = journal.task_version(self._handle.workflow_id)
        started = self._env.clock.monotonic()
        self._env.fault("before_tool")
        context = self._context(intent, tool)
        async with marking(self._env.marks, tool, context):
            outcome = await self._env.registry.run(ready, context)
        self._env.fault("after_tool")
        duration_ms = round((self._env.clock.monotonic() - started) * 1000)
        if isinstance(outcome, AskUser):
            await journal.append(self._handle, self._asked(intent.call_id, outcome))
        elif isinstance(outcome, ServerAsks):
            now = self._env.clock.now()
            asked = mcp_server_requests.required(self._handle.current, intent.call_id, intent.tool, outcome, now)
            await journal.append(self._handle, *asked, follow=self._follow)
        elif not isinstance(outcome, ToolResult):
            await self._team(intent, outcome)
        else:
            outcome = self._noting_edits(intent, tool, outcome)
            parts: list[ResultPart] = []
            try:
                parts = await stored_parts(self._env.repos.artefacts, self._handle.workflow_id, outcome)
            except AtelierError as error:
                outcome = ToolResult.failure(
                    f"The call was made, but the files it gave could not be kept: {error}", error.code
                )
            done = call_finished(
                intent.call_id, intent.tool, outcome, duration_ms=duration_ms, parts=parts, state_of=tool.state_of
            )
            bodies = [*outcome.tasks, *self._shown(intent.call_id, outcome), done]
            stale = bool(outcome.tasks)

            def decide(_now: RunState) -> list[EventBody] | None:
                nonlocal stale
                stale = stale and journal.task_version(self._handle.workflow_id) != seen
                return None if stale else bodies

            await journal.append_if(self._handle, decide, follow=self._follow)
            if stale:
                return False
            if tool.changes and intent.effect != Effect.READ:
                self._env.bus.changed(tool.changes, self._handle.workflow_id)
        return True

    async def _team(
        self, intent: ToolCallStarted, outcome: StartChildren | JoinChildren | AskParent | AnswerChild
    ) -> None:
        """Handle a team request of a call: events that make it wait, or an error for the model."""
        journal, call_id = self._env.journal, intent.call_id
        if isinstance(outcome, StartChildren):
            planned = ChildrenPlanned(
                call_id=call_id,
                kind=outcome.kind,
                children=outcome.children,
                background=outcome.background,
                stop_on_error=outcome.stop_on_error,
            )
            await journal.append(self._handle, planned)
        elif isinstance(outcome, AskParent):
            await self._teams.ask_parent(self._handle, call_id, outcome.message)
        elif isinstance(outcome, JoinChildren):
            refusal = self._join_refusal(outcome)
            if refusal is not None:
                await journal.append(self._handle, call_finished(call_id, intent.tool, refusal))
            else:
                await journal.append(
                    self._handle, ChildrenJoined(call_id=call_id, kind=TeamCall.JOIN, child_ids=outcome.child_ids)
                )
        else:
            await self._answer(intent, outcome)

    def _join_refusal(self, outcome: JoinChildren) -> ToolResult | None:
        """Refuse to wait for a sub-agent that waits for this run, which would never end."""
        children = {child.id: child for child in self._handle.current.children}
        unknown = [child_id for child_id in outcome.child_ids if child_id not in children]
        if unknown or not outcome.child_ids:
            listed = ", ".join(f"{child.id} ({child.name})" for child in children.values()) or "none"
            wrong = f"You have no sub-agent {', '.join(unknown)}." if unknown else "There is no sub-agent to wait for."
            return ToolResult.failure(f"{wrong} Yours: {listed}.", "unknown_child")
        asking = [children[child_id] for child_id in outcome.child_ids if children[child_id].question]
        if not asking:
            return None
        questions = "; ".join(f"{child.name} (child_id {child.id}) asks: {child.question}" for child in asking)
        why = "They wait for your answer, so waiting for them would never end."
        return ToolResult.failure(f"{why} Answer with {AnswerChildTool.name} first. {questions}", "wait_cycle")

    async def _answer(self, intent: ToolCallStarted, outcome: AnswerChild) -> None:
        state, call_id = self._handle.current, intent.call_id
        child = state.child(outcome.child_id)
        together = [] if child is None else [other for other in state.children if other.call_id == child.call_id]
        kind = TeamCall.ANSWER if child is None or len(together) == 1 else child.kind
        joined = ChildrenJoined(call_id=call_id, kind=kind, child_ids=tuple(other.id for other in together))
        if child is None or not await self._teams.answer(
            self._handle, child.id, outcome.message, by="parent", then=(joined,)
        ):
            asking = (
                ", ".join(f"{other.id} ({other.name})" for other in self._handle.current.children if other.question)
                or "none"
            )
            refusal = ToolResult.failure(
                f"{outcome.child_id} does not wait for your answer. Waiting: {asking}.", "not_asking"
            )
            await self._env.journal.append(self._handle, call_finished(call_id, intent.tool, refusal))

    def _noting_edits(self, intent: ToolCallStarted, tool: Tool, result: ToolResult) -> ToolResult:
        call = self._handle.current.call(intent.call_id)
        if call is None or not call.edited:
            return result
        return capped(
            noting_edits(result, intent.arguments), tool.rest_hint, to_model=self._env.registry.max_result_chars
        )

    def _shown(self, call_id: str, result: ToolResult) -> list[EventBody]:
        if result.output is None:
            return []
        content, kind = result.output
        return [
            OutputShown(call_id=call_id, content=content, output_type=kind, report=str(result.data.get("report", "")))
        ]

    def _asked(self, call_id: str, ask: AskUser) -> QuestionAsked:
        state = self._handle.current
        timeout = state.agent.question_timeout_s if ask.timeout_s is None else ask.timeout_s
        return QuestionAsked(
            question=UserQuestion(
                id=question_id(state.run_id, call_id),
                workflow_id=state.workflow_id,
                run_id=state.run_id,
                call_id=call_id,
                agent_id=state.agent_id,
                agent_name=state.agent.name,
                lineage=state.lineage,
                spec=ask.question,
                timeout_s=timeout,
                created_at=self._env.clock.now(),
            )
        )

    def _given(self, call_id: str) -> GivenInput | None:
        call = self._handle.current.call(call_id)
        given = call.input if call is not None else None
        return GivenInput(given.state, given.answers, given.round, given.note) if given is not None else None

    def _context(self, intent: ToolCallStarted, tool: Tool) -> ToolContext:
        env, state, call_id = self._env, self._handle.current, intent.call_id

        def progress(percent: int, text: str) -> None:
            event = ToolProgress(call_id=call_id, progress=max(0, min(100, percent)), content=text)
            env.journal.publish(self._handle.current, event)

        return ToolContext(
            workflow_id=state.workflow_id,
            run_id=state.run_id,
            turn_id=state.root_run_id,
            call_id=call_id or new_id(),
            agent_id=state.agent_id,
            agent_name=state.agent.name,
            depth=state.depth,
            language=state.language,
            enabled_tools=tuple(self._preparing.tools(state).usable),
            search_scope=state.searched or SearchScope.SERVERS,
            workspace=Path(state.workspace[0]) if state.workspace else None,
            roots=tuple(map(Path, state.workspace)),
            skills=state.skills_used,
            state=state.tool_state.get(tool.state_of or intent.tool, {}),
            team=self._teams.broker(self._handle),
            attachments=state.attachments,
            tainted=self._teams.tainted(state),
            trusted=tuple(map(Path, state.trusted)),
            tasks=lambda: env.repos.tasks.by_id(state.workflow_id),
            allowed_hosts=lambda: host_arguments(state, intent.tool, intent.section),
            barred_host=lambda host: barred_host(state, intent.tool, intent.section, host),
            settings_allowed=lambda rule: settings_allowed(state, rule),
            may_disclose=disclosure_filter(state, intent.tool, intent.section),
            denied=self._preparing.judge.denials(state),
            denied_allowed=_denied_allowed(intent),
            protected=self._preparing.judge.findings.protected.get(call_id),
            given=self._given(call_id),
            requests=mcp_server_requests.CallRequestBroker(env, self._handle, call_id),
            spending=CallSpending(env, self._handle, call_id),
            progress=progress,
            now=env.clock.now,
        )


def _denied_allowed(intent: ToolCallStarted) -> str:
    """Return the denied path that a person approved before the call began; empty for none."""
    return dict(intent.grounds.concerns).get(Concern.DENIED, "") if intent.grounds is not None else ""
