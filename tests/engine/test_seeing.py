"""Pictures are described by the model that the settings name, and by no other."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from atelier_desk.domain.chat import ChatDelta, ChatRequest, TextDelta
from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.engine.seeing import Seer
from tests.support.clock import ManualClock


class Eye:
    """A model server that says what it was told to."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.asked: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        self.asked.append(request)
        for word in self.words:
            yield TextDelta(content=word)


def seer(eye: Eye, model: str = "house/eye/large") -> Seer:
    async def provider(name: str) -> Any:
        assert name == "house"
        return eye

    made = Seer(provider, ManualClock())
    made.model = model
    return made


async def test_the_chosen_model_gets_the_picture_and_the_question() -> None:
    eye = Eye("A red ", "bicycle.")
    assert await seer(eye).describe(b"bytes", "image/png", "What is it?") == "A red bicycle."
    (request,) = eye.asked
    assert (request.model, request.messages[0].content) == ("eye/large", "What is it?")
    assert base64.b64decode(request.messages[0].images[0].data) == b"bytes"


async def test_silence_and_no_choice_are_told() -> None:
    with pytest.raises(ProviderError):
        await seer(Eye()).describe(b"x", "image/png", "")
    with pytest.raises(ToolError) as failed:
        await seer(Eye("x"), model="").describe(b"x", "image/png", "")
    assert failed.value.code == "not_configured"
