"""The process that is killed while it uses paid services: one run that searches, orders an image and answers,
resumed until it has ended.

    python -m tests.chaos.paid_service_worker DATA_DIR EFFECTS_FILE [FAULT_POINT COUNT]

``ATELIER_PAID`` has the address of the services. It prints ``sends`` when the model gets a request.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ApprovalMode, ToolDialect
from atelier_desk.domain.model_messages import ChatReply, ChatRequest, ReplyDone, Role, ToolCall, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.settings import MediaSettings, WebSettings
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.llm.secrets import KeyVault
from tests.chaos.run_worker import acknowledge, fault_at

PRICE = 0.25
"""US dollars for a search and for an image."""
TOKENS = 1_000.0
"""US dollars for a million tokens of the model."""
LIMIT = 100.0
MOST_TOKENS = 1_000
AGENT = AgentConfig(
    name="Worker",
    provider="test",
    model="m",
    tools=("search_web", "generate_image"),
    approval=ApprovalMode.AUTO,
    max_tokens=MOST_TOKENS,
)
CALLS = (
    ToolCall(id="search", name="search_web", arguments={"query": "bees"}),
    ToolCall(id="image", name="generate_image", arguments={"prompt": "a bee", "output_path": "bee.png"}),
)


class Model:
    """Calls the tools one by one, depending on the results so far, and answers; each reply uses 100 and 10 tokens."""

    async def stream(self, request: ChatRequest) -> Any:
        os.write(1, b"sends\n")
        await asyncio.sleep(0)
        done = sum(message.role is Role.TOOL for message in request.messages)
        used = Usage(tokens_input=100, tokens_output=10)
        yield ReplyDone(
            reply=ChatReply(content="" if CALLS[done:] else "Done.", tool_calls=CALLS[done : done + 1], usage=used)
        )


async def main(data: Path, effects: Path, fault: Any) -> None:
    place = os.environ["ATELIER_PAID"]
    info = ModelInfo(provider="test", name="m", context_window=32_768, price_input=TOKENS, price_output=TOKENS)
    model: Any = Model()

    async def opened(agent: AgentConfig, language: str) -> OpenModel:
        return OpenModel(model, model, info, ToolDialect.NATIVE)

    vault = KeyVault(environ={"K": "sesame-123"})
    async with Atelier.open(data, model_factory=lambda _: model, vault=vault, fault=fault) as atelier:
        atelier.environment.gateway.open = opened  # type: ignore[method-assign]
        atelier.bus.subscribe(acknowledge)
        found = await atelier.workflows.list()
        if not found:
            web = WebSettings(search="brave", address=place, key_env="K", price=PRICE)
            media = MediaSettings(images=f"{place}/v1", images_model="painter", images_price=PRICE)
            await atelier.settings.update(
                name_by_model=False, memories_at_end="off", monthly_cost_limit=LIMIT, web=web, media=media
            )
        folder = effects.parent / "folder"
        folder.mkdir(exist_ok=True)
        workflow = found[0] if found else await atelier.workflows.create("chaos", workspace=(str(folder),))
        os.write(1, b"open\n")
        run_id = workflow.head_run_id or await atelier.runs.send(workflow.id, "Go", agent=AGENT)
        await atelier.runs.recovery.resume_all()
        run = await atelier.runs.wait(run_id)
        while pending := await atelier.approvals.pending():
            await atelier.approvals.approve(pending[0].id)
            run = await atelier.runs.wait(run_id)
        month = await atelier.usage.month()
        await atelier.month_budget.prepare()
        counted = LIMIT - atelier.month_budget._left()
        os.write(1, f"month {month.spent:.6f} {counted:.6f} {month.estimated:.6f}\n".encode())
        os.write(1, f"status {run.status}\n".encode())


if __name__ == "__main__":
    point = fault_at(sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 4 else None
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), point))
