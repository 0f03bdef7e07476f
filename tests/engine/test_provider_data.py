"""Data that a model server needs back, through everything that can happen to a conversation: its server refuses it
changed or missing.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ApprovalMode, ToolDialect
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.events.run import ModelReplied
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.services.common.import_conflict_choice import OnConflict
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import send_and_wait, stored_status
from tests.helpers.servers.anthropic import FakeAnthropic
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.mistral import FakeMistral
from tests.helpers.servers.ollama import FakeOllama
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Call, Failure, Reply
from tests.helpers.servers.signature_checking_servers import SIGNING, SigningServer

TOOLS = ("CalculatorTool", "SpawnAgentTool", "TodoTool")


def agent(**changes: Any) -> AgentConfig:
    base = {
        "name": "A",
        "provider": "server",
        "model": "test-model",
        "tools": TOOLS,
        "tool_dialect": ToolDialect.NATIVE,
    }
    return AgentConfig(**{**base, **changes})


def calculate(number: int, **arguments: Any) -> Call:
    return Call("CalculatorTool", {"operation": "eval", "expression": f"{number}*7", **arguments}, id=f"call_{number}")


def turn(number: int, text: str = "") -> list[Reply]:
    """A reply with calls, and one that answers."""
    return [
        Reply(reasoning=f"I multiply {number}.", calls=[calculate(number)]),
        Reply(reasoning=f"Done {number}.", text=text or f"{number * 7} it is"),
    ]


@asynccontextmanager
async def world(server: SigningServer, folder: Path) -> AsyncIterator[Atelier]:
    async with Atelier.open(folder, fsync=False, vault=KeyVault(environ={})) as atelier:
        if not any(config.name == "server" for config in await atelier.providers.list()):
            await atelier.providers.save(ProviderConfig(name="server", kind="openai", base_url=server.url))
        yield atelier


async def say(atelier: Atelier, workflow_id: str, text: str, **changes: Any) -> str:
    run_id = await send_and_wait(atelier, workflow_id, text, agent=agent(**changes))
    return run_id


@pytest.fixture(params=sorted(SIGNING))
async def server(request: pytest.FixtureRequest) -> AsyncIterator[SigningServer]:
    async with SIGNING[request.param]() as made:
        yield made


def sent(server: FakeOpenAI) -> list[dict[str, Any]]:
    """The messages of the newest request."""
    found: list[dict[str, Any]] = server.of(f"{server.prefix}/chat/completions")[-1].json["messages"]
    return found


def returned(messages: list[dict[str, Any]]) -> list[Any]:
    """Everything in a request that its server once sent."""
    found = []
    for message in messages:
        found += [message[field] for field in ("reasoning_details", "reasoning_content") if field in message]
        found += [
            call["extra_content"]["google"]["thought_signature"]
            for call in message.get("tool_calls", ())
            if "extra_content" in call
        ]
    return found


async def test_it_survives_restarts_copies_forks_and_files(server: SigningServer, tmp_path: Path) -> None:
    server.script(*turn(2), *turn(3))
    async with world(server, tmp_path / "one") as atelier:
        workflow = await atelier.workflows.create("W")
        await say(atelier, workflow.id, "two")
    async with world(server, tmp_path / "one") as atelier:
        await say(atelier, workflow.id, "three")
        before = returned(sent(server))
        assert len(before) >= 2, "after a restart, in the next run, all of it"
        stream_seq = (await atelier.workflows.get(workflow.id)).stream_seq
        copies = [
            (await atelier.workflows.duplicate(workflow.id)).id,
            (await atelier.runs.fork(workflow.id, at=stream_seq)).id,
        ]
        for copy in copies:
            server.script(*turn(4))
            await say(atelier, copy, "four")
            assert returned(sent(server))[: len(before)] == before
        exported = await atelier.workflows.export(workflow.id)
        assert json.loads(exported)["format"] == "atelier-workflow"
    async with world(server, tmp_path / "other") as elsewhere:
        imported = (await elsewhere.workflows.import_(exported, OnConflict.RENAME)).workflow
        server.script(*turn(5))
        await say(elsewhere, imported.id, "five")
        assert returned(sent(server))[: len(before)] == before
    assert server.refusals == []


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("mistral", "magistral-small"),
        ("ollama", "qwen3"),
        ("anthropic", "claude-sonnet-5"),
        ("google", "gemini-3.5-flash"),
        ("responses", "gpt-5.5"),
    ],
)
async def test_thinking_is_sent_back_to_kinds_with_their_own_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, model: str, kept: bool
) -> None:
    """In the next run, too; without it they refuse the request, so a conversation that lost it cannot pass here."""
    servers: dict[str, Any] = {
        "mistral": FakeMistral,
        "ollama": FakeOllama,
        "anthropic": FakeAnthropic,
        "google": FakeGoogle,
        "responses": FakeResponses,
    }
    async with servers[kind]() as server:
        if isinstance(server, FakeMistral):
            server.listed_content = True
        elif isinstance(server, FakeOllama):
            server.installed["qwen3:latest"] = ["completion", "tools", "thinking"]
        elif isinstance(server, FakeGoogle):
            server.skips = frozenset()
        if not kept:
            module = {
                "anthropic": "anthropic.message_conversion",
                "google": "google.message_conversion",
                "responses": "openai_responses.message_conversion",
            }.get(kind, kind)
            monkeypatch.setattr(f"atelier_desk.llm.{module}.returned", lambda data: {})
        server.script(*turn(2), *turn(3))
        async with Atelier.open(
            tmp_path / "data", fsync=False, vault=KeyVault(environ={"MISTRAL_API_KEY": "k"})
        ) as atelier:
            await atelier.providers.save(ProviderConfig(name="server", kind=kind, base_url=server.url))
            workflow = await atelier.workflows.create("W")
            for text in ("two", "three"):
                run_id = await say(atelier, workflow.id, text, model=model)
            assert not kept or await stored_status(atelier, run_id) is RunStatus.COMPLETED
        assert bool(server.refusals if hasattr(server, "refusals") else server.thoughts.refused) is not kept


@pytest.mark.parametrize("server", ["gemini"], indirect=True)
async def test_it_survives_a_kill_between_the_call_and_the_next_request(server: SigningServer, tmp_path: Path) -> None:
    """A real ``kill -9`` while the second request is in flight; the next process resumes the run. One kind stands
    for all.
    """
    first, second = turn(2)
    second.hold_after, second.gate = 1, asyncio.Event()
    async with world(server, tmp_path / "data"):
        pass
    server.script(first, second)
    command = [
        sys.executable,
        "-m",
        "atelier_desk",
        "run",
        "--data-dir",
        str(tmp_path / "data"),
        "--provider",
        "server",
    ]
    worker = await asyncio.create_subprocess_exec(
        *command,
        "--model",
        "test-model",
        "--tools",
        "CalculatorTool",
        "--tool-dialect",
        "native",
        "two",
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60):
            while len(server.of("/v1/chat/completions")) < 2 or not server.streaming.is_set():
                await asyncio.sleep(0.02)
    finally:
        worker.kill()
        await worker.wait()
    del server.issued[1:]  # that reply never arrived
    server.script(Reply(text="14", reasoning="again"))
    async with world(server, tmp_path / "data") as atelier:
        workflow = (await atelier.workflows.list())[0]
        assert workflow.head_run_id is not None
        run = await atelier.repos.runs.get(workflow.head_run_id)
        if not run.status.final:
            with suppress(ConflictError):  # the start itself may have resumed it
                await atelier.runs.steering.resume(run.id)
        await atelier.runs.wait(run.id)
        assert await stored_status(atelier, run.id) is RunStatus.COMPLETED
    assert server.issued[0] in returned(sent(server))
    assert server.refusals == []


async def test_it_survives_a_dropped_connection_and_a_failure(server: SigningServer, tmp_path: Path) -> None:
    first, second = turn(2)
    server.script(first, Reply(text="14 it is", reasoning="r", cut_after=3), Failure(401, {"error": "no"}), second)
    async with world(server, tmp_path / "data") as atelier:
        workflow = await atelier.workflows.create("W")
        run_id = await say(atelier, workflow.id, "two")
        assert await stored_status(atelier, run_id) is RunStatus.ERROR, "tried again after the drop, and refused"
        await atelier.runs.steering.resume(run_id)
        await atelier.runs.wait(run_id)
        assert await stored_status(atelier, run_id) is RunStatus.COMPLETED
    assert server.issued[0] in returned(sent(server))
    assert server.refusals == []


async def test_it_survives_another_model_in_the_middle(server: SigningServer, tmp_path: Path) -> None:
    server.script(*turn(2))
    async with world(server, tmp_path / "data") as atelier, FakeOpenAI() as plain:
        await atelier.providers.save(ProviderConfig(name="plain", kind="openai", base_url=plain.url))
        workflow = await atelier.workflows.create("W")
        await say(atelier, workflow.id, "two")
        plain.script(Reply(calls=[calculate(8)]), Reply(text="56"))
        await say(atelier, workflow.id, "eight", provider="plain")
        server.script(Reply(text="done", reasoning="other model"))
        other = await say(atelier, workflow.id, "other", model="other-model")
        assert returned(sent(plain)) == [], "another provider gets nothing"
        assert [each for each in returned(sent(server)) if each] == [], "and so does another model"
        assert await stored_status(atelier, other) is RunStatus.COMPLETED
        server.script(*turn(3))
        again = await say(atelier, workflow.id, "three")
        assert await stored_status(atelier, again) is RunStatus.COMPLETED
        assert server.issued[0] in returned(sent(server)), "its own comes back"
        assert "8*7" in json.dumps(sent(server)), "the other model's call is still known"


async def test_sub_agents_have_their_own(server: SigningServer, tmp_path: Path) -> None:
    spawn = Call("DelegateTaskTool", {"operation": "delegate", "agent_id": "", "prompt": "three"}, id="call_spawn")
    server.script(Reply(reasoning="split", calls=[spawn]))
    async with world(server, tmp_path / "data") as atelier:
        made = await atelier.agents.save(agent(name="Child", tools=("CalculatorTool",)))
        spawn.arguments["agent_id"] = made.id  # type: ignore[index]
        server.script(*turn(3, "child says 21"), Reply(text="21", reasoning="told"))
        workflow = await atelier.workflows.create("W")
        run_id = await say(
            atelier, workflow.id, "ask the child", tools=("DelegateTaskTool",), approval=ApprovalMode.AUTO
        )
        assert await stored_status(atelier, run_id) is RunStatus.COMPLETED
    bodies = [request.json["messages"] for request in server.of("/v1/chat/completions")]
    assert len(bodies) == 4
    assert server.issued[1] in returned(bodies[2]), "the child's own"
    assert server.issued[0] not in returned(bodies[2])
    assert server.issued[0] in returned(bodies[3]), "the parent's own"
    assert server.issued[1] not in returned(bodies[3])
    assert server.refusals == []


async def test_the_inspector_shows_its_presence_and_size(tmp_path: Path) -> None:
    async with SIGNING["gemini"]() as server, world(server, tmp_path / "data") as atelier:
        server.script(*turn(2))
        workflow = await atelier.workflows.create("W")
        run_id = await say(atelier, workflow.id, "two")
        replied = [event for event in await run_events(atelier.repos, run_id) if isinstance(event.body, ModelReplied)]
        shown = await atelier.inspector.request(run_id, replied[-1].seq)
        item = next(item for item in shown.items if item.kind == "reply")
        signature = {"extra_content": {"google": {"thought_signature": server.issued[0]}}}
        reasoning = {"reasoning_content": "I multiply 2."}
        size = sum(len(json.dumps(value, separators=(",", ":"))) for value in (signature, reasoning))
        assert (item.returned_bytes, item.withheld_bytes) == (size, 0)
        exported = await atelier.workflows.export(workflow.id, "md")
        assert server.issued[0] not in exported


async def test_too_much_of_it_is_reported_and_the_run_continues(
    server: SigningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PROVIDER_DATA", 10)
    server.script(*turn(2))
    async with world(server, tmp_path / "data") as atelier:
        workflow = await atelier.workflows.create("W")
        run_id = await say(atelier, workflow.id, "two")
        assert await stored_status(atelier, run_id) is RunStatus.COMPLETED
        replied = [event for event in await run_events(atelier.repos, run_id) if isinstance(event.body, ModelReplied)]
        shown = await atelier.inspector.request(run_id, replied[-1].seq)
        item = next(item for item in shown.items if item.kind == "reply")
        assert item.returned_bytes == 0
        assert item.withheld_bytes > 10
        assert "2*7" in json.dumps(sent(server)), "the call was told as text"


async def test_a_key_in_it_reaches_no_file(tmp_path: Path) -> None:
    vault = KeyVault(environ={"THE_KEY": "sk-secret-and-long"})
    async with SIGNING["deepseek"]() as server, Atelier.open(tmp_path / "data", fsync=False, vault=vault) as atelier:
        await atelier.providers.save(
            ProviderConfig(name="server", kind="openai", base_url=server.url, api_key_env="THE_KEY")
        )
        server.script(Reply(text="ok", reasoning="my key is sk-secret-and-long"))
        workflow = await atelier.workflows.create("W")
        run_id = await say(atelier, workflow.id, "go")
        reply = next(
            event.body.reply
            for event in await run_events(atelier.repos, run_id)
            if isinstance(event.body, ModelReplied)
        )
        assert reply.provider_data is not None
        assert reply.provider_data.data == ""
