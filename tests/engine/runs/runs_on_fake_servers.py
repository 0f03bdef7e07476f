"""Runs with the fake servers of each kind, for tests of their replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.anthropic import FakeAnthropic
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Call, Request

CALCULATE = Call("CalculatorTool", {"operation": "eval", "expression": "12*7"}, id="abcdef123")
SERVERS: dict[str, type[Any]] = {
    "openai": FakeOpenAI,
    "mistral": FakeMistral,
    "ollama": FakeOllama,
    "anthropic": FakeAnthropic,
    "google": FakeGoogle,
    "responses": FakeResponses,
}


def agent(**changes: Any) -> AgentConfig:
    return AgentConfig(**{"name": "A", "provider": "server", "model": "test-model", **changes})


@asynccontextmanager
async def world(kind: str, tmp_path: Path, server: Any = None, **options: Any) -> AsyncIterator[tuple[Any, Atelier]]:
    async with (
        server or SERVERS[kind]() as server,
        Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={}), **options) as atelier,
    ):
        await atelier.providers.save(ProviderConfig(name="server", kind=kind, base_url=server.url))
        yield server, atelier


async def run(atelier: Atelier, text: str = "go", **changes: Any) -> list[StreamEvent]:
    images = changes.pop("images", ())
    return [event async for event in atelier.run(text, agent=agent(**changes), images=images)]


async def run_on(
    clock: ManualClock, atelier: Atelier, each: Callable[[], bool] = lambda: True, **changes: Any
) -> list[StreamEvent]:
    """The same while time passes, but only when somebody waits for it and ``each`` says so: real sockets are used
    in between.
    """
    running = asyncio.create_task(run(atelier, **changes))
    while not running.done():
        on = each()
        await asyncio.sleep(0)
        await (clock.advance(0.2) if on and clock.sleepers else asyncio.sleep(0))
    return await running


def of(events: list[StreamEvent], kind: ChunkType) -> list[dict[str, Any]]:
    return [event.data for event in events if event.chunk_type is kind]


def last_message(events: list[StreamEvent]) -> dict[str, Any]:
    return of(events, ChunkType.MESSAGE)[-1]


def talk_of(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Roles and texts of a request, for any kind of server; without a system prompt."""
    said = [
        (each["role"], each.get("content", each.get("parts")))
        for each in body.get("messages") or body.get("contents") or body["input"]
    ]
    texts = [(role, text if isinstance(text, str) else "".join(part["text"] for part in text)) for role, text in said]
    return [("assistant" if role == "model" else role, text) for role, text in texts if role != "system"]


def is_chat(request: Request) -> bool:
    return bool(request.body and {"messages", "contents", "input"} & set(request.json))


async def rows(atelier: Atelier, events: list[StreamEvent]) -> list[Any]:
    return [entry.message for entry in await atelier.workflows.transcript(events[0].workflow_id)]
