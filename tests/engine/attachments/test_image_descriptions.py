"""Images are described by the vision model of the settings, and by no other."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.domain.events.run import PictureDescribed
from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, ReplyDone, TextDelta, Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.usage import unchecked
from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener, send_and_wait
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import agent as agent_of
from tests.helpers.sample_images import png
from tests.helpers.tool_calls import tool_call


class Eye:
    """A model server that answers with a given text."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.asked: list[ChatRequest] = []
        self.used: Usage | None = None

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        self.asked.append(request)
        for word in self.words:
            yield TextDelta(content=word)
        if self.used is not None:
            yield ReplyDone(reply=ChatReply(content="".join(self.words), model="eye-2", usage=self.used))


def image_describer(eye: Eye, model: str = "house/eye/large") -> ImageDescriber:
    async def provider(name: str) -> Any:
        assert name == "house"
        return eye

    async def facts(name: str, model: str) -> ModelInfo:
        return ModelInfo(provider=name, name=model, price_input=2.0, price_output=10.0)

    made = ImageDescriber(provider, facts, ManualClock())
    made.model = model
    return made


class Unlimited:
    """A run without limits."""

    run_id = "run"

    @asynccontextmanager
    async def room(self, _info: ModelInfo, _prompt_tokens: int, reply_tokens: int) -> AsyncIterator[Any]:
        async def used(*_usage: Any) -> None:
            pass

        yield reply_tokens, used, unchecked


UNLIMITED: Any = Unlimited()


async def test_the_chosen_model_gets_the_image_and_the_question() -> None:
    eye = Eye("A red ", "bicycle.")
    assert await image_describer(eye).describe(PNG, "image/png", "What is it?", UNLIMITED) == "A red bicycle."
    (request,) = eye.asked
    assert (request.model, request.messages[0].content) == ("eye/large", "What is it?")
    assert base64.b64decode(request.messages[0].images[0].data) == PNG


async def test_an_empty_answer_and_a_missing_choice_are_reported() -> None:
    with pytest.raises(ProviderError):
        await image_describer(Eye()).describe(PNG, "image/png", "", UNLIMITED)
    with raises_code(ToolError, "not_configured"):
        await image_describer(Eye("x"), model="").describe(PNG, "image/png", "", UNLIMITED)


PNG = png()


async def described(
    open_atelier: Opener, folder: Path, eye: Eye, **changes: Any
) -> tuple[Any, list[Any], ScriptedModel]:
    """The workflow after a run whose agent examined two images at once, the journal's records of that, and the
    run's model.
    """
    (folder / "a.png").write_bytes(PNG)
    calls = [tool_call("describe_image", id, path="a.png") for id in ("one", "two")]
    model = ScriptedModel(
        [ChatReply(tool_calls=tuple(calls), usage=Usage(tokens_input=10, tokens_output=2)), "A bicycle."]
    )
    async with open_atelier(model) as atelier:
        atelier.tool_services.image_describer = image_describer(eye)
        workflow = await atelier.workflows.create(workspace=(str(folder),))
        agent = agent_of(tools=("describe_image",), approval="auto", **changes)
        run_id = await send_and_wait(atelier, workflow.id, "What is it?", agent=agent)
        kept = [
            event.body for event in await run_events(atelier.repos, run_id) if isinstance(event.body, PictureDescribed)
        ]
        return await atelier.workflows.get(workflow.id), kept, model


async def test_the_usage_of_the_vision_model_counts_for_the_run(open_atelier: Opener, tmp_path: Path) -> None:
    eye = Eye("A red bicycle.")
    eye.used = Usage(tokens_input=1_000, tokens_output=100)
    row, kept, model = await described(open_atelier, tmp_path, eye)
    assert [(each.call_id, each.provider, each.model) for each in kept] == [
        ("one", "house", "eye-2"),
        ("two", "house", "eye-2"),
    ]
    assert row.usage.tokens_input >= 2_010
    assert row.usage.cost == pytest.approx(2 * (1_000 * 2 + 100 * 10) / 1_000_000)
    assert "A red bicycle." in str(model.requests[-1].messages)


async def test_a_limit_of_the_run_applies_to_the_vision_model(open_atelier: Opener, tmp_path: Path) -> None:
    eye = Eye("A red bicycle.")
    eye.used = Usage(tokens_input=1_300, tokens_output=100)
    _row, kept, model = await described(open_atelier, tmp_path, eye, budget=Budget(max_tokens=2_500))
    assert (len(kept), len(eye.asked)) == (1, 1)
    assert eye.asked[0].max_tokens is not None
    assert eye.asked[0].max_tokens < 1_500
    assert "no room" in str(model.requests[-1].messages)
