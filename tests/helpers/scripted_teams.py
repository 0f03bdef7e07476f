"""Teams with a scripted model: one script per agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.helpers.runs_without_driver import agent

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
    return ToolCall(
        id=id, name="SpawnAgentTool", arguments={"operation": "spawn", "name": name, "prompt": prompt, **more}
    )


def calculate(id: str, expression: str) -> ToolCall:
    """A call that cannot fail."""
    return ToolCall(id=id, name="CalculatorTool", arguments={"operation": "eval", "expression": expression})


def ask_user(id: str, question: str = "Which colour?") -> ToolCall:
    """A call that waits for the user."""
    arguments = {"operation": "ask", "question": question, "questionType": "text"}
    return ToolCall(id=id, name="UserQuestionTool", arguments=arguments)


def ask_parent(id: str, message: str) -> ToolCall:
    """A sub-agent's call that waits for its parent."""
    return ToolCall(id=id, name="wait_parent", arguments={"message": message})
