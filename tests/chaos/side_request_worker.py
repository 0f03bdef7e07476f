"""The process that is killed while it makes one paid request beside a run's replies, and says what the month is.

    python -m tests.chaos.side_request_worker DATA_DIR EFFECTS_FILE [KIND MOMENT]

The services are at the address in ``ATELIER_PAID``. ``sends`` says that the model got a request. Moments: ``sending``
never answers, ``settling`` kills before the usage is committed, ``settled`` after.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, ReplyDone, Usage
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderDraft
from atelier_desk.domain.question import SampledText, Sampling
from atelier_desk.domain.settings import WebSettings
from atelier_desk.engine import Atelier
from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.engine.run.mcp_server_requests import sample
from atelier_desk.engine.run.paid_call_limits import CallSpending
from atelier_desk.llm.embedders.remote import RemoteEmbedder
from atelier_desk.llm.secrets import KeyVault
from tests.chaos.paid_service_worker import LIMIT, PRICE, TOKENS
from tests.helpers.sample_images import png

AGENT = AgentConfig(name="Worker", provider="test", model="m", tools=(), max_tokens=1_000)
WINDOW = 4_000
WORDS = "word after word " * 500


class Model:
    """Answers each request with 100 and 10 tokens; once ``hangs``, it says so and never answers."""

    hangs = False

    async def stream(self, request: ChatRequest) -> Any:
        if self.hangs:
            os.write(1, b"sends\n")
            await asyncio.Event().wait()
        yield ReplyDone(reply=ChatReply(content="Done.", usage=Usage(tokens_input=100, tokens_output=10)))


@dataclass
class Worker:
    atelier: Atelier
    model: Model
    info: ModelInfo
    workflow_id: str
    place: str

    async def handle(self) -> Any:
        row = await self.atelier.repos.workflows.get(self.workflow_id)
        return (await self.atelier.runs.live.load(row.head_run_id or "")).handle

    async def title(self) -> None:
        await self.atelier.runs.titles.suggest(self.workflow_id)

    async def memory_extraction(self) -> None:
        await self.atelier.runs.remembering.ask(self.workflow_id)

    async def sampling(self) -> None:
        asked = Sampling(messages=(SampledText(role="user", text="x"),), max_tokens=200)
        await sample(self.atelier.environment, await self.handle(), "call", "server", asked)

    async def image_description(self) -> None:
        async def server(_name: str) -> Any:
            return self.model

        async def facts(_name: str, _model: str) -> ModelInfo:
            return self.info

        describer = ImageDescriber(server, facts, self.atelier.clock)
        describer.model = "test/m"
        spending = CallSpending(self.atelier.environment, await self.handle(), "call")
        await describer.describe(png(), "image/png", "", spending)

    async def summary(self) -> None:
        """The turn does not fit beside the one before, which is summed up first."""
        run_id = await self.atelier.runs.send(self.workflow_id, WORDS, agent=AGENT)
        await self.atelier.runs.wait(run_id)

    async def embedding(self) -> None:
        config = await self.atelier.providers.get("Server")
        meter = self.atelier.outside_costs.counted
        made = await RemoteEmbedder.open(
            config, "vectors", self.atelier.vault, self.atelier.clock, dimension=2, meter=meter
        )
        await made.embed(["a text of some words"])

    async def search(self) -> None:
        await self.atelier.web.search("bees")

    async def connection_test(self) -> None:
        async def assumed(_config: ProviderConfig, _model: str) -> ModelInfo:
            return self.info

        models: Any = self.atelier.models
        models.assumed = assumed
        draft = ProviderConfig(name="Server", kind="openai", base_url=f"{self.place}/v1")
        await self.atelier.providers.try_draft(ProviderDraft(draft), "m")


KINDS: dict[str, tuple[Callable[[Worker], Awaitable[None]], str]] = {
    "title": (Worker.title, "title_written"),
    "memory extraction": (Worker.memory_extraction, "memories_sought"),
    "sampling": (Worker.sampling, "sampled_for_server"),
    "image description": (Worker.image_description, "picture_described"),
    "summary": (Worker.summary, "context_compacted"),
    "embedding": (Worker.embedding, ""),
    "search": (Worker.search, ""),
    "connection test": (Worker.connection_test, ""),
}
"""How each is made, and the event that settles it; none outside runs."""


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(data: Path, kind: str, moment: str) -> None:
    info = ModelInfo(provider="test", name="m", context_window=WINDOW, price_input=TOKENS, price_output=TOKENS)
    model: Any = Model()
    make, event = KINDS.get(kind, (None, ""))
    point = {"settling": "before_commit", "settled": "after_commit"}.get(moment, "")

    def fault(reached: str) -> None:
        if event and reached == f"{point}:{event}":
            kill()

    async def opened(agent: AgentConfig, language: str) -> OpenModel:
        return OpenModel(model, model, info, ToolDialect.NATIVE)

    vault = KeyVault(environ={"K": "sesame-123"})
    async with Atelier.open(data, model_factory=lambda _: model, vault=vault, fault=fault) as atelier:
        atelier.environment.gateway.open = opened  # type: ignore[method-assign]
        place = os.environ["ATELIER_PAID"]
        found = await atelier.workflows.list()
        if not found:
            web = WebSettings(search="brave", address=place, key_env="K", price=PRICE)
            await atelier.settings.update(name_by_model=False, memories_at_end="off", monthly_cost_limit=LIMIT, web=web)
            await atelier.providers.save(ProviderConfig(name="Server", kind="openai", base_url=f"{place}/v1"))
            await atelier.models.update(
                ModelInfo(provider="Server", name="vectors", price_input=TOKENS, price_output=0.0)
            )
            workflow = await atelier.workflows.create("chaos")
            await atelier.runs.wait(await atelier.runs.send(workflow.id, WORDS, agent=AGENT))
        else:
            workflow = found[0]
        if make is not None:
            model.hangs = moment == "sending" and bool(event)
            used: Any = atelier.repos.used
            count = used.count

            async def counted(*row: Any) -> None:
                if moment == "settling":
                    kill()
                await count(*row)
                kill()

            used.count = counted
            await make(Worker(atelier, model, info, workflow.id, place))
        month = await atelier.usage.month()
        await atelier.month_budget.prepare()
        counts = f"{month.spent:.6f} {LIMIT - atelier.month_budget._left():.6f} {month.estimated:.6f}"
        of_runs = sum(run.usage.cost for run in await atelier.repos.runs.list(workflow.id))
        os.write(1, f"month {counts} {of_runs:.6f}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *(sys.argv[3:] or ("", ""))))
