"""A workflow with a turn, a call, a report and a memory."""

from __future__ import annotations

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.memory import MemoryType
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import Step
from tests.engine.conftest import send_and_wait
from tests.helpers.tool_calls import tool_call

AGENT = AgentConfig(
    name="Tester",
    provider="test",
    model="scripted",
    tools=("CalculatorTool", "TodoTool", "UserQuestionTool", "ReportTool"),
)


def calculate(id: str, expression: str = "6*7") -> ToolCall:
    return tool_call("CalculatorTool", id, operation="eval", expression=expression)


async def turn(atelier: Atelier, workflow_id: str, text: str) -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, agent=AGENT)
    return run_id


async def full_workflow(atelier: Atelier) -> str:
    """A workflow with something in every table of a workflow."""
    workflow = await atelier.workflows.create("Everything")
    await turn(atelier, workflow.id, "What is 6*7?")
    task = await atelier.tasks.create(workflow.id, "First")
    await atelier.tasks.create(workflow.id, "Second", dependencies=[task.id])
    await atelier.memories.add("The deadline is Friday", type=MemoryType.DECISION, workflow_id=workflow.id)
    await atelier.reports.write(workflow.id, "Findings", "# Findings\n\nétude")
    return workflow.id


STEPS: list[Step] = [[calculate("c1")], "It is 42."]
