"""pydantic-ai: an agent with one tool."""

from __future__ import annotations

from pathlib import Path

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


def CalculatorTool(operation: str, expression: str) -> str:
    """Calculate an expression."""
    return "42"


class PydanticAI:
    def __init__(self, url: str) -> None:
        self._client = AsyncOpenAI(base_url=url, api_key="none")
        self._agents: dict[str, Agent] = {}

    def _agent(self, model: str) -> Agent:
        if model not in self._agents:
            provider = OpenAIProvider(openai_client=self._client)
            self._agents[model] = Agent(
                OpenAIChatModel(model, provider=provider), tools=[CalculatorTool], system_prompt="Be brief."
            )
        return self._agents[model]

    async def run(self, model: str, stream: bool) -> str:
        agent, limits = self._agent(model), UsageLimits(request_limit=100)
        if not stream:
            return (await agent.run("What is 6*7?", usage_limits=limits)).output
        async with agent.run_stream("What is 6*7?", usage_limits=limits) as result:
            return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])

    async def settle(self) -> None:
        return None

    async def aclose(self) -> None:
        await self._client.close()


async def create(url: str, _folder: Path) -> PydanticAI:
    return PydanticAI(url)
