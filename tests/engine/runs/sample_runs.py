"""An agent with usual tools, its calls, a started run, and a tool that waits."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.engine import Atelier
from atelier_desk.tools.base import Effect, Input, Outcome, Tool, ToolContext, ToolResult
from tests.helpers.runs_without_driver import agent as agent_of

TOOLS = ("TodoTool", "CalculatorTool", "UserQuestionTool", "MemoryTool", "ReportTool", "output", "task_complete")


def agent(**changes: Any) -> AgentConfig:
    return agent_of(**{"tools": TOOLS, **changes})


async def start(atelier: Atelier, text: str = "hello", **options: Any) -> tuple[str, str]:
    workflow = await atelier.workflows.create()
    run_id = await atelier.runs.send(workflow.id, text, agent=options.pop("agent", agent()), **options)
    return workflow.id, run_id


class Blocking(Tool):
    """Waits until it is cancelled, and reports that."""

    name: ClassVar[str] = "blocking"
    section: ClassVar[str] = "core_ops"
    effect: ClassVar[Effect] = Effect.WRITE
    input: ClassVar[Any] = Input

    def __init__(self) -> None:
        self.running = asyncio.Event()
        self.cancelled = False
        self.release = asyncio.Event()

    @property
    def description(self) -> str:
        return "Waits."

    async def run(self, input: Any, context: ToolContext) -> Outcome:
        self.running.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return ToolResult.ok(done=True)
