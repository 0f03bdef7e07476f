"""Prepare calls: can they be made, and do they need approval? All refusals of calls are decided here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Action, Verdict
from atelier_desk.engine.journal.journal import RunHandle
from atelier_desk.engine.run.call_verdict import Judge, refusal, unreachable
from atelier_desk.engine.run.decided_call import Decided, Held
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.run.reducer.state import CallState, RunState
from atelier_desk.engine.run.request import tool_search
from atelier_desk.engine.run.request.toolset import toolset, visible
from atelier_desk.engine.team.team_interface import TeamPort
from atelier_desk.policy import approval_strictness_and_grouping
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Effect, Tool, ToolCategory, ToolResult
from atelier_desk.tools.registry.registry import PreparedCall, described
from atelier_desk.tools.registry.tool_modes import Toolset

NARROWED = (
    "The user changed what you may do before this call ran, and it was not made. "
    "Make it again if it is still needed: the user is asked first."
)


class CallPreparation:
    """Prepares the calls of one run and decides about them."""

    def __init__(self, env: RunEnvironment, handle: RunHandle, teams: TeamPort) -> None:
        self._env = env
        self._handle = handle
        self._teams = teams
        self.judge = Judge(env.own, env.marks)
        self._begun: RunState | None = None
        self._tools: tuple[tuple[object, ...], Toolset] | None = None

    def begin(self, state: RunState) -> None:
        """Begin a moment of decision: repositories, and the tools of a state, are looked up once for all its calls."""
        self.judge.begin()
        if self._begun is not state:
            self._begun, self._tools = state, None

    def tools(self, state: RunState) -> Toolset:
        """Return the run's tools at the last moment of decision."""
        about = (state.agent, state.workspace, state.skills, state.skills_used)
        if self._tools is None or self._tools[0] != about:
            self._tools = (about, toolset(self._env.registry, state))
        return self._tools[1]

    async def decide(self, state: RunState, call: CallState) -> Decided:
        """Return the decision about a call.

        Disk and git access happen in a thread, which is abandoned if the call is cancelled.
        """
        one, tainted = self.resolve(state, call.call), self._teams.tainted(state)
        if self.blocks(state, one):
            return await in_tool_thread(self.judged, state, one, tainted, allowed=call.allowed)
        return self.judged(state, one, tainted, allowed=call.allowed)

    def at_once(self, state: RunState, calls: Sequence[CallState]) -> list[Decided] | None:
        """Decide about several calls without blocking; None if one of them blocks."""
        resolved = [self.resolve(state, call.call) for call in calls]
        if any(self.blocks(state, one) for one in resolved):
            return None
        tainted = self._teams.tainted(state)
        return [
            self.judged(state, one, tainted, allowed=call.allowed) for one, call in zip(resolved, calls, strict=True)
        ]

    def ready(self, call: CallState, intent: ToolCallStarted) -> PreparedCall | ToolResult:
        """Return what to execute for a call with a committed intent.

        The prepared call, or a new preparation after a restart or re-registration of its tool.
        """
        held = self._held(call.call)
        if held is not None and held.ready is not None and self._env.registry.get_tool(intent.tool) is held.ready.tool:
            return held.ready
        return self._env.registry.prepared(intent.tool, intent.arguments)

    async def narrowed(self, call_id: str) -> ToolResult | None:
        """Return why a call with a committed intent must not run after all, because a person narrowed the run's rights.

        None if it may.
        """
        while (call := (state := self._handle.current).call(call_id)) is not None and call.narrowed:
            one = await self.decide(state, call)
            if one.failure is not None:
                return one.failure
            if one.asks is not None:
                return ToolResult.failure(NARROWED, "denied")
            if self._handle.current is state:
                break
        return None

    def _held(self, call: ToolCall) -> Held | None:
        held = self._handle.prepared.get(call.id)
        return held if held is not None and held.made is call else None

    def resolve(self, state: RunState, call: ToolCall) -> Decided:
        """Resolve a call: the tool it names, the tool inside ``invoke_tool``, or an error for the model.

        Without a verdict.
        """
        held = self._held(call)
        if held is not None and held.state is state:
            return held.decided
        one = self._resolve(state, call, held.ready if held is not None else None)
        there = {each.call.id for each in state.calls}
        self._handle.prepared = {id: each for id, each in self._handle.prepared.items() if id in there}
        self._handle.prepared[call.id] = Held(call, state, one, one.ready or (held.ready if held is not None else None))
        return one

    def _resolve(self, state: RunState, call: ToolCall, known: PreparedCall | None) -> Decided:
        registry = self._env.registry
        name, arguments, via = call.name, call.arguments, ""
        failure = ToolResult.failure(call.error, "invalid_arguments") if call.error is not None else None
        if failure is None:
            meant = registry.meant(name, arguments, self.tools(state).usable)
            if isinstance(meant, ToolResult):
                failure = meant
            elif meant[0] != name:
                via, (name, arguments) = name, meant
        tool = registry.get_tool(name)
        if failure is None and tool is not None and (read := tool.read_arguments(arguments)) is not arguments:
            arguments, call = read, call.model_copy(update={"repaired": True})
        failure = failure or self._refusal(state, name, via=via)
        ready: PreparedCall | None = None
        if failure is None and tool is not None:
            if known is not None and known.tool is tool:
                # A tool's description may depend on other activity, but its input only on the arguments.
                ready = known._replace(described=described(tool, known.input))
            else:
                found = registry.prepared(name, arguments)
                # Tell the model, and do not ask anybody about a call that cannot run.
                ready, failure = (None, found) if isinstance(found, ToolResult) else (found, None)
        intent = self._intent(
            state, call, tool, ready.described if ready else None, name=name, arguments=arguments, via=via
        )
        return Decided(call=call, intent=intent, tool=tool, ready=ready, failure=failure)

    def _refusal(self, state: RunState, name: str, *, via: str) -> ToolResult | None:
        """Return why the run may not call a tool now."""
        registry = self._env.registry
        if registry.is_control_tool(name):
            return None
        mine = self.tools(state)
        return tool_search.not_found(mine, state, name) or registry.refusal(
            name,
            mine.usable if via else visible(mine, state, tool_search.current(state)),
            depth=state.depth, max_depth=state.max_depth, workspace=bool(state.workspace),
        )  # fmt: skip

    def blocks(self, state: RunState, one: Decided) -> bool:
        """Whether judging a call runs a program or scans folders."""
        return one.ready is not None and self.judge.blocks(state, one.intent.tool, one.ready.described)

    def judged(self, state: RunState, one: Decided, tainted: Sequence[str], *, allowed: bool) -> Decided:
        """Return the call with its verdict; ``allowed``: a person approved it. See ``blocks``."""
        if one.ready is None:
            return one
        tool, about = one.ready.tool, one.ready.described
        away = unreachable(state, tool, about)
        if away is not None:
            # Not decided by rules, but attempts to leave the workspace are recorded in the audit trail.
            verdict = Verdict(action=Action.DENY, reason="outside", about=", ".join(about.subjects.paths))
            return one.refused(ToolResult.failure(str(away), away.code), verdict=verdict)
        if tool.category is ToolCategory.CONTROL or about.effect is Effect.INTERACT:
            return one  # talking to a person or to the loop never asks
        verdict, grounds, reads, always = self.judge.judged(
            state, one.intent, about, repaired=one.call.repaired, tainted=tainted
        )
        if verdict.action is Action.DENY:
            # Also for an approved call: edited arguments may affect something denied.
            by_rule = {"rule": verdict.rule} if verdict.reason == "rule" else {}
            failure = ToolResult.failure(refusal(verdict), "denied", **by_rule)
            return one.refused(failure, verdict=verdict, grounds=grounds)
        intent = one.intent.model_copy(update={"verdict": verdict, "grounds": grounds, "taint": reads})
        return replace(
            one, intent=intent, asks=verdict if verdict.action is Action.ASK and not allowed else None, always=always
        )

    @staticmethod
    def _intent(
        state: RunState,
        call: ToolCall,
        tool: Tool | None,
        about: Call | None,
        *,
        name: str,
        arguments: dict[str, object],
        via: str,
    ) -> ToolCallStarted:
        if tool is None:
            return ToolCallStarted(call_id=call.id, tool=name, arguments=arguments, via=via, idempotent=True)
        said = about or Call(tool.effect, tool.risk, idempotent=tool.idempotent)
        return ToolCallStarted(
            call_id=call.id,
            tool=name,
            arguments=arguments,
            via=via,
            server=said.subjects.server,
            section=tool.section,
            effect=said.effect.value,
            risk=approval_strictness_and_grouping.risk_of(state.approvals, name, said.risk.value),
            idempotent=said.idempotent,
            subjects=said.subjects,
            presentation=Presentation(icon=tool.icon, title=tool.title, summary=said.summary, done=said.done),
        )
