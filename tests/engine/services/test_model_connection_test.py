"""The connection test of a model: one short request, and failures explained in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, ReplyDone, TextDelta
from atelier_desk.domain.usage import unchecked
from atelier_desk.engine.services.model_connection_test import try_model
from tests.helpers.manual_clock import ManualClock


class Server:
    """A provider that sends its words, then ends, or never does."""

    def __init__(self, *words: str, ends: bool = True) -> None:
        self.words, self.ends = words, ends

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        for word in self.words:
            yield TextDelta(content=word)
        if not self.ends:
            await asyncio.Event().wait()
        yield ReplyDone(reply=ChatReply(content="".join(self.words)))


def server(*words: str, ends: bool = True) -> Any:
    return Server(*words, ends=ends)


async def test_an_answer_is_one_line() -> None:
    assert (await try_model(server("Hello\n ", "there."), "m", ManualClock(), unchecked)).text == "Hello there."


async def test_an_empty_answer_is_a_failure() -> None:
    with pytest.raises(ProviderError, match="did not answer"):
        await try_model(server("  "), "m", ManualClock(), unchecked)


async def test_a_silent_server_is_an_error_with_a_message() -> None:
    clock = ManualClock()
    trial = asyncio.create_task(try_model(server("Hel", ends=False), "m", clock, unchecked))
    async with asyncio.timeout(20):
        while not trial.done():
            await (clock.advance(1) if clock.sleepers else asyncio.sleep(0))
    with pytest.raises(ProviderError, match="did not respond for 60 seconds"):
        await trial


async def test_an_endless_reply_is_cut() -> None:
    async with asyncio.timeout(20):
        assert (
            await try_model(server(*["word "] * 10_000, ends=False), "m", ManualClock(), unchecked)
        ).text.startswith("word word")
