"""Nothing is sent again that may not be sent any more: not by any kind of request, whatever changed while it waited."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import atelier_desk
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.workflow import Dispatch
from atelier_desk.engine import Atelier
from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
from atelier_desk.llm.embedders.remote import RemoteEmbedder
from atelier_desk.llm.network.retry import RetryPolicy
from tests.engine.conftest import Opener, month_cost, send_and_wait
from tests.engine.costs.paid_requests import AGENT, FIRST, PICTURE, START, TOKENS, Paid, Ticking, reply, sampling, title
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Failure, Reply

KEY = "sk-test-12345678"
BUSY = Failure(503, {"error": {"message": "busy"}})


async def description(paid: Paid) -> str:
    describer = ImageDescriber(paid.atelier.providers.provider, paid.atelier.models.info, paid.atelier.clock)
    describer.model = "test/m"
    return await describer.describe(PICTURE, "image/png", "", paid.spending)


async def embedding(paid: Paid) -> str:
    atelier = paid.atelier
    config, meter = await atelier.providers.permitted("test"), atelier.outside_costs.counted
    made = await RemoteEmbedder.open(config, "m", atelier.vault, atelier.clock, dimension=8, meter=meter)
    try:
        await made.embed(["a text"])
    finally:
        await made.aclose()
    return ""


async def trial(paid: Paid) -> str:
    return (await paid.atelier.providers.try_model("test", "m")).text


KINDS = {each.__name__: each for each in (reply, title, sampling, description, embedding, trial)}


async def disable(atelier: Atelier) -> None:
    config = await atelier.providers.get("test")
    await atelier.providers.save(config.model_copy(update={"enabled": False}))


async def remove_the_key(atelier: Atelier) -> None:
    await atelier.providers.clear_key("test")


async def delete(atelier: Atelier) -> None:
    await atelier.providers.delete("test")


async def lower_the_limit(atelier: Atelier) -> None:
    await atelier.settings.update(monthly_cost_limit=FIRST + 0.001)


async def change_nothing(_atelier: Atelier) -> None:
    """The other way round: it is sent again."""


CHANGES = {each.__name__: each for each in (disable, remove_the_key, delete, lower_the_limit, change_nothing)}


@asynccontextmanager
async def opened(open_atelier: Opener) -> AsyncIterator[Paid]:
    opening = open_atelier(model_factory=None, clock=Ticking(START))
    async with FakeOpenAI() as server, opening as atelier:
        server.api_key = KEY
        await atelier.providers.save(ProviderConfig(name="test", kind="openai", base_url=server.url))
        await atelier.providers.set_key("test", KEY)
        info = ModelInfo(provider="test", name="m", price_input=TOKENS, price_output=TOKENS, context_window=32_768)
        await atelier.models.update(info.model_copy(update={"supports_vision": True}))
        await atelier.settings.update(name_by_model=False, memories_at_end="off", monthly_cost_limit=1_000.0)
        server.script(Reply(text="Done.", usage={"prompt_tokens": 100, "completion_tokens": 10}))
        workflow = await atelier.workflows.create("x")
        run_id = await send_and_wait(atelier, workflow.id, "Go", agent=AGENT)
        [handle] = await atelier.runs.team_of(run_id)
        yield Paid(atelier, server, True, run_id=run_id, handle=handle)


def posts(server: FakeOpenAI) -> int:
    """Requests with the key."""
    return sum(each.method == "POST" and KEY in each.headers.get("authorization", "") for each in server.requests)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_request_is_not_sent_again_after(
    open_atelier: Opener, kind: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, delay = asyncio.Event(), RetryPolicy.delay

    def noting(*args: Any) -> float | None:
        refused.set()
        return delay(*args)

    monkeypatch.setattr(RetryPolicy, "delay", noting)
    async with opened(open_atelier) as paid:
        before = posts(paid.server)
        spent = await month_cost(paid.atelier)
        paid.server.script(BUSY, Reply(text="Hi.", usage={"prompt_tokens": 100, "completion_tokens": 10}))
        async with asyncio.timeout(30):
            asking = asyncio.create_task(_ended(KINDS[kind], paid))
            await refused.wait()
            await CHANGES[change](paid.atelier)
            while not asking.done():
                # In small steps: otherwise a busy machine's answer takes longer than the limit for a silent server.
                await paid.atelier.clock.advance(0.1)  # type: ignore[attr-defined]
        assert posts(paid.server) - before == (2 if change == "change_nothing" else 1)
        after = await month_cost(paid.atelier)
        assert (after > spent) == (change == "change_nothing"), "a refused request costs nothing"
        assert not paid.atelier.month_budget.in_flight
        assert not paid.atelier.month_budget._held


async def _ended(ask: Callable[[Paid], Awaitable[str]], paid: Paid) -> None:
    with suppress(AtelierError):
        await ask(paid)


ASKING = {
    "engine/attachments/image_descriptions.py": "stream",  # description
    "engine/run/mcp_server_requests.py": "stream",  # sampling
    "engine/run/request/model_call.py": "stream stream",  # reply, and its summary
    "engine/runs/side_requests.py": "stream",  # titles, memory extraction
    "engine/services/model_connection_test.py": "stream",  # trial
    "knowledge/embedder_factory.py": "RemoteEmbedder.open",  # embedding
    "web/media_generation.py": "HttpClient",  # test_paid_requests: image, model_3d
    "web/search.py": "HttpClient",  # test_paid_requests: search
    # Free of charge: lists of models and their properties
    "engine/maintenance/doctor.py": "test",
    "engine/services/models.py": "model_info",
    "engine/services/providers.py": "create list_models list_models test test",
}
"""What asks a provider, outside ``llm``: each is in the tables above or named here."""
CALLS = frozenset({"create_http_provider", "embeddings", "HttpClient", "list_models", "model_info"})


def _asks(node: ast.Call) -> str:
    """The name of a call that asks a provider; empty for others."""
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    owner = ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""
    if name == "stream":
        return name if [ast.unparse(each) for each in node.args] in (["request"], ["asked"]) else ""
    if name == "test":
        return name if node.keywords or owner == "server" else ""
    if name == "create":
        return name if owner.startswith("provider_type(") else ""
    if name == "open":
        return "RemoteEmbedder.open" if owner == "RemoteEmbedder" else ""
    return name if name in CALLS else ""


def test_every_place_that_asks_a_provider_is_listed() -> None:
    root, found = Path(atelier_desk.__file__).parent, {}
    for file in sorted(root.rglob("*.py")):
        where = file.relative_to(root).as_posix()
        if where.startswith(("llm/", "desktop/", "cli/")):
            continue
        calls = [_asks(node) for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Call)]
        if names := " ".join(sorted(filter(None, calls))):
            found[where] = names
    assert found == ASKING


@pytest.mark.parametrize("how", ["stop", "pause", "redirect"])
async def test_a_run_stopped_while_it_waits_to_ask_again_paid_nothing_for_the_refusal(
    open_atelier: Opener, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, delay = asyncio.Event(), RetryPolicy.delay

    def noting(*args: Any) -> float | None:
        refused.set()
        return delay(*args)

    async with opened(open_atelier) as paid, asyncio.timeout(30):
        atelier = paid.atelier
        spent = await month_cost(atelier)
        monkeypatch.setattr(RetryPolicy, "delay", noting)
        paid.server.script(BUSY, Reply(text="Hi.", usage={"prompt_tokens": 100, "completion_tokens": 10}))
        workflow = await atelier.workflows.create("y")
        run_id = await atelier.runs.send(workflow.id, "Go", agent=AGENT)
        await refused.wait()
        while not atelier.clock.sleepers:  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        if how == "stop":
            await atelier.runs.cancel(run_id)
        elif how == "pause":
            await atelier.runs.steering.pause(run_id)
        else:
            await atelier.runs.steering.message(run_id, "Rather this", Dispatch.REDIRECT)
        waiting = asyncio.create_task(atelier.runs.wait(run_id))
        while not waiting.done():
            await atelier.clock.advance(5.0)  # type: ignore[attr-defined]
        replies = 0 if how == "stop" else 1
        assert await month_cost(atelier) == pytest.approx(spent + replies * 110 * TOKENS / 1e6)
        assert not atelier.month_budget.in_flight
