"""langgraph with langchain-openai: the prebuilt agent, without a checkpointer; langgraph_sqlite_peer.py adds one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

STEPS = 200
QUESTION = "What is 6*7?"


def CalculatorTool(operation: str, expression: str) -> str:
    """Calculate an expression."""
    return "42"


class LangGraph:
    saver: Any = None
    durability: Any = None

    def __init__(self, url: str) -> None:
        warnings.simplefilter("ignore")
        self._url = url
        self._graphs: dict[tuple[str, bool], Any] = {}

    def _graph(self, model: str, stream: bool) -> Any:
        key = (model, stream)
        if key not in self._graphs:
            chat = ChatOpenAI(model=model, base_url=self._url, api_key="none", streaming=stream, stream_usage=stream)
            self._graphs[key] = create_react_agent(
                chat, [self._tool(model)], prompt="Be brief.", checkpointer=self.saver
            )
        return self._graphs[key]

    def _tool(self, _model: str) -> Any:
        return CalculatorTool

    def _config(self) -> Any:
        return {"recursion_limit": STEPS}

    async def run(self, model: str, stream: bool) -> str:
        graph = self._graph(model, stream)
        inputs, config = {"messages": [("user", QUESTION)]}, self._config()
        if not stream:
            return (await graph.ainvoke(inputs, config, durability=self.durability))["messages"][-1].content
        text = ""
        async for chunk, where in graph.astream(inputs, config, stream_mode="messages", durability=self.durability):
            if where["langgraph_node"] == "agent" and isinstance(chunk.content, str):
                text += chunk.content
        return text

    async def settle(self) -> None:
        return None

    async def aclose(self) -> None:
        return None


async def create(url: str, _folder: Path) -> LangGraph:
    return LangGraph(url)
