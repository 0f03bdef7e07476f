"""Running tool calls: intent into the journal, the tool, its result into the journal."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.domain.base import new_id
from app.domain.chat import ToolCall
from app.domain.events import (
    CallStatus,
    EventBody,
    LimitKind,
    OutputShown,
    QuestionAsked,
    TaskChanged,
    ToolCallFinished,
    ToolCallStarted,
)
from app.domain.question import UserQuestion
from app.domain.stream import ChunkType
from app.domain.task import Task
from app.engine.journal import RunHandle
from app.engine.run.environment import RunEnvironment
from app.engine.run.model_call import direct_names, enabled_names
from app.engine.run.state import CallState, RunState
from app.policy import budget
from app.tools.base import AskUser, Effect, Tool, ToolContext, ToolResult
from app.tools.control.invoke import unwrap
from app.tools.results import as_json

INTERRUPTED = (
    "This call was interrupted when the program stopped, and its effect is unknown. Check what was done before doing it again, "
    "and tell the user about it."
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call as it will run. ``failure`` is set when it cannot: the error goes straight to the model."""

    call: ToolCall
    intent: ToolCallStarted
    tool: Tool | None = None
    failure: ToolResult | None = None


def finished(call_id: str, tool: str, result: ToolResult, *, duration_ms: int = 0, status: CallStatus | None = None) -> ToolCallFinished:
    """The journal's event for a result."""
    if status is None:
        status = CallStatus.OK if result.success else CallStatus.TIMEOUT if result.data.get("code") == "timeout" else CallStatus.ERROR
    return ToolCallFinished(
        call_id=call_id,
        tool=tool,
        status=status,
        result=result.data,
        text=result.text or as_json(result.data),
        error=str(result.data.get("error") or ""),
        code=str(result.data.get("code") or ""),
        duration_ms=duration_ms,
        truncated=result.truncated,
        end=result.end,
        end_summary=result.end_summary,
    )


def closed(call: CallState, status: CallStatus, error: str) -> list[EventBody]:
    """Events that close a call that will not run to its end."""
    result = ToolResult.failure(error, status.value)
    tool = call.intent.tool if call.intent else call.call.name
    events: list[EventBody] = []
    if call.intent is None:
        events.append(ToolCallStarted(call_id=call.call.id, tool=tool, arguments=call.call.arguments))
    return [*events, finished(call.call.id, tool, result, status=status)]


def question_id(run_id: str, call_id: str) -> str:
    """The same question for every attempt at the same call."""
    return hashlib.sha256(f"question\x00{run_id}:{call_id}".encode()).hexdigest()[:32]


class ToolCalls:
    """Performs ``ExecuteCalls`` and ``RecoverCalls`` steps of one run."""

    def __init__(self, env: RunEnvironment, handle: RunHandle) -> None:
        self._env = env
        self._handle = handle

    async def execute(self, calls: Sequence[CallState]) -> None:
        """Run the next call, or the reading calls at the front together; the driver asks again for the rest."""
        state = self._handle.current
        batch = self._batch([self.prepare(state, call.call) for call in calls])
        await self._env.journal.append(self._handle, *(prepared.intent for prepared in batch))
        if len(batch) == 1:
            await self._run(batch[0])
        else:
            async with asyncio.TaskGroup() as group:
                for prepared in batch:
                    group.create_task(self._run(prepared))

    async def recover(self, calls: Sequence[CallState]) -> None:
        """Finish calls a kill left open: idempotent ones run again, the others are closed as interrupted."""
        for call in calls:
            assert call.intent is not None
            tool = self._env.registry.get_tool(call.intent.tool)
            if tool is not None and call.intent.idempotent:
                await self._run(Prepared(call=call.call, intent=call.intent, tool=tool))
            else:
                await self._env.journal.append(self._handle, *closed(call, CallStatus.INTERRUPTED, INTERRUPTED))

    def prepare(self, state: RunState, call: ToolCall) -> Prepared:
        """Decide what a call runs: the tool it names, the tool named inside ``invoke_tool``, or an error for the model."""
        registry = self._env.registry
        name, arguments, via = call.name, call.arguments, ""
        failure: ToolResult | None = None
        if call.error is not None:
            failure = ToolResult.failure(call.error, "invalid_arguments")
        elif name == "invoke_tool":
            inner = unwrap(name, arguments, registry)
            if isinstance(inner, ToolResult):
                failure = inner
            else:
                via, (name, arguments) = name, inner
        tool = registry.get_tool(name)
        if failure is None and tool is None:
            failure = registry.unknown(name)
        if failure is None and not via and name not in direct_names(self._env, state):
            offered = ", ".join(direct_names(self._env, state)) or "none"
            failure = ToolResult.failure(f"{name} is not available to you. Available tools: {offered}.", "not_enabled")
        intent = ToolCallStarted(
            call_id=call.id,
            tool=name,
            arguments=arguments,
            via=via,
            section=tool.section if tool else "",
            effect=(tool.operation_effect(arguments) if tool else Effect.READ).value,
            risk=tool.risk.value if tool else "low",
            idempotent=tool.operation_idempotent(arguments) if tool else True,
        )
        return Prepared(call=call, intent=intent, tool=tool, failure=failure)

    def _batch(self, prepared: list[Prepared]) -> list[Prepared]:
        state = self._handle.current
        cap = budget.caps(state.agent, state.raised_limits).get(LimitKind.TOOL_CALLS)
        room = len(prepared) if cap is None else max(1, int(cap - state.tool_calls))
        if state.steps is not None:
            room = 1
        reading = 0
        for one in prepared:
            if one.intent.effect != Effect.READ or one.tool is None or one.tool.awaits_external_response:
                break
            reading += 1
        return prepared[: max(1, min(reading, room))]

    async def _run(self, prepared: Prepared) -> None:
        if prepared.failure is not None or prepared.tool is None:
            failure = prepared.failure or self._env.registry.unknown(prepared.intent.tool)
            await self._env.journal.append(self._handle, finished(prepared.call.id, prepared.intent.tool, failure))
            return
        started = self._env.clock.monotonic()
        self._env.fault("before_tool")
        outcome = await self._env.registry.execute(prepared.intent.tool, prepared.intent.arguments, self._context(prepared))
        self._env.fault("after_tool")
        duration_ms = round((self._env.clock.monotonic() - started) * 1000)
        if isinstance(outcome, AskUser):
            await self._env.journal.append(self._handle, self._asked(prepared, outcome))
        else:
            done = finished(prepared.call.id, prepared.intent.tool, outcome, duration_ms=duration_ms)
            await self._env.journal.append(self._handle, *self._shown(prepared, outcome), done)
            if prepared.tool.changes and prepared.intent.effect == Effect.WRITE:
                self._env.bus.changed(prepared.tool.changes, self._handle.workflow_id)

    def _shown(self, prepared: Prepared, result: ToolResult) -> list[EventBody]:
        if result.output is None:
            return []
        content, kind = result.output
        return [OutputShown(call_id=prepared.call.id, content=content, output_type=kind)]

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
                spec=ask.question,
                timeout_s=timeout,
                created_at=self._env.clock.now(),
            )
        )

    def _context(self, prepared: Prepared) -> ToolContext:
        env, state = self._env, self._handle.current

        async def task_changed(action: Literal["create", "update", "complete", "delete"], task: Task) -> None:
            await env.journal.append(self._handle, TaskChanged(action=action, task=task))

        def progress(percent: int, text: str) -> None:
            data: dict[str, Any] = {"call_id": prepared.call.id, "progress": max(0, min(100, percent))}
            if text:
                data["content"] = text
            env.publish(self._handle.current, ChunkType.TOOL_PROGRESS, **data)

        return ToolContext(
            workflow_id=state.workflow_id,
            run_id=state.run_id,
            call_id=prepared.call.id or new_id(),
            agent_id=state.agent_id,
            agent_name=state.agent.name,
            depth=state.depth,
            language=state.language,
            enabled_tools=tuple(enabled_names(env, state)),
            tasks=env.repos.tasks,
            memories=env.repos.memories,
            memory_search=env.memory_search,
            reports=env.repos.reports,
            questions=env.questions,
            registry=env.registry,
            memory_scope=env.memory_scopes.setdefault(state.run_id, {}),
            task_changed=task_changed,
            progress=progress,
            now=env.clock.now,
        )
