"""What is sent to a model server, and what limits hold whatever servers report."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.model_messages import ChatDelta, ChatRequest, TextDelta, ToolCallDelta
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.request import model_call
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import remember
from tests.engine.conftest import Opener, Recorder, month_cost, stored_status
from tests.engine.runs.runs_on_fake_servers import is_chat
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Reply

MODEL = "test-model"
PRICE = 1_000.0
"""US dollars for a million tokens of a prompt."""


async def provider(atelier: Atelier, name: str, server: FakeOpenAI, price: float) -> None:
    await atelier.providers.save(ProviderConfig(name=name, kind="openai", base_url=server.url))
    await atelier.models.edit(name, MODEL, price_input=price, price_output=0.0)
    await atelier.settings.update(name_by_model=False, memories_at_end="off")


async def send(atelier: Atelier, provider: str, text: str) -> str:
    workflow = await atelier.workflows.create("x")
    agent = AgentConfig(name="A", provider=provider, model=MODEL, tools=(), max_tokens=256)
    return await atelier.runs.send(workflow.id, text, agent=agent)


async def statuses(atelier: Atelier, runs: list[str]) -> list[RunStatus]:
    return [await stored_status(atelier, run) for run in runs]


@pytest.mark.parametrize("first", ["free", "paid"])
async def test_low_counts_of_a_server_make_no_room_beyond_the_limit(open_atelier: Opener, first: str) -> None:
    """Not those of another provider's model of the same name, nor those of the model itself."""
    low, gate = Reply(text="Hi.", usage={"prompt_tokens": 1, "completion_tokens": 1}), asyncio.Event()
    async with FakeOpenAI() as free, FakeOpenAI() as paid, open_atelier(model_factory=None) as atelier:
        await provider(atelier, "free", free, 0.0)
        await provider(atelier, "paid", paid, PRICE)
        {"free": free, "paid": paid}[first].script(low)
        await atelier.runs.wait(await send(atelier, first, "word " * 2_000))
        before = len([each for each in paid.requests if is_chat(each)])
        # Each request has at least 3 000 tokens: there is room for one.
        await atelier.settings.update(monthly_cost_limit=5_000 * PRICE / 1e6)
        paid.script(Reply(text="One.", gate=gate), Reply(text="Two.", gate=gate))
        runs = [await send(atelier, "paid", "word " * 2_000) for _ in range(2)]
        async with asyncio.timeout(20):
            sent = 0
            while sent + (await statuses(atelier, runs)).count(RunStatus.PAUSED) < 2:
                sent = len([each for each in paid.requests if is_chat(each)]) - before
                await asyncio.sleep(0)
        gate.set()
        for run in runs:
            await atelier.runs.wait(run)
        assert sorted(await statuses(atelier, runs)) == sorted([RunStatus.COMPLETED, RunStatus.PAUSED])


@pytest.mark.parametrize("moment", ["the limit is read", "the request is noted"])
async def test_nothing_is_sent_to_a_provider_disabled_while_the_request_is_prepared(
    open_atelier: Opener, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeOpenAI() as server, open_atelier(model_factory=None) as atelier:
        await provider(atelier, "paid", server, PRICE)
        month, journal = atelier.month_budget, atelier.repos.journal
        owner, name = (month, "prepare") if moment == "the limit is read" else (journal, "save_partial")
        before = getattr(owner, name)

        async def disabling(*args: Any, **options: Any) -> None:
            await before(*args, **options)
            config = await atelier.providers.get("paid")
            await atelier.providers.save(config.model_copy(update={"enabled": False}))

        monkeypatch.setattr(owner, name, disabling)
        run = await send(atelier, "paid", "Go")
        await atelier.runs.wait(run)
        assert await statuses(atelier, [run]) == [RunStatus.ERROR]
        assert not [each for each in server.requests if is_chat(each)]
        assert await month_cost(atelier) == 0.0
        assert not month.in_flight, "what was set aside is free again"


async def test_an_encoded_key_in_pieces_is_not_stored_with_a_reply_that_is_closed_here(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No single piece contains enough of it to be hidden while it streams."""
    key = "zq-Stored-9f8e7d6c5b4a39281706"
    remember(key)
    encoded = base64.b64encode(key.encode()).decode()
    saved: list[str] = []
    monkeypatch.setattr(model_call, "SAVE_EVERY_S", 0.0)
    async with FakeOpenAI() as server, open_atelier(model_factory=None) as atelier:
        await provider(atelier, "paid", server, PRICE)
        save = atelier.repos.journal.save_partial

        async def saving(*args: Any, **options: Any) -> None:
            saved.append(options["content"] + options["reasoning"])
            await save(*args, **options)

        monkeypatch.setattr(atelier.repos.journal, "save_partial", saving)
        endless = " ".join(map(str, range(5_000)))
        server.script(Reply(text=f"It is {encoded}. {endless}", reasoning=f"Think {encoded}.", pieces=9))
        run_id = await send(atelier, "paid", "Which key?")
        await atelier.runs.wait(run_id)
        stored = str([event.body for event in await run_events(atelier.repos, run_id)])
    assert "It is [redacted]. 0 1 2" in stored
    assert encoded not in stored
    assert any("It is [redacted]. 0 1 2" in each for each in saved)
    assert not any(encoded in each for each in saved)


async def test_a_call_that_is_being_written_says_each_second_that_the_reply_has_not_stalled(
    open_atelier: Opener,
) -> None:
    clock = ManualClock()

    class Writing(ScriptedModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            async for delta in super().stream(request):
                yield delta
                if isinstance(delta, TextDelta):
                    for _ in range(10):
                        await clock.advance(0.4)
                        yield ToolCallDelta(index=0, name="write_file", arguments="word ")

    async with open_atelier(Writing(["Look:"]), clock=clock) as atelier:
        seen = Recorder(atelier)
        workflow = await atelier.workflows.create("x")
        await atelier.runs.send(workflow.id, "write", agent=AgentConfig(name="A", provider="local", model="scripted"))
        await seen.until(ChunkType.WORKFLOW_COMPLETE)
        tokens = [each.data["content"] for each in seen.events if each.chunk_type is ChunkType.TOKEN]
        assert tokens == ["Look:", "", "", ""], "and nothing that would be shown"
