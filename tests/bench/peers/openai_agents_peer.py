"""openai-agents: an agent with one tool, without tracing or session; openai_agents_session_peer.py adds one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, Session, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

TURNS = 100
QUESTION = "What is 6*7?"


@function_tool
def CalculatorTool(operation: str, expression: str) -> str:
    """Calculate an expression."""
    return "42"


class OpenAIAgents:
    def __init__(self, url: str) -> None:
        set_tracing_disabled(True)
        self._client = AsyncOpenAI(base_url=url, api_key="none")
        self._agents: dict[str, Agent] = {}

    def _agent(self, model: str) -> Agent:
        if model not in self._agents:
            chat = OpenAIChatCompletionsModel(model=model, openai_client=self._client)
            self._agents[model] = Agent(name="bench", instructions="Be brief.", model=chat, tools=[self._tool(model)])
        return self._agents[model]

    def _tool(self, _model: str) -> Any:
        return CalculatorTool

    async def run(self, model: str, stream: bool, session: Session | None = None) -> str:
        if not stream:
            return str((await Runner.run(self._agent(model), QUESTION, max_turns=TURNS, session=session)).final_output)
        result = Runner.run_streamed(self._agent(model), QUESTION, max_turns=TURNS, session=session)
        async for _event in result.stream_events():
            pass
        return str(result.final_output)

    async def settle(self) -> None:
        return None

    async def aclose(self) -> None:
        await self._client.close()


async def create(url: str, _folder: Path) -> OpenAIAgents:
    return OpenAIAgents(url)
