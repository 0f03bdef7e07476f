"""The same run with each kind of server: from the agent to the protocol and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import FactoryGateway
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import agent
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply

CALCULATE = Call("CalculatorTool", {"operation": "eval", "expression": "12*7"}, id="abcdef123")
SERVERS: dict[str, type[Any]] = {
    "openai": FakeOpenAI,
    "mistral": FakeMistral,
    "ollama": FakeOllama,
}


@asynccontextmanager
async def world(kind: str, tmp_path: Path) -> AsyncIterator[tuple[Any, Atelier]]:
    async with (
        SERVERS[kind]() as server,
        Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={"KEY": "k" * 20})) as atelier,
    ):
        config = ProviderConfig(
            name="server", kind=kind, base_url=server.url, api_key_env="" if kind == "ollama" else "KEY"
        )
        await atelier.providers.save(config)
        yield server, atelier


async def events_of(atelier: Atelier, agent: AgentConfig) -> list[StreamEvent]:
    return [event async for event in atelier.run("What is 12*7? Use the calculator.", agent=agent)]


@pytest.mark.parametrize("kind", SERVERS)
async def test_native_calls(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(Reply(calls=[CALCULATE]), Reply(text="It is 84."))
        agent = AgentConfig(
            name="A", provider="server", model="test-model", tools=("CalculatorTool",), tool_dialect=ToolDialect.NATIVE
        )
        events = await events_of(atelier, agent)
        end = next(event for event in events if event.chunk_type is ChunkType.TOOL_END)
        assert end.data["result"]["result"] == 84
        assert events[-1].data["status"] == "completed"
        assert next(e for e in reversed(events) if e.chunk_type is ChunkType.USAGE).data["run"]["tokens_input"] > 0


@pytest.mark.parametrize("kind", SERVERS)
async def test_xml_dialect_gives_the_same_calls(kind: str, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        written = '<tool_call name="CalculatorTool">{"operation": "eval", "expression": "12*7"}</tool_call>'
        server.script(Reply(text=f"I will calculate. {written}"), Reply(text="It is 84."))
        agent = AgentConfig(
            name="A", provider="server", model="test-model", tools=("CalculatorTool",), tool_dialect=ToolDialect.XML
        )
        events = await events_of(atelier, agent)
        end = next(event for event in events if event.chunk_type is ChunkType.TOOL_END)
        assert end.data["result"]["result"] == 84
        shown = "".join(event.data["content"] for event in events if event.chunk_type is ChunkType.TOKEN)
        assert "tool_call" not in shown
        assert events[-1].data["status"] == "completed"


async def test_a_server_that_disappears_is_retried_and_then_fails_visibly(tmp_path: Path, clock: ManualClock) -> None:
    async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={}), clock=clock) as atelier:
        agent = AgentConfig(name="A", provider="server", model="test-model")
        async with FakeOpenAI() as server:
            await atelier.providers.save(ProviderConfig(name="server", kind="openai", base_url=server.url))
            server.script(Reply(text="Here I am."))
            assert (await events_of(atelier, agent))[-1].data["status"] == "completed"
        running = asyncio.create_task(events_of(atelier, agent))
        while not running.done():
            # Time passes only while somebody waits for it: real sockets are used in between.
            await (clock.advance(5) if clock.sleepers else asyncio.sleep(0))
        events = await running
    assert [event.data["details"]["attempt"] for event in events if event.chunk_type is ChunkType.RETRY] == [2, 3, 4, 5]
    failed = next(event for event in events if event.chunk_type is ChunkType.ERROR)
    assert (failed.data["code"], failed.data["recoverable"]) == ("unreachable", True)
    assert events[-1].data["status"] == "error"


async def test_a_guided_model_gets_only_its_own_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It calls no tools by itself, so the control tools would only take up space."""
    monkeypatch.setattr(FactoryGateway.__init__, "__kwdefaults__", {"window": 4096, "dialect": ToolDialect.GUIDED})
    model = ScriptedModel(["Fine."])
    async with Atelier.open(tmp_path / "data", fsync=False, model_factory=lambda _: model) as atelier:
        async for _event in atelier.run("go", agent=agent(tools=("CalculatorTool",))):
            pass
    assert [tool.name for tool in model.requests[0].tools] == ["CalculatorTool"]


async def test_a_sub_agents_request_is_sent_at_most_three_times(tmp_path: Path) -> None:
    """The provider's own attempts are not multiplied by those of the run."""
    lead_calls = [Call("SpawnAgentTool", {"operation": "spawn", "name": "Helper", "prompt": "Do it."}, id="s1")]
    clock = ManualClock()
    async with (
        FakeOpenAI() as server,
        Atelier.open(tmp_path / "data", fsync=False, clock=clock, vault=KeyVault(environ={"KEY": "k" * 20})) as atelier,
    ):
        server.script(Reply(calls=lead_calls), *(Failure(503) for _ in range(3)), Reply(text="I did it myself."))
        await atelier.providers.save(
            ProviderConfig(name="server", kind="openai", base_url=server.url, api_key_env="KEY")
        )
        config = agent(
            provider="server", model="m", tool_dialect=ToolDialect.NATIVE, approval="auto", tools=("SpawnAgentTool",)
        )
        workflow = await atelier.workflows.create()
        run_id = await atelier.runs.send(workflow.id, "go", agent=config)
        ended = asyncio.ensure_future(atelier.runs.wait(run_id))
        async with asyncio.timeout(20):
            while not ended.done():
                if clock.sleepers:
                    await clock.advance(1)
                await asyncio.sleep(0.001)
        assert (await ended).status is RunStatus.COMPLETED
        assert len([request for request in server.requests if request.path.endswith("/chat/completions")]) == 5
