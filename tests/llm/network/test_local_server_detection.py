"""Servers on this machine are found and identified; other ports are skipped."""

from __future__ import annotations

import asyncio
from typing import Any

from atelier_desk.llm.network.local_server_detection import detect
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import FakeServer, Request, Response


async def found(*servers: FakeServer, clock: ManualClock) -> list[tuple[str, str]]:
    return [
        (server.software, server.base_url) for server in await detect(clock, ports=[server.port for server in servers])
    ]


async def test_each_kind_is_reported(openai_server: FakeOpenAI, ollama_server: FakeOllama, clock: ManualClock) -> None:
    async with FakeOpenAI() as llama, FakeOpenAI() as lm_studio:
        llama.models = [{"id": "/m.gguf", "owned_by": "llamacpp"}]
        llama.extra["/props"] = {"default_generation_settings": {"n_ctx": 1}, "build_info": "b1"}
        lm_studio.extra["/api/v0/models"] = {"data": [{"id": "qwen", "type": "llm"}]}
        servers = await detect(clock, ports=[ollama_server.port, lm_studio.port, llama.port, openai_server.port])
    assert [(server.kind, server.software, server.version) for server in servers] == [
        ("ollama", "Ollama", "0.12.3"),
        ("openai", "LM Studio", ""),
        ("openai", "llama.cpp", "b1"),
        ("openai", "OpenAI-compatible", ""),
    ]
    assert servers[0].base_url == ollama_server.root
    assert servers[1].base_url.endswith("/v1")
    assert servers[0].models == ("test-model:latest",), "its embedding model cannot answer"
    assert servers[2].models == ("/m.gguf",)


class Chatty(FakeServer):
    """Another program: every page exists and none is that of a model server."""

    async def handle(self, request: Request, out: Response) -> None:
        await out.json({"data": "hello", "models": 3, "version": 1})


class Silent(FakeServer):
    """Accepts connections and never answers."""

    async def handle(self, request: Request, out: Response) -> None:
        await asyncio.Event().wait()


async def test_other_programs_and_closed_ports_are_skipped(clock: ManualClock) -> None:
    async with FakeOpenAI() as gone:
        pass
    async with Chatty() as chatty:
        assert await found(chatty, gone, clock=clock) == []


async def test_a_silent_port_costs_a_second(ollama_server: FakeOllama, clock: ManualClock) -> None:
    async with Silent() as silent:
        task: asyncio.Task[list[Any]] = asyncio.create_task(detect(clock, ports=[silent.port, ollama_server.port]))
        while len(silent.requests) < 5:
            await asyncio.sleep(0)
        await clock.advance(0.9)
        assert not task.done()
        await clock.advance(0.2)
        assert [server.software for server in await task] == ["Ollama"]
