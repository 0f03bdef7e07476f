"""Requests that cost, with known and unknown prices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.events.run import TitleGenerated
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, ReplyDone, TextDelta, Usage
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.question import SampledText, Sampling
from atelier_desk.domain.usage import Paying
from atelier_desk.engine import Atelier
from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.engine.run.mcp_server_requests import sample
from atelier_desk.engine.run.paid_call_limits import CallSpending
from atelier_desk.engine.runs.side_requests import SideRequests, SkipReason
from atelier_desk.llm.embedders.remote import RemoteEmbedder
from atelier_desk.policy.budget import ReachedLimit
from atelier_desk.tools.calls.context import ToolContext
from tests.engine.conftest import Opener
from tests.helpers.manual_clock import ManualClock
from tests.helpers.sample_images import png
from tests.helpers.servers.openai import FakeOpenAI

START = datetime(2026, 3, 10, 12, tzinfo=UTC)

AGENT = AgentConfig(name="Tester", provider="test", model="m", tools=(), max_tokens=1_000)

PICTURE = png()

TOKENS = 1_000.0
"""US dollars for a million tokens."""

FIXED = 0.25
"""US dollars for an image and a 3D model."""


class Ticking(ManualClock):
    """No two events have the same time, because those would be taken for copies."""

    def now(self) -> datetime:
        self._elapsed += 0.001
        return super().now()


@dataclass
class Paid:
    """The setting of a test: ``price`` in dollars, None when unknown; ``sent`` counts the requests."""

    atelier: Atelier
    server: FakeOpenAI
    known: bool
    sent: list[str] = field(default_factory=list)
    run_id: str = ""
    handle: Any = None
    window: int = 32_768
    price: float = TOKENS

    @property
    def info(self) -> ModelInfo:
        price = self.price if self.known else None
        return ModelInfo(
            provider="test",
            name="m",
            context_window=self.window,
            price_input=price,
            price_output=price,
            supports_vision=True,
        )

    async def stream(self, request: ChatRequest) -> Any:
        self.sent.append("chat")
        yield TextDelta(content="Done.")
        yield ReplyDone(reply=ChatReply(content="Done.", usage=Usage(tokens_input=100, tokens_output=10)))

    @property
    def spending(self) -> CallSpending:
        return CallSpending(self.atelier.environment, self.handle, "call")

    def context(self) -> ToolContext:
        return ToolContext(workflow_id="w", run_id=self.run_id, call_id="call", spending=self.spending)

    def paying(self) -> Paying:
        return partial(self.spending.paying, where="Settings")


async def begin(paid: Paid) -> str:
    """A run of a new workflow."""
    workflow = await paid.atelier.workflows.create("x")
    return await paid.atelier.runs.send(workflow.id, "Go", agent=AGENT)


async def reply(paid: Paid) -> str:
    run_id = await begin(paid)
    await paid.atelier.runs.wait(run_id)
    [handle] = await paid.atelier.runs.team_of(run_id)
    return handle.current.limit.limit if handle.current.limit is not None else ""


async def title(paid: Paid) -> str:
    asked = await SideRequests(paid.atelier.environment, paid.atelier.runs.live).ask(
        paid.handle.current, "Name it.", "x", 20
    )
    if asked is SkipReason.ROOM:
        return "limit"
    assert not isinstance(asked, SkipReason)
    settled = TitleGenerated(title="x", usage=asked.usage)
    await paid.atelier.environment.sent.settle(paid.atelier.journal, paid.handle, asked.hold, settled)
    return ""


async def sampling(paid: Paid) -> str:
    asked = Sampling(messages=(SampledText(role="user", text="x"),), max_tokens=20)
    found = await sample(paid.atelier.environment, paid.handle, "call", "server", asked)
    if isinstance(found, ReachedLimit):
        return found.limit
    return ""


async def description(paid: Paid) -> str:
    async def server(_name: str) -> Any:
        return paid

    async def facts(_name: str, _model: str) -> ModelInfo:
        return paid.info

    describer = ImageDescriber(server, facts, paid.atelier.clock)
    describer.model = "test/m"
    await describer.describe(PICTURE, "image/png", "", paid.spending)
    return ""


async def embedder(paid: Paid) -> RemoteEmbedder:
    config = ProviderConfig(name="Server", kind="openai", base_url=paid.server.url)
    if not await paid.atelier.repos.providers.list():
        await paid.atelier.providers.save(config)
        if paid.known:
            await paid.atelier.models.update(
                ModelInfo(provider="Server", name="vectors", price_input=TOKENS, price_output=0)
            )
    meter = paid.atelier.outside_costs.counted
    return await RemoteEmbedder.open(
        config, "vectors", paid.atelier.vault, paid.atelier.clock, dimension=8, meter=meter
    )


@pytest.fixture
def opened(open_atelier: Opener) -> Callable[..., Any]:
    @asynccontextmanager
    async def opener(known: bool = True, clock: ManualClock | None = None, **settings: Any) -> Any:
        opening = open_atelier(clock=clock or Ticking(START), model_factory=lambda _agent: None)
        async with FakeOpenAI() as server, opening as atelier:
            paid = Paid(atelier, server, True)

            async def open_(agent: AgentConfig, language: str) -> OpenModel:
                return OpenModel(paid, paid, paid.info, ToolDialect.NATIVE)

            atelier.environment.gateway.open = open_  # type: ignore[method-assign]
            await atelier.settings.update(name_by_model=False, memories_at_end="off")
            paid.run_id = await begin(paid)
            await atelier.runs.wait(paid.run_id)
            [paid.handle] = await atelier.runs.team_of(paid.run_id)
            paid.known = known
            paid.sent.clear()
            await atelier.settings.update(**settings)
            yield paid

    return opener


FIRST = 0.11
"""US dollars that the first run of each test cost: 110 tokens."""
