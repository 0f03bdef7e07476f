"""Pins and undone compactions in a complete engine: they apply in this run and in the following ones."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.engine.gateways import model_gateway
from atelier_desk.engine.run.reducer.conversation_entries import EntryKind
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.engine.conftest import Opener, Recorder
from tests.engine.team.conftest import lead

WINDOW = 3000
LONG = "many words that nobody needs again, and again and again; " * 60


class Talk:
    """A conversation with a model with a small context."""

    def __init__(self, atelier: Atelier, model: ScriptedModel) -> None:
        self.atelier = atelier
        self.model = model
        self.workflow_id = ""
        self.head = ""

    async def say(self, text: str) -> None:
        if not self.workflow_id:
            self.workflow_id = (await self.atelier.workflows.create()).id
        config = lead(tools=(), max_tokens=256)
        self.head = await self.atelier.runs.send(self.workflow_id, text, agent=config)
        await self.atelier.runs.wait(self.head)

    def entries(self) -> Any:
        handle = self.atelier.runs.state_of(self.head)
        assert handle is not None
        return handle.current.conversation

    def sent(self) -> list[str]:
        return [message.content for message in self.model.requests[-1].messages[1:]]


def answers() -> ScriptedModel:
    def reply(request: Any) -> Step:
        if "Summarise" in request.messages[0].content:
            return "In short: much was said."
        return ChatReply(content=f"Answer {len(request.messages)}.", usage=Usage(tokens_input=0, tokens_output=3))

    return ScriptedModel([reply] * 40)


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_gateway.FactoryGateway.__init__

    def smaller(self: Any, factory: Any, **options: Any) -> None:
        before(self, factory, **{**options, "window": WINDOW})

    monkeypatch.setattr(model_gateway.FactoryGateway, "__init__", smaller)


async def test_pinned_messages_survive_compactions_and_later_turns(open_atelier: Opener, small_window: None) -> None:
    model = answers()
    async with open_atelier(model) as atelier:
        seen = Recorder(atelier)
        talk = Talk(atelier, model)
        await talk.say("My name is Ada, never forget it.")
        origin = talk.entries()[0].origin
        await atelier.runs.editing.pin(talk.workflow_id, origin)
        assert (await seen.until(ChunkType.CONTEXT_CHANGED)).data == {
            "reason": "pinned",
            "origin": origin,
            "message_id": ANY,
        }
        for number in range(6):
            await talk.say(f"{number}: {LONG}")
        assert any(event.chunk_type is ChunkType.CONTEXT_COMPACTED for event in seen.events)
        assert "My name is Ada, never forget it." in talk.sent()
        workflow_id = talk.workflow_id
    again = answers()
    async with open_atelier(again) as atelier:
        talk = Talk(atelier, again)
        talk.workflow_id = workflow_id
        await talk.say(f"Once more: {LONG}")
        assert "My name is Ada, never forget it." in talk.sent()
        await atelier.runs.editing.pin(workflow_id, origin, False)
        for number in range(3):
            await talk.say(f"{number}: {LONG}")
        assert "My name is Ada, never forget it." not in talk.sent()
        with pytest.raises(NotFoundError):
            await atelier.runs.editing.pin(workflow_id, origin)


async def test_an_undone_compaction_is_complete_in_the_following_run(open_atelier: Opener, small_window: None) -> None:
    model = answers()
    async with open_atelier(model) as atelier:
        talk = Talk(atelier, model)
        said = [f"{number}: {LONG[:1800]}" for number in range(5)]
        for text in said:
            await talk.say(text)
        summary = next(entry for entry in talk.entries() if entry.kind is EntryKind.SUMMARY)
        taken = [entry.text for entry in summary.replaced]
        assert taken
        await talk.say("short")
        await atelier.runs.editing.undo_compaction(talk.workflow_id, summary.origin)
        texts = [entry.text for entry in talk.entries() if entry.kind is EntryKind.USER]
        assert texts == [*said, "short"]
        with pytest.raises(NotFoundError):
            await atelier.runs.editing.undo_compaction(talk.workflow_id, summary.origin)
        workflow_id = talk.workflow_id
    async with open_atelier(answers()) as atelier:
        handle = await atelier.runs.live.conversations.before(
            (await atelier.repos.workflows.get(workflow_id)).head_run_id
        )
        assert [entry.text for entry in handle.history if entry.kind is EntryKind.USER] == [*said, "short"]


async def test_a_message_pinned_while_a_summary_is_written_is_not_replaced_by_it(
    open_atelier: Opener, small_window: None
) -> None:
    pins: list[str] = []
    model = answers()
    async with open_atelier(model) as atelier:
        talk = Talk(atelier, model)
        await talk.say(f"Keep me. {LONG[:900]}")
        first = talk.entries()[0]
        stream = model.stream

        async def pinned_meanwhile(request: Any) -> Any:
            if "Summarise" in request.messages[0].content and not pins:
                pins.append(first.origin)
                await atelier.runs.editing.pin(talk.workflow_id, first.origin)
            async for delta in stream(request):
                yield delta

        model.stream = pinned_meanwhile  # type: ignore[method-assign]
        while not pins:
            await talk.say(LONG)
        assert first.text in [entry.text for entry in talk.entries()]
        assert first.text in talk.sent()
