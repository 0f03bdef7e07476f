"""Token counts and context length reported by servers, and estimates where they report none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.events.run import ModelReplied
from atelier_desk.domain.model_messages import (
    LOADING,
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    RetryDelta,
    TextDelta,
)
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import Opener, send_and_wait
from tests.engine.runs.runs_on_fake_servers import SERVERS, agent, of, rows, run, world
from tests.helpers.servers.scripted_http_server import Failure, Reply


async def test_the_context_length_reported_by_a_server_is_stored_with_the_model(tmp_path: Path) -> None:
    overflow = {
        "error": {
            "code": 400,
            "type": "exceed_context_size_error",
            "message": "too long",
            "n_prompt_tokens": 6031,
            "n_ctx": 4096,
        }
    }
    async with world("openai", tmp_path) as (server, atelier):
        server.script(Failure(400, overflow), Reply(text="Fits."))
        events = await run(atelier, text="word " * 1500)
        assert events[-1].data["status"] == "completed"
        assert of(events, ChunkType.USAGE)[-1]["context_window"] == 4096
    async with Atelier.open(tmp_path / "data", fsync=False, vault=KeyVault(environ={})) as atelier:
        known = await atelier.models.info("server", "test-model")
        assert (known.context_window, known.source) == (4096, "learned")
        assert (await atelier.models.reset("server", "test-model")).context_window != 4096
        with pytest.raises(NotFoundError):
            await atelier.repos.models.get("server", "test-model")


async def test_corrections_by_a_person_remain(tmp_path: Path) -> None:
    async with world("openai", tmp_path) as (_server, atelier):
        await atelier.models.edit("server", "test-model", context_window=9000)
        await atelier.models.learned("server", "test-model", context_window=4096)
        known = await atelier.models.info("server", "test-model")
        assert (known.context_window, known.source) == (9000, "user")


WRONG: list[Any] = [-5, None, "many", 10**30, 7e9]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(kind, WRONG[(number + more) % len(WRONG)]) for number, kind in enumerate(SERVERS) for more in (0, 2)],
)
async def test_unusable_counts_are_replaced_by_the_estimate(kind: str, wrong: Any, tmp_path: Path) -> None:
    async with world(kind, tmp_path) as (server, atelier):
        server.script(
            Reply(
                text="Hello there.", usage={"prompt_tokens": wrong, "completion_tokens": wrong, "total_tokens": wrong}
            )
        )
        events = await run(atelier)
    (usage,) = of(events, ChunkType.USAGE)
    assert events[-1].data["status"] == "completed"
    assert usage["estimated"] is True
    assert 0 < usage["tokens_input"] < 10_000
    assert 0 < usage["tokens_output"] < 100


async def test_a_sub_agents_truncated_report_is_marked() -> None:
    from atelier_desk.engine.run.reducer.next_step import Finish, next_step
    from tests.helpers.runs_without_driver import Script, reply

    cut = reply("Half a rep")
    body = cut.model_copy(update={"reply": cut.reply.model_copy(update={"finish_reason": FinishReason.LENGTH})})
    step = next_step(Script(parent_run_id="p", depth=1).add(body).state)
    assert isinstance(step, Finish)
    assert step.ending.result.startswith("Half a rep\n\n[This report was cut off")
    own = next_step(Script().add(body).state)
    assert isinstance(own, Finish)
    assert own.ending.result == "Half a rep"
    empty = ModelReplied(reply=ChatReply(finish_reason=FinishReason.EMPTY))
    told = next_step(Script(parent_run_id="p", depth=1).add(empty).state)
    assert isinstance(told, Finish)
    assert told.ending.result == "[The agent ended with an empty reply.]"


async def test_loading_a_model_is_an_event_outside_of_the_transcript(open_atelier: Opener) -> None:
    class Loading(ScriptedModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            yield RetryDelta(attempt=1, delay_s=0.0, reason=LOADING)
            async for delta in super().stream(request):
                yield delta

    async with open_atelier(Loading(["Done."])) as atelier:
        events = await run(atelier, provider="local", model="scripted")
        assert [data["reason"] for data in of(events, ChunkType.RETRY)] == ["loading"]
        assert [row.kind for row in await rows(atelier, events)] == ["queue", "reply"]


class Endless:
    """A server that ignores ``max_tokens`` and never stops writing."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.written = 0
        self.closed = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[TextDelta]:
        self.asked.append(request.max_tokens)
        try:
            while self.written < 10_000_000:
                self.written += 500
                yield TextDelta(content="word " * 100)
        finally:
            self.closed = True


async def test_an_endless_reply_is_cut_at_the_reserved_length(open_atelier: Opener) -> None:
    model = Endless()
    async with open_atelier(lambda _agent: model) as atelier:
        workflow = await atelier.workflows.create()
        await send_and_wait(atelier, workflow.id, "go", agent=agent(budget=Budget(max_tokens=8000), tools=()))
        said = (await atelier.workflows.transcript(workflow.id))[-1].message
    assert model.closed
    assert model.written < 3 * 3.2 * (model.asked[0] + 200)
    assert said.details == {"finish_reason": "length"}, "cut, and Go on is offered"
    assert said.usage is not None
    assert said.usage.tokens_output > 8000, "what was written beyond it counts"
