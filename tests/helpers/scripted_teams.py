"""Teams with a scripted model: one script per agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

TEAM_TOOLS = (
    "CalculatorTool",
    "TodoTool",
    "UserQuestionTool",
    "SpawnAgentTool",
    "ParallelTasksTool",
    "DelegateTaskTool",
    "plan_actions",
)


def leader(**changes: Any) -> AgentConfig:
    """An agent that may start others without approval."""
    return agent(**{"tools": TEAM_TOOLS, "approval": "auto", **changes})


async def begin(atelier: Atelier, text: str = "Work.", **changes: object) -> tuple[str, str]:
    """A workflow and the run of its leader."""
    workflow = await atelier.workflows.create()
    return workflow.id, await atelier.runs.send(workflow.id, text, agent=leader(**changes))


def scripts(**steps: Sequence[Step] | ScriptedModel) -> Callable[[AgentConfig], ScriptedModel]:
    """A model factory: an agent's model is the script with its name."""
    models: Mapping[str, ScriptedModel] = {
        name: each if isinstance(each, ScriptedModel) else ScriptedModel(each) for name, each in steps.items()
    }

    def factory(config: AgentConfig) -> ScriptedModel:
        return models[config.name]

    return factory


def spawn(id: str, name: str, prompt: str = "Do it.", **more: Any) -> ToolCall:
    """A call that starts one sub-agent."""
    return tool_call("SpawnAgentTool", id, operation="spawn", name=name, prompt=prompt, **more)


def calculate(id: str, expression: str) -> ToolCall:
    """A call that cannot fail."""
    return tool_call("CalculatorTool", id, operation="eval", expression=expression)


def ask_user(id: str, question: str = "Which colour?") -> ToolCall:
    """A call that waits for the user."""
    arguments = {"operation": "ask", "question": question, "questionType": "text"}
    return tool_call("UserQuestionTool", id, **arguments)


def ask_parent(id: str, message: str) -> ToolCall:
    """A sub-agent's call that waits for its parent."""
    return tool_call("wait_parent", id, message=message)
