"""Running tool calls: intent into the journal, the tool, its result into the journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import SearchScope
from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.base import new_id
from atelier_desk.domain.call import Presentation
from atelier_desk.domain.chat import ToolCall
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
from atelier_desk.domain.parts import ResultPart
from atelier_desk.domain.permission import Action, RuleScope, Verdict
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.stream.payloads import ToolProgress
from atelier_desk.domain.team import TeamCall
from atelier_desk.engine.journal import Follow, RunHandle
from atelier_desk.engine.run import server_desk
from atelier_desk.engine.run.environment import RunEnvironment
from atelier_desk.engine.run.marked_files import marking
from atelier_desk.engine.run.permissions import Judge, really, refusal, telling, unreachable
from atelier_desk.engine.run.reducer.state import CallState, RunState
from atelier_desk.engine.run.request import searching
from atelier_desk.engine.run.request.model_call import direct_names, enabled_names
from atelier_desk.engine.run.results import call_finished, closed, kept, noting_edits
from atelier_desk.engine.run.run_rules import barred_host, host_arguments, settings_allowed
from atelier_desk.engine.run.spending import CallSpending
from atelier_desk.engine.team.port import TeamPort
from atelier_desk.policy import approvals, budget
from atelier_desk.policy.permissions import scope
from atelier_desk.policy.permissions.facts import Concern
from atelier_desk.threads import in_tool_thread
from atelier_desk.tools.base import (
    AnswerChild,
    AskParent,
    AskUser,
    Call,
    Effect,
    JoinChildren,
    ServerAsks,
    StartChildren,
    Tool,
    ToolCategory,
    ToolContext,
    ToolResult,
)
from atelier_desk.tools.context import GivenInput
from atelier_desk.tools.control.answer_child import AnswerChildTool
from atelier_desk.tools.ids import stable_id
from atelier_desk.tools.results import capped
from atelier_desk.tools.validation import InvalidArgumentsError

log = logging.getLogger(__name__)

EFFECT_UNKNOWN = (
    "This call was cut off when the program stopped, and its effect is unknown. Check what was done before doing it again, "
    "and tell the user about it."
)

NARROWED = (
    "The user changed what you may do before this call ran, and it was not made. "
    "Make it again if it is still needed: the user is asked first."
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call as it will run. ``failure`` is set when it cannot: the error goes straight to the model.

    ``described`` is what the tool says of it, None with a failure; ``asks`` is the verdict that makes a person allow it first, ``always``
    the rules that would allow it from then on.
    """

    call: ToolCall
    intent: ToolCallStarted
    tool: Tool | None = None
    described: Call | None = None
    failure: ToolResult | None = None
    asks: Verdict | None = None
    always: tuple[str, ...] = ()


def question_id(run_id: str, call_id: str) -> str:
    """The same question for every attempt at the same call."""
    return stable_id(f"{run_id}:{call_id}", "question")


def approval_id(state: RunState, call_id: str) -> str:
    """One request a call; the reply it belongs to is part of it, so that a call id that is used again inherits nothing."""
    return stable_id(f"{state.run_id}:{state.message_id}:{call_id}", "approval")


class ToolCalls:
    """Performs the steps of one run that concern calls; what ``follow`` says is committed with each result."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, teams: TeamPort, follow: Follow) -> None:
        self._env = env
        self._handle = handle
        self._teams = teams
        self._follow = follow
        self._judge = Judge(env.own, env.marks)

    async def begin(self, calls: Sequence[CallState]) -> None:
        """Begin the next call, or the reading calls at the front together; the driver asks again for the rest.

        Calls a person must allow first are asked about, all at once; those before them run meanwhile. Where the run is another one by the
        time they are judged, nothing is committed, and the driver begins anew.
        """
        state = self._handle.current
        self._judge.begin()
        prepared = [await self._tried(await self._prepare(state, call)) for call in calls]
        asking = [one for one in prepared if one.asks]
        if asking:
            named = [(await self._named(self._request(state, one)), one.intent.grounds) for one in asking]
            asked = [ApprovalRequested(approval=request, grounds=grounds) for request, grounds in named]
            await self._env.journal.append_if(self._handle, lambda now: asked if now is state else None)
            return
        bodies = self._intents(state, prepared)
        await self._env.journal.append_if(self._handle, lambda now: bodies if now is state else None, follow=self._follow)

    def beginning(self, state: RunState, calls: Sequence[CallState]) -> list[EventBody]:
        """What ``begin`` would commit now, for whoever commits what led to it.

        Empty when a person must allow one of the calls first, or when judging one of them blocks: a commit does not wait for that.
        """
        self._judge.begin()
        described = [self._described(state, call.call) for call in calls]
        if any(self._blocks(state, one) for one in described):
            return []
        tainted = self._teams.tainted(state)
        prepared = [self._judged(state, one, tainted, allowed=call.allowed) for one, call in zip(described, calls, strict=True)]
        if any(one.asks for one in prepared):
            return []
        return self._intents(state, prepared)

    def _intents(self, state: RunState, prepared: list[Prepared]) -> list[EventBody]:
        """The intents of the calls that begin now; one that cannot run has its result at once."""
        bodies: list[EventBody] = []
        for one in self._batch(state, prepared):
            bodies.append(one.intent)
            if one.failure is not None:
                bodies.append(call_finished(one.call.id, one.intent.tool, one.failure))
        return bodies

    async def run(self, calls: Sequence[CallState]) -> None:
        """Run calls whose intents are committed, side by side."""
        if len(calls) == 1:
            await self._run(calls[0])
            return
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(self._run(call))

    async def recover(self, calls: Sequence[CallState]) -> None:
        """Finish calls that were cut off: idempotent ones run again, the others are closed with an unknown effect."""
        gone = server_desk.lost(self._handle.current)
        if gone:
            await self._env.journal.append(self._handle, *gone, follow=self._follow)
            return
        for call in calls:
            assert call.intent is not None
            if call.intent.idempotent and self._env.registry.has(call.intent.tool):
                await self._run(call)
            else:
                await self._env.journal.append(self._handle, *closed(call, CallStatus.UNKNOWN, EFFECT_UNKNOWN))

    async def _prepare(self, state: RunState, call: CallState) -> Prepared:
        """Decide what becomes of a call. What that needs of the disk and of git is looked up in a thread, which nobody waits for once
        the call is cancelled."""
        one, tainted = self._described(state, call.call), self._teams.tainted(state)
        if self._blocks(state, one):
            return await in_tool_thread(self._judged, state, one, tainted, allowed=call.allowed)
        return self._judged(state, one, tainted, allowed=call.allowed)

    def _blocks(self, state: RunState, one: Prepared) -> bool:
        """Whether judging a call runs a program or looks through folders."""
        return one.described is not None and self._judge.blocks(state, one.intent.tool, one.described)

    def _described(self, state: RunState, call: ToolCall) -> Prepared:
        """What a call runs: the tool it names, the tool named inside ``invoke_tool``, or an error for the model. Nothing is decided yet."""
        registry = self._env.registry
        name, arguments, via = call.name, call.arguments, ""
        failure: ToolResult | None = None
        if call.error is not None:
            failure = ToolResult.failure(call.error, "invalid_arguments")
        else:
            meant = registry.meant(name, arguments, enabled_names(self._env, state))
            if isinstance(meant, ToolResult):
                failure = meant
            elif meant[0] != name:
                via, (name, arguments) = name, meant
        tool = registry.get_tool(name)
        if failure is None and tool is not None and (read := tool.read_arguments(arguments)) is not arguments:
            arguments, call = read, call.model_copy(update={"repaired": True})
        if failure is None and not registry.is_control_tool(name):
            usable = enabled_names(self._env, state)
            own = usable if via else direct_names(self._env, state)
            failure = searching.not_found(registry, state, usable, name) or registry.refusal(
                name, own, depth=state.depth, max_depth=state.max_depth, workspace=bool(state.workspace)
            )
        described: Call | None = None
        if failure is None and tool is not None:
            try:
                described = registry.describe(tool, arguments)
            except InvalidArgumentsError as error:
                # The model is told, and nobody is asked about a call that cannot run.
                failure = ToolResult.failure(str(error), error.code)
        intent = self._intent(state, call, tool, described, name=name, arguments=arguments, via=via)
        return Prepared(call=call, intent=intent, tool=tool, described=described, failure=failure)

    def _judged(self, state: RunState, one: Prepared, tainted: Sequence[str], *, allowed: bool) -> Prepared:
        """The call with the verdict about it; ``allowed``: a person said yes to it. See ``_blocks``."""
        tool, described, intent = one.tool, one.described, one.intent
        if tool is None or described is None:
            return one
        away = unreachable(state, tool, described)
        if away is not None:
            # Nothing was decided by rules, but who tries to get out stands in the audit trail.
            said = Verdict(action=Action.DENY, reason="outside", about=", ".join(described.subjects.paths))
            intent = intent.model_copy(update={"verdict": said})
            return replace(one, intent=intent, failure=ToolResult.failure(str(away), away.code), described=None)
        if not self._is_judged(tool, described):
            return one
        said, grounds, reads, always = self._judge.judged(state, intent, described, repaired=one.call.repaired, tainted=tainted)
        taint = reads if said.action is not Action.DENY else ""
        intent = intent.model_copy(update={"verdict": said, "grounds": grounds, "taint": taint})
        if said.action is Action.DENY:
            # Also when a person allowed the call: with other arguments it may touch what is forbidden.
            by_rule = {"rule": said.rule} if said.reason == "rule" else {}
            failure = ToolResult.failure(refusal(said), "denied", **by_rule)
            return replace(one, intent=intent, failure=failure, described=None, always=always)
        return replace(one, intent=intent, asks=said if said.action is Action.ASK and not allowed else None, always=always)

    @staticmethod
    def _intent(
        state: RunState, call: ToolCall, tool: Tool | None, described: Call | None, *, name: str, arguments: dict[str, Any], via: str
    ) -> ToolCallStarted:
        if tool is None:
            return ToolCallStarted(call_id=call.id, tool=name, arguments=arguments, via=via, idempotent=True)
        said = described or Call(tool.effect, tool.risk, idempotent=tool.idempotent)
        return ToolCallStarted(
            call_id=call.id,
            tool=name,
            arguments=arguments,
            via=via,
            server=said.subjects.server,
            section=tool.section,
            effect=said.effect.value,
            risk=approvals.risk_of(state.approvals, name, said.risk.value),
            idempotent=said.idempotent,
            subjects=said.subjects,
            presentation=Presentation(icon=tool.icon, title=tool.title, summary=said.summary, done=said.done),
        )

    @staticmethod
    def _is_judged(tool: Tool, described: Call) -> bool:
        """Talking to a person or to the loop is never asked about."""
        return tool.category is not ToolCategory.CONTROL and described.effect is not Effect.INTERACT

    async def _tried(self, one: Prepared) -> Prepared:
        """The call, or the error it would come to once a person allowed it: the model is told then, and nobody is bothered."""
        if one.asks is None or one.described is None or not one.described.plans:
            return one
        outcome = await self._env.registry.execute(one.intent.tool, one.intent.arguments, self._context(one))
        if not isinstance(outcome, ToolResult) or outcome.success:
            return one
        # Nobody allowed it, so it must not be run again after a kill, when it might succeed.
        intent = one.intent.model_copy(update={"idempotent": False})
        return replace(one, intent=intent, failure=outcome, asks=None)

    async def _named(self, request: ApprovalRequest) -> ApprovalRequest:
        """The request with the names of the agents it is about: a model may call them by their ids, which say nothing to a person."""
        details = request.details
        if "target_agent_id" not in details and "tasks" not in details:
            return request
        names = {agent.id: agent.name for agent in await self._env.repos.agents.list()}
        if "target_agent_id" in details:
            target = details["target_agent_id"]
            details = {**details, "target_agent_name": names.get(target, details.get("target_agent_name", target))}
        if isinstance(details.get("tasks"), list):
            tasks = [{**task, "agent_name": names.get(task.get("agent_id"), task.get("agent_id"))} for task in details["tasks"]]
            details = {**details, "tasks": tasks}
        return request.model_copy(update={"details": details})

    def _request(self, state: RunState, prepared: Prepared) -> ApprovalRequest:
        described, intent = prepared.described, prepared.intent
        assert described is not None
        assert prepared.asks is not None
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
            risk=approvals.risk_of(state.approvals, intent.tool, described.risk.value),
            reason=prepared.asks.reason,
            rule=prepared.asks.rule,
            about=prepared.asks.about,
            always=prepared.always,
            arguments=intent.arguments,
            details=self._details(state, prepared),
            presentation=intent.presentation,
            subjects=intent.subjects,
            timeout_s=state.approvals.timeout_s,
            on_timeout=state.approvals.on_timeout,
            created_at=self._env.clock.now(),
        )

    @staticmethod
    def _details(state: RunState, prepared: Prepared) -> dict[str, Any]:
        """What a card shows, with where a yes from now on would hold."""
        described, tool = prepared.described, prepared.tool
        assert described is not None
        touches = described.subjects.command or described.subjects.paths
        local = bool(touches or (tool is not None and tool.needs_workspace))
        where = scope.holds(state.workflow_id, really(state.workspace), local=local)
        if where.scope is RuleScope.ALWAYS:
            return described.details
        return {**described.details, "always_in": {"scope": where.scope.value, "scope_id": where.scope_id}}

    @staticmethod
    def _batch(state: RunState, prepared: list[Prepared]) -> list[Prepared]:
        cap = budget.caps(state.agent, state.raised_limits).get(LimitKind.TOOL_CALLS)
        room = len(prepared) if cap is None else max(1, int(cap - state.spent.tool_calls))
        if state.steps is not None:
            room = 1
        reading = 0
        for one in prepared:
            if one.described is None or one.described.effect is not Effect.READ or one.described.alone:
                break
            reading += 1
        return prepared[: max(1, min(reading, room))]

    async def _run(self, call: CallState) -> None:
        intent = call.intent
        assert intent is not None
        tool = self._env.registry.get_tool(intent.tool)
        if tool is None:
            done = call_finished(intent.call_id, intent.tool, self._env.registry.unknown(intent.tool))
            await self._env.journal.append(self._handle, done, follow=self._follow)
            return
        refused = await self._narrowed(call.call.id)
        if refused is not None:
            await self._env.journal.append(self._handle, call_finished(intent.call_id, intent.tool, refused), follow=self._follow)
            return
        while not await self._attempt(Prepared(call.call, intent, tool), tool):
            log.debug("tasks changed while %s ran: it runs again", intent.tool)

    async def _narrowed(self, call_id: str) -> ToolResult | None:
        """Why a call whose intent is committed must not run after all, since a person narrowed what the run may do; None: it may."""
        while (call := (state := self._handle.current).call(call_id)) is not None and call.narrowed:
            one = await self._prepare(state, call)
            if one.failure is not None:
                return one.failure
            if one.asks is not None:
                return ToolResult.failure(NARROWED, "denied")
            if self._handle.current is state:
                break
        return None

    async def _attempt(self, prepared: Prepared, tool: Tool) -> bool:
        """Run a call and commit what came of it; False when it changes tasks that somebody else changed meanwhile: then nothing was done,
        and it has to be judged anew."""
        journal = self._env.journal
        seen = journal.task_version(self._handle.workflow_id)
        started = self._env.clock.monotonic()
        self._env.fault("before_tool")
        context = self._context(prepared)
        async with marking(self._env.marks, tool, context):
            outcome = await self._env.registry.execute(prepared.intent.tool, prepared.intent.arguments, context)
        self._env.fault("after_tool")
        duration_ms = round((self._env.clock.monotonic() - started) * 1000)
        if isinstance(outcome, AskUser):
            await journal.append(self._handle, self._asked(prepared, outcome))
        elif isinstance(outcome, ServerAsks):
            now = self._env.clock.now()
            asked = server_desk.required(self._handle.current, prepared.call.id, prepared.intent.tool, outcome, now)
            await journal.append(self._handle, *asked, follow=self._follow)
        elif not isinstance(outcome, ToolResult):
            await self._team(prepared, outcome)
        else:
            outcome = self._noting_edits(prepared, outcome)
            parts: list[ResultPart] = []
            try:
                parts = await kept(self._env.repos.artefacts, self._handle.workflow_id, outcome)
            except AtelierError as error:
                outcome = ToolResult.failure(f"The call was made, but the files it gave could not be kept: {error}", error.code)
            done = call_finished(
                prepared.call.id, prepared.intent.tool, outcome, duration_ms=duration_ms, parts=parts, state_of=tool.state_of
            )
            bodies = [*outcome.tasks, *self._shown(prepared, outcome), done]
            stale = bool(outcome.tasks)

            def decide(_now: RunState) -> list[EventBody] | None:
                nonlocal stale
                stale = stale and journal.task_version(self._handle.workflow_id) != seen
                return None if stale else bodies

            await journal.append_if(self._handle, decide, follow=self._follow)
            if stale:
                return False
            if tool.changes and prepared.intent.effect != Effect.READ:
                self._env.bus.changed(tool.changes, self._handle.workflow_id)
        return True

    async def _team(self, prepared: Prepared, outcome: StartChildren | JoinChildren | AskParent | AnswerChild) -> None:
        """What a call wants of the team: events that make it wait, or an error for the model."""
        journal, call_id = self._env.journal, prepared.call.id
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
                await journal.append(self._handle, call_finished(call_id, prepared.intent.tool, refusal))
            else:
                await journal.append(self._handle, ChildrenJoined(call_id=call_id, kind=TeamCall.JOIN, child_ids=outcome.child_ids))
        else:
            await self._answer(prepared, outcome)

    def _join_refusal(self, outcome: JoinChildren) -> ToolResult | None:
        """Waiting for a sub-agent that waits for this run would never end."""
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

    async def _answer(self, prepared: Prepared, outcome: AnswerChild) -> None:
        state, tool = self._handle.current, prepared.intent.tool
        child = state.child(outcome.child_id)
        together = [] if child is None else [other for other in state.children if other.call_id == child.call_id]
        kind = TeamCall.ANSWER if child is None or len(together) == 1 else child.kind
        joined = ChildrenJoined(call_id=prepared.call.id, kind=kind, child_ids=tuple(other.id for other in together))
        if child is None or not await self._teams.answer(self._handle, child.id, outcome.message, by="parent", then=(joined,)):
            asking = ", ".join(f"{other.id} ({other.name})" for other in self._handle.current.children if other.question) or "none"
            refusal = ToolResult.failure(f"{outcome.child_id} does not wait for your answer. Waiting: {asking}.", "not_asking")
            await self._env.journal.append(self._handle, call_finished(prepared.call.id, tool, refusal))

    def _noting_edits(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        call = self._handle.current.call(prepared.call.id)
        if call is None or not call.edited or prepared.tool is None:
            return result
        noted = noting_edits(result, prepared.intent.arguments)
        return capped(noted, prepared.tool.rest_hint, to_model=self._env.registry.max_result_chars)

    def _shown(self, prepared: Prepared, result: ToolResult) -> list[EventBody]:
        if result.output is None:
            return []
        content, kind = result.output
        return [OutputShown(call_id=prepared.call.id, content=content, output_type=kind, report=str(result.data.get("report", "")))]

    def _asked(self, prepared: Prepared, ask: AskUser) -> QuestionAsked:
        state = self._handle.current
        timeout = state.agent.question_timeout_s if ask.timeout_s is None else ask.timeout_s
        return QuestionAsked(
            question=UserQuestion(
                id=question_id(state.run_id, prepared.call.id),
                workflow_id=state.workflow_id,
                run_id=state.run_id,
                call_id=prepared.call.id,
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

    def _context(self, prepared: Prepared) -> ToolContext:
        env, state = self._env, self._handle.current

        def progress(percent: int, text: str) -> None:
            told = ToolProgress(call_id=prepared.call.id, progress=max(0, min(100, percent)), content=text)
            env.publish(self._handle.current, told)

        return ToolContext(
            workflow_id=state.workflow_id,
            run_id=state.run_id,
            turn_id=state.root_run_id,
            call_id=prepared.call.id or new_id(),
            agent_id=state.agent_id,
            agent_name=state.agent.name,
            depth=state.depth,
            language=state.language,
            enabled_tools=tuple(enabled_names(env, state)),
            search_scope=state.searched or SearchScope.SERVERS,
            workspace=Path(state.workspace[0]) if state.workspace else None,
            roots=tuple(map(Path, state.workspace)),
            skills=state.skills_used,
            state=state.tool_state.get((prepared.tool.state_of if prepared.tool else "") or prepared.intent.tool, {}),
            team=self._teams.desk(self._handle),
            attachments=state.attachments,
            tainted=self._teams.tainted(state),
            trusted=tuple(map(Path, state.trusted)),
            tasks=lambda: env.repos.tasks.by_id(state.workflow_id),
            allowed_hosts=lambda: host_arguments(state, prepared.intent.tool, prepared.intent.section),
            barred_host=lambda host: barred_host(state, prepared.intent.tool, prepared.intent.section, host),
            settings_allowed=lambda rule: settings_allowed(state, rule),
            tells=telling(state, prepared.intent.tool, prepared.intent.section),
            denied=self._judge.denials(state),
            denied_allowed=_denied_allowed(prepared.intent),
            protected=self._judge.protected(prepared.intent.call_id),
            given=self._given(prepared.call.id),
            desk=server_desk.CallDesk(env, self._handle, prepared.call.id),
            spending=CallSpending(env, self._handle, prepared.call.id),
            progress=progress,
            now=env.clock.now,
        )


def _denied_allowed(intent: ToolCallStarted) -> str:
    """The denied path that a person was asked about before the call was begun; empty for none."""
    return dict(intent.grounds.concerns).get(Concern.DENIED, "") if intent.grounds is not None else ""
