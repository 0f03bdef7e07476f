"""Pictures put into words by the model that the settings name."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from atelier_desk.domain.chat import ChatMessage, ChatRequest, ImagePart, Role, TextDelta
from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.engine.run.request.silence import watched
from atelier_desk.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.llm.base import Provider

PROMPT = "Describe this picture: what it shows, any text in it, and what stands out."
MAX_TOKENS = 2_000
SILENCE_S = 120.0


class Seer:
    """Asks one model. ``model`` is ``provider/model``, which may change at any time; empty for none."""

    def __init__(self, provider: Callable[[str], Awaitable[Provider]], clock: Clock) -> None:
        """``provider`` gives a model server by its name."""
        self._provider = provider
        self._clock = clock
        self.model = ""

    def lacks(self) -> str:
        if self.model:
            return ""
        return (
            "No model that sees is chosen for describing pictures. The user can choose one in Settings, Pictures and 3D "
            "(atelier media describe)."
        )

    async def describe(self, data: bytes, media_type: str, prompt: str) -> str:
        """What the model says of a picture.

        Raises:
            ToolError: none was chosen.
            ProviderError: it cannot be reached, refuses, does not see, or says nothing.
        """
        if lacking := self.lacks():
            raise ToolError("{text}", code="not_configured", text=lacking)
        name, _slash, model = self.model.partition("/")
        server = await self._provider(name)
        image = ImagePart(data=base64.b64encode(data).decode(), media_type=media_type)
        message = ChatMessage(role=Role.USER, content=prompt or PROMPT, images=(image,))
        request = ChatRequest(model=model, messages=(message,), max_tokens=MAX_TOKENS)
        parts: list[str] = []
        async with aclosing(watched(server.stream(request), self._clock, SILENCE_S)) as deltas:
            async for delta in deltas:
                if isinstance(delta, TextDelta):
                    parts.append(delta.content)
        text = "".join(parts).strip()
        if not text:
            raise ProviderError(N_("The model answered nothing; try another one."), code="empty_reply")
        return text
