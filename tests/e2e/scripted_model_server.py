"""A model server on loopback for tests of the window: on its own thread, with a script for each agent.

The first user message of a request selects the script: for the agent a person talks to it is the person's text, for a
sub-agent its prompt. Everything between the window and the bytes on the wire is real.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Reply, Request, Response, Step

T = TypeVar("T")
Answer = Step | Callable[[dict[str, Any]], Step]
"""A reply, or a function that creates one from the request's body."""
PROVIDER, MODEL, WINDOW = "server", "test-model", 32_000
TEAM_TOOLS = (
    "CalculatorTool",
    "TodoTool",
    "UserQuestionTool",
    "ReportTool",
    "SpawnAgentTool",
    "DelegateTaskTool",
    "ParallelTasksTool",
    "plan_actions",
)


class _Routed(FakeOpenAI):
    """Uses for each request the script of its agent."""

    def __init__(self, scripts: dict[str, list[Answer]]) -> None:
        super().__init__()
        self.scripts = scripts
        self.surprises: list[str] = []
        self._key = ""
        self._body: dict[str, Any] = {}

    async def chat(self, request: Request, out: Response) -> None:
        self._body = request.json
        self._key = self.key_of(self._body)
        await super().chat(request, out)  # The step is selected before the first await.

    def key_of(self, body: dict[str, Any]) -> str:
        """The script of a request; the complete first user message if there is none."""
        first = next((str(message["content"]) for message in body["messages"] if message["role"] == "user"), "")
        return next((key for key in self.scripts if key in first), first)

    def next_step(self) -> Step:
        steps = self.scripts.get(self._key)
        if not steps:
            self.surprises.append(self._key)
            return Reply(text=f"There is no reply for {self._key!r}.")
        step = steps.pop(0)
        return step(self._body) if callable(step) else step


class ModelServer:
    """The server with its thread. Use as a context manager.

    Attributes:
        scripts: remaining replies, by a part of the first user message.
    """

    def __init__(self) -> None:
        self.scripts: dict[str, list[Answer]] = {}
        self._server = _Routed(self.scripts)
        self._server.models = [{"id": MODEL, "object": "model", "created": 1, "owned_by": "tests"}]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-server", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._server.__aenter__())
        return self

    def __exit__(self, *_error: object) -> None:
        self._do(self._server.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def script(self, key: str, *steps: Answer | str) -> None:
        """Set replies of the agent whose first user message contains ``key``, in order; texts are complete replies."""
        self.scripts.setdefault(key, []).extend(Reply(text=step) if isinstance(step, str) else step for step in steps)

    def models(self, *names: str) -> None:
        """Set the models that the server lists."""
        self._server.models = [{"id": name, "object": "model", "created": 1, "owned_by": "tests"} for name in names]

    def free(self, gate: asyncio.Event) -> None:
        """Open a gate that replies wait for."""
        self._loop.call_soon_threadsafe(gate.set)

    def requests(self, key: str) -> list[dict[str, Any]]:
        """The bodies of an agent's requests, oldest first."""
        bodies = [request.json for request in list(self._server.requests) if request.path == "/v1/chat/completions"]
        return [body for body in bodies if self._server.key_of(body) == key]

    @property
    def surprises(self) -> list[str]:
        """Requests without a scripted reply."""
        return self._server.surprises

    @property
    def provider(self) -> ProviderConfig:
        return ProviderConfig(name=PROVIDER, kind="openai", base_url=self._server.url)


def held_reply(text: str, gate: asyncio.Event, after: int = 3) -> Reply:
    """A reply that stops after ``after`` events of its stream until ``gate`` is opened."""
    return Reply(text=text, hold_after=after, gate=gate)


def calls(*tool_calls: Call, text: str = "", **more: Any) -> Reply:
    return Reply(text=text, calls=tool_calls, **more)


def spawn(id: str, name: str, prompt: str, **more: Any) -> Call:
    return Call("SpawnAgentTool", {"operation": "spawn", "name": name, "prompt": prompt, **more}, id=id)


def batch(id: str, *tasks: tuple[str, str]) -> Call:
    """A batch; each task is an agent and its prompt."""
    listed = [{"agent_id": agent, "prompt": prompt} for agent, prompt in tasks]
    return Call("ParallelTasksTool", {"operation": "execute_batch", "tasks": listed}, id=id)


def calculate(id: str, expression: str) -> Call:
    return Call("CalculatorTool", {"operation": "eval", "expression": expression}, id=id)


def config(name: str, **changes: Any) -> AgentConfig:
    """An agent that uses the server and needs no approvals."""
    defaults: dict[str, Any] = {
        "name": name,
        "provider": PROVIDER,
        "model": MODEL,
        "tools": TEAM_TOOLS,
        "approval": ApprovalMode.AUTO,
        "system_prompt": f"You are {name}.",
    }
    return AgentConfig(**{**defaults, **changes})


async def hire(atelier: Any, provider: ProviderConfig, *agents: AgentConfig, window: int = WINDOW) -> None:
    """Connect the server and store the agents; the first one is the default."""
    await atelier.providers.save(provider)
    await atelier.models.update(ModelInfo(provider=PROVIDER, name=MODEL, context_window=window, supports_tools=True))
    stored = [await atelier.agents.save(agent) for agent in agents]
    await atelier.settings.update(default_agent_id=stored[0].id)


def newest_message(body: dict[str, Any], role: str = "tool") -> str:
    """The newest message of a role in a request, as text."""
    return [str(message["content"]) for message in body["messages"] if message["role"] == role][-1]
