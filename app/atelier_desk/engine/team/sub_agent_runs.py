"""Interactions between the runs of a team.

Each commit that affects two runs is one transaction, so a kill never leaves them inconsistent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.approval import Ancestor
from atelier_desk.domain.errors import NotFoundError, StorageError
from atelier_desk.domain.events.run import (
    ChildAnswered,
    ChildAsked,
    ChildFinished,
    ChildStarted,
    EventBody,
    LimitKind,
    ParentAnswered,
    ParentAsked,
    ReplyCutOff,
    RunFinished,
    RunStarted,
    ToolCallFinished,
    UserMessage,
)
from atelier_desk.domain.events.sub_agents import AnsweredBy
from atelier_desk.domain.permission import PermissionRule, snapshot
from atelier_desk.domain.sub_agent import ChildPlan, ChildState, ChildStatus, TeamCall
from atelier_desk.domain.workflow import RunStatus, handed_over
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.journal.journal import Decide, Part, RunHandle
from atelier_desk.engine.run import sub_agent_state
from atelier_desk.engine.run.reducer.conversation_entries import EntryKind
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request.prompt_texts import with_handed
from atelier_desk.engine.run.tool_result_events import call_finished
from atelier_desk.engine.team.agent_circuit_breakers import AgentBreakers
from atelier_desk.engine.team.sub_agent_planning import TeamBroker
from atelier_desk.engine.team.team_interface import NO_ANSWER
from atelier_desk.policy import approval_strictness_and_grouping, budget
from atelier_desk.policy.permissions import taint_sources
from atelier_desk.policy.permissions.rule_scope import handed_down
from atelier_desk.presentation.answer_web_sources import used
from atelier_desk.storage.damage_report import CODE as DAMAGED
from atelier_desk.tools.base import Team, ToolResult
from atelier_desk.tools.teams.subagent_results import with_earlier

if TYPE_CHECKING:
    from atelier_desk.engine.run.driver_dependencies import RunEnvironment
    from atelier_desk.engine.runs.live_run import LiveRun
    from atelier_desk.engine.runs.live_runs import LiveRuns

NEEDLESS = "The question was taken back: the user told the sub-agent something else."
ENDS = {
    RunStatus.COMPLETED: ChildStatus.COMPLETED,
    RunStatus.ERROR: ChildStatus.ERROR,
    RunStatus.CANCELLED: ChildStatus.CANCELLED,
    RunStatus.ABANDONED: ChildStatus.ABANDONED,
}


class Teams:
    """Implements ``TeamPort`` over the runs in memory."""

    def __init__(self, env: RunEnvironment, live: LiveRuns) -> None:
        self._env = env
        self._live = live
        self.alive: dict[str, set[str]] = {}
        self.breakers = AgentBreakers(env.clock)

    def broker(self, handle: RunHandle) -> Team:
        return TeamBroker(self._env, self, handle)

    def free_slots(self, root_run_id: str) -> int:
        """Return how many more sub-agents may be alive under a root run."""
        return max(0, limits.CHILDREN - len(self.alive.get(root_run_id, ())))

    def born(self, state: RunState) -> None:
        """Register a sub-agent's run."""
        if state.parent_run_id is not None and not state.status.final:
            self.alive.setdefault(state.root_run_id, set()).add(state.run_id)

    def gone(self, root_run_id: str, run_id: str) -> None:
        """Free the slot of an ended sub-agent."""
        below = self.alive.get(root_run_id)
        if below is not None:
            below.discard(run_id)
            if not below:
                del self.alive[root_run_id]

    def tainted(self, state: RunState) -> tuple[str, ...]:
        """Return the sources read by all running members.

        They share tasks, memories and files. Ended ones have told their parent.
        """
        team = (
            self._live.get(run_id) for run_id in (state.root_run_id, *sorted(self.alive.get(state.root_run_id, ())))
        )
        states = (live.handle.state for live in team if live is not None)
        return taint_sources.merged(state.tainted, *(other.tainted for other in states if other is not None))

    async def start(self, handle: RunHandle, child_ids: Sequence[str]) -> None:
        plans = {plan.id: await self._as_now(plan) for plan in handle.current.plans if plan.id in child_ids}
        children = {plan.id: RunHandle(run_id=plan.id, workflow_id=handle.workflow_id) for plan in plans.values()}
        journal = self._env.journal
        begun: list[ChildPlan] = []
        with self._live.expect(*children):
            try:
                await journal.append_together(
                    [handle, *children.values()], lambda: self._starting(handle, plans, children, begun)
                )
            finally:
                for child in children.values():
                    if child.state is not None:
                        self.born(child.state)
                        self._live.drive(self._live.add(child))
                    elif plans[child.run_id] in begun:
                        # It could not be written: the agent let through as a test did not begin.
                        self.breakers.release(plans[child.run_id])

    async def _as_now(self, plan: ChildPlan) -> ChildPlan:
        """Return a plan with a profile at least as strict as its stored agent's now, which may have changed since it
        was planned.
        """
        try:
            stored = await self._env.repos.agents.get(plan.agent_id) if plan.agent_id else None
        except NotFoundError:
            return plan
        mode = (
            plan.agent.approval
            if stored is None
            else approval_strictness_and_grouping.stricter(plan.agent.approval, stored.config.approval)
        )
        return plan.model_copy(update={"agent": plan.agent.model_copy(update={"approval": mode})})

    def _starting(
        self, handle: RunHandle, plans: dict[str, ChildPlan], children: dict[str, RunHandle], begun: list[ChildPlan]
    ) -> list[Part]:
        now = handle.current
        ready = [child for child in sub_agent_state.startable(now) if child.id in plans]
        if now.status.final or now.pause is not None or not ready:
            return []
        parts: list[Part] = []
        free = self.free_slots(now.root_run_id)
        # An agent that works beside its sub-agents keeps a share for itself.
        divided = len(ready) + (1 if any(child.background for child in ready) else 0)
        for child in ready:
            plan = plans[child.id]
            share = budget.share(now.agent, now.raised_limits, now.spent, divided, plan.agent.budget)
            problem = self._problem(free, plan, share)
            if problem is not None or not isinstance(share, Budget):
                parts.append(
                    Part(handle, [ChildFinished(child_id=child.id, status=ChildStatus.ERROR, error=problem or "")])
                )
                continue
            free -= 1
            begun.append(plan)
            parts.append(Part(handle, [ChildStarted(child_id=child.id, share=share)]))
            parts.append(
                Part(
                    children[child.id], [_run_started(now, plan, share), UserMessage(content=_prompt(now, child, plan))]
                )
            )
        return parts

    def _problem(self, free: int, plan: ChildPlan, share: Budget | LimitKind) -> str | None:
        if isinstance(share, LimitKind):
            return f"Nothing is left of the budget for {share.value} to give to this sub-agent."
        if free <= 0:
            return (
                f"{limits.CHILDREN} sub-agents are at work already, the most there may be. Try again when one is done."
            )
        return self.breakers.refusal(plan)

    async def ask_parent(self, handle: RunHandle, call_id: str, message: str) -> None:
        parent = await self.parent(handle.current)
        asked = ParentAsked(call_id=call_id, message=message)

        def decide() -> list[Part]:
            if handle.current.status.final:
                return []
            if parent is None or _ended(parent.handle.current):
                call = handle.current.call(call_id)
                tool = call.intent.tool if call is not None and call.intent is not None else ""
                return [Part(handle, [call_finished(call_id, tool, ToolResult.failure(NO_ANSWER, "no_parent"))])]
            return [Part(handle, [asked]), Part(parent.handle, [ChildAsked(child_id=handle.run_id, message=message)])]

        try:
            await self._env.journal.append_together([handle, *([parent.handle] if parent else [])], decide)
        finally:
            if parent is not None:
                self._live.drive(parent)

    async def answer(
        self, handle: RunHandle, child_id: str, text: str, *, by: AnsweredBy, then: Sequence[EventBody] = ()
    ) -> bool:
        child = await self._live.load(child_id)
        done = False

        def decide() -> list[Part]:
            nonlocal done
            now = child.handle.current
            call = next((c for c in now.calls if c.status == "waiting" and c.waits_for == "parent"), None)
            if call is None or now.status.final:
                known = handle.current.child(child_id)
                stale = known is not None and known.status is ChildStatus.ASKING and not _ended(handle.current)
                # An obsolete question must not block its parent.
                return [Part(handle, [ChildAnswered(child_id=child_id, text=NEEDLESS, by="engine")])] if stale else []
            done = True
            result = (
                ToolResult.failure(text, "no_answer") if by == "engine" else ToolResult.ok(answer=text, answered_by=by)
            )
            tool = call.intent.tool if call.intent else call.call.name
            answered: list[EventBody] = [
                ParentAnswered(call_id=call.call.id, text=text, by=by),
                call_finished(call.call.id, tool, result),
            ]
            parts = [Part(child.handle, answered)]
            if not _ended(handle.current):
                parts.append(Part(handle, [ChildAnswered(child_id=child_id, text=text, by=by), *then]))
            return parts

        try:
            await self._env.journal.append_together([handle, child.handle], decide)
            return done
        finally:
            self._live.drive(child)

    async def parent(self, state: RunState) -> LiveRun | None:
        """Return a sub-agent's parent in memory; None for a root run, or if it is gone or unreadable."""
        if state.parent_run_id is None:
            return None
        try:
            return await self._live.load(state.parent_run_id)
        except NotFoundError:
            return None
        except StorageError as error:
            if error.code != DAMAGED:
                raise
            return None

    async def conclude(self, handle: RunHandle, decide: Decide, *, clear_partial: bool = False) -> bool:
        parent = await self.parent(handle.current)
        ended: ChildFinished | None = None
        answered = False

        def parts() -> list[Part]:
            nonlocal ended, answered
            now = handle.current
            bodies = decide(now) or ()
            if not bodies:
                return []
            own = Part(handle, bodies, clear_partial)
            last = bodies[-1]
            if parent is not None and not isinstance(last, RunFinished) and _answers_itself(now, bodies):
                answered = True
                known = parent.handle.current.child(handle.run_id)
                if known is not None and known.status is ChildStatus.ASKING and not _ended(parent.handle.current):
                    return [own, Part(parent.handle, [ChildAnswered(child_id=handle.run_id, text=NEEDLESS, by="user")])]
            if parent is None or not isinstance(last, RunFinished):
                return [own]
            ended = _child_finished(now, last, bodies, self._env.clock.now())
            known = parent.handle.current.child(handle.run_id)
            if _ended(parent.handle.current) or known is None or known.status.over:
                return [own]
            return [own, Part(parent.handle, [ended])]

        handles = [handle] if parent is None else [handle, parent.handle]
        try:
            return await self._env.journal.append_together(handles, parts)
        finally:
            # Even if the wait was aborted, what was committed takes effect.
            if parent is not None and ended is not None and handle.current.status.final:
                self.gone(handle.current.root_run_id, handle.run_id)
                self.breakers.record(handle.current, ended.status)
            if parent is not None and (ended is not None or answered):
                self._live.drive(parent)

    async def stop_below(self, handle: RunHandle) -> None:
        """Stop everything below a run; planned sub-agents never run."""
        # Concurrently: they must not wait for each other.
        await asyncio.gather(*(self._live.cancel(child.id) for child in handle.current.working_children))

        def never(now: RunState) -> list[EventBody] | None:
            if now.status.final:
                return None
            return [ChildFinished(child_id=plan.id, status=ChildStatus.NOT_RUN) for plan in now.plans]

        await self._env.journal.append_if(handle, never)

    async def child_states(self, handle: RunHandle) -> list[ChildState]:
        """Return the sub-agents of a run; running ones with their usage so far."""
        found = []
        for child in handle.current.children:
            live = self._live.get(child.id)
            if live is not None and live.handle.state is not None and not child.status.over:
                child = child.model_copy(update={"spent": live.handle.state.total})
            found.append(child)
        return found

    async def terminate(self, handle: RunHandle, child_id: str) -> ChildState:
        """Stop a sub-agent with everything below it, and return its state."""
        await self._live.cancel(child_id)
        child = handle.current.child(child_id)
        assert child is not None, "the caller has looked"
        return child


def _ended(state: RunState) -> bool:
    """Whether a run has finally ended; one that could not reach its model may be resumed."""
    return state.status.final and not state.failed


def _answers_itself(state: RunState, bodies: Sequence[EventBody]) -> bool:
    """Whether events close the call with which a run asks its parent, without its parent's answer."""
    asks = {call.call.id for call in state.calls if call.status == "waiting" and call.waits_for == "parent"}
    return any(isinstance(body, ToolCallFinished) and body.call_id in asks for body in bodies)


def _handed_down(parent: RunState, plan: ChildPlan) -> tuple[PermissionRule, ...]:
    root = parent.root_run_id or parent.run_id
    return handed_down((*parent.approvals.rules, *parent.granted), parent.agent_id, plan.agent_id, root)


def _run_started(parent: RunState, plan: ChildPlan, share: Budget) -> RunStarted:
    policy = parent.approvals.model_copy(
        update={
            "mode": approval_strictness_and_grouping.stricter(parent.approvals.mode, plan.agent.approval),
            "rules": (rules := _handed_down(parent, plan)),
            "snapshot": snapshot(rules),
        }
    )
    return RunStarted(
        agent_id=plan.agent_id,
        agent=plan.agent.model_copy(update={"budget": share}),
        mode=parent.mode,
        parent_run_id=parent.run_id,
        parent_call_id=next((child.call_id for child in parent.children if child.id == plan.id), ""),
        title=plan.title,
        correlation_id=parent.correlation_id,
        depth=parent.depth + 1,
        lineage=(*parent.lineage, Ancestor(run_id=parent.run_id, agent_name=parent.agent.name)),
        max_depth=parent.max_depth,
        approvals=policy,
        language=parent.language,
        workspace=parent.workspace,
        trusted=parent.trusted,
        instructions=parent.instructions,
        skills=parent.skills,
        attachments=tuple(
            each.model_copy(update={"text": ""}) for each in list(parent.attachments.values())[-limits.ATTACHED_FILES :]
        ),
        tainted=parent.tainted,
    )


def _prompt(parent: RunState, child: ChildState, plan: ChildPlan) -> str:
    """Return a sub-agent's prompt, in a plan with the results of earlier stages."""
    if child.kind is not TeamCall.PLAN or plan.agent.provider == DIRECT_CALL:
        return plan.prompt
    earlier = [other for other in parent.children if other.call_id == child.call_id and other.stage < child.stage]
    return with_earlier(plan.prompt, earlier)


def _refused_call(state: RunState) -> str | None:
    """Return why the single call of a call-only sub-agent failed; None if it did not."""
    if state.agent.provider != DIRECT_CALL:
        return None
    last = next((entry for entry in reversed(state.entries) if entry.kind is EntryKind.RESULT), None)
    if last is None or last.success:
        return None
    try:
        found = json.loads(last.text)
    except ValueError:
        found = {}
    return str(found.get("error") if isinstance(found, dict) and found.get("error") else last.text)


def _child_finished(state: RunState, end: RunFinished, bodies: Sequence[EventBody], now: datetime) -> ChildFinished:
    """Return the parent's event for a run's end.

    The report is its result, else its last text, with what it passed on before.
    """
    status = ENDS[end.status]
    report = handed_over(end.summary, end.result)
    if not report:
        said = [body.content for body in bodies if isinstance(body, ReplyCutOff) and body.content]
        replies = [entry.text for entry in state.entries if entry.kind is EntryKind.REPLY and entry.text]
        report = said[-1] if said else replies[-1] if replies else ""
    report = with_handed(report, state.handed)
    started = state.started_at
    error = end.error
    if not error and status is ChildStatus.CANCELLED:
        error = "It was stopped before it was done."
    elif not error and status is ChildStatus.ABANDONED:
        error = end.summary or "It gave its task up."
    if status is ChildStatus.COMPLETED and (refused := _refused_call(state)) is not None:
        status, error = ChildStatus.ERROR, refused
    return ChildFinished(
        child_id=state.run_id,
        status=status,
        report=report,
        error=error if status is not ChildStatus.COMPLETED else "",
        spent=state.total,
        duration_ms=None if started is None else max(0, round((now - started).total_seconds() * 1000)),
        tainted=state.tainted,
        # The sources it used support its parent's answer, whether named there or not.
        sources=tuple(each.model_copy(update={"read": True}) for each in used(report, state.sources)),
    )
