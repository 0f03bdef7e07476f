"""Teams in a complete engine: a script for each agent, helpers for calls, and a stream that records whether it was
closed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeVar

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.events.run import Event
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, Role, TextDelta, ToolCall
from atelier_desk.domain.workflow import Run
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

E = TypeVar("E", bound=Event)
TOOLS = (
    "CalculatorTool",
    "TodoTool",
    "UserQuestionTool",
    "SpawnAgentTool",
    "DelegateTaskTool",
    "ParallelTasksTool",
    "list_tool_sections",
    "plan_actions",
    "task_complete",
    "task_abandon",
)


def lead(**changes: Any) -> AgentConfig:
    """The agent that a person talks to; it needs no approvals unless configured otherwise."""
    return agent(**{"name": "Lead", "tools": TOOLS, "approval": "auto", **changes})


def worker(name: str, **changes: Any) -> AgentConfig:
    """A stored agent to which work can be delegated."""
    return agent(**{"name": name, "approval": "auto", **changes})


class Cast:
    """A model factory: each agent follows the script of its name, and only that."""

    def __init__(self, **scripts: Sequence[Step] | Any) -> None:
        self.models: dict[str, Any] = {
            name: ScriptedModel(script) if isinstance(script, list | tuple) else script
            for name, script in scripts.items()
        }

    def __call__(self, config: AgentConfig) -> Any:
        return self.models[config.name.replace(" ", "_")]

    def results(self, name: str = "Lead", *, request: int = -1) -> list[dict[str, Any]]:
        """Every tool result that an agent's model was sent in one of its requests, in order."""
        return [json.loads(m.content) for m in self.models[name].requests[request].messages if m.role is Role.TOOL]

    def result(self, name: str = "Lead", *, request: int = -1) -> dict[str, Any]:
        """The last tool result an agent's model was sent."""
        return self.results(name, request=request)[-1]

    def last(self, name: str = "Lead") -> str:
        """The last message an agent's model was sent."""
        return str(self.models[name].requests[-1].messages[-1].content)

    def complete(self) -> None:
        for model in self.models.values():
            if isinstance(model, ScriptedModel):
                model.assert_complete()


class Stuck:
    """A model that sends some words and then nothing until it is stopped, like a hanging server; it records when
    its stream is closed.
    """

    def __init__(self, words: Sequence[str] = ("Half ", "a report")) -> None:
        self._words = words
        self.requests: list[ChatRequest] = []
        self.open = 0
        self.closed = 0
        self.begun = asyncio.Event()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        self.requests.append(request)
        self.open += 1
        try:
            for word in self._words:
                yield TextDelta(content=word)
            self.begun.set()
            await asyncio.Event().wait()
        finally:
            self.open -= 1
            self.closed += 1


def call(tool: str, id: str = "c", **arguments: Any) -> ToolCall:
    return tool_call(tool, id, **arguments)


def spawn(id: str = "s", name: str = "Helper", prompt: str = "Do it.", **more: Any) -> ToolCall:
    return call("SpawnAgentTool", id, operation="spawn", name=name, prompt=prompt, **more)


def join(id: str = "j", *child_ids: str) -> ToolCall:
    return call("SpawnAgentTool", id, operation="join", **({"child_ids": list(child_ids)} if child_ids else {}))


def delegate(id: str, agent_id: str, prompt: str = "Do it.") -> ToolCall:
    return call("DelegateTaskTool", id, operation="delegate", agent_id=agent_id, prompt=prompt)


def batch(id: str, *tasks: tuple[str, str], **more: Any) -> ToolCall:
    listed = [{"agent_id": agent_id, "prompt": prompt} for agent_id, prompt in tasks]
    return call("ParallelTasksTool", id, operation="execute_batch", tasks=listed, **more)


def plan(id: str, *actions: dict[str, Any], **more: Any) -> ToolCall:
    return call("plan_actions", id, goal="Know it all", actions=list(actions), **more)


def calculate(id: str = "k", expression: str = "6*7") -> ToolCall:
    return call("CalculatorTool", id, operation="eval", expression=expression)


def ask_parent(id: str = "p", message: str = "Which?") -> ToolCall:
    return call("wait_parent", id, message=message)


def ask_user(id: str = "q", question: str = "Which?") -> ToolCall:
    return call("UserQuestionTool", id, operation="ask", question=question, questionType="text")


def answering(message: str) -> Callable[[ChatRequest], Step]:
    """Answers the sub-agent named in the request's newest message, as a model that reads the id there."""

    def step(request: ChatRequest) -> Step:
        text = request.messages[-1].content
        found = (
            json.loads(text)["questions"][0]["child_id"]
            if text.startswith("{")
            else text.split("child_id ")[1].split(")")[0]
        )
        return [call("answer_child", "answer", child_id=found, message=message)]

    return step


async def begin(atelier: Atelier, text: str = "Work.", **changes: Any) -> tuple[str, str]:
    """A workflow and its run."""
    config = changes.pop("agent", None) or lead(**changes)
    workflow = await atelier.workflows.create()
    return workflow.id, await atelier.runs.send(workflow.id, text, agent=config)


async def team_rows(atelier: Atelier, workflow_id: str) -> dict[str, Run]:
    """The runs of a workflow by the name of their agent."""
    return {row.agent_name: row for row in await atelier.repos.runs.list(workflow_id)}


async def bodies(atelier: Atelier, run_id: str, *kinds: type[E]) -> list[E]:
    """The events of a run of some types."""
    return [event.body for event in await run_events(atelier.repos, run_id) if isinstance(event.body, kinds)]
