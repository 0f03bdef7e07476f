"""Describe images with the configured vision model."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from atelier_desk.domain.errors import ProviderError, ToolError
from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.engine.run.request.reply_processing import ReceivedReply
from atelier_desk.engine.run.request.request_images import fitted
from atelier_desk.llm.network.inactivity_timeout import watched
from atelier_desk.llm.provider_type_registry import picture_limits
from atelier_desk.llm.token_and_cost_estimates import estimate_request
from atelier_desk.media.picture_preparation import UnusablePicture
from atelier_desk.support.background_tasks import to_the_end
from atelier_desk.support.i18n import N_
from atelier_desk.tools.calls.result_images import UNFIT

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.llm.interfaces import Provider
    from atelier_desk.tools.calls.context import Spending, Used

PROMPT = "Describe this picture: what it shows, any text in it, and what stands out."
MAX_TOKENS = 2_000
SILENCE_S = 120.0


class ImageDescriber:
    """Asks one model. ``model`` is ``provider/model``, which may change at any time; empty for none."""

    def __init__(
        self,
        provider: Callable[[str], Awaitable[Provider]],
        facts: Callable[[str, str], Awaitable[ModelInfo]],
        clock: Clock,
    ) -> None:
        """``provider`` returns a model server by name, ``facts`` its model information, for prices."""
        self._provider = provider
        self._facts = facts
        self._clock = clock
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.model = ""

    def missing_setup(self) -> str:
        if self.model:
            return ""
        return (
            "No vision model is chosen for describing images. The user can choose one in Settings, Images and 3D "
            "(atelier media describe)."
        )

    async def describe(self, data: bytes, media_type: str, prompt: str, spending: Spending) -> str:
        """Return the model's description of an image. Its usage belongs to the calling run (``spending``).

        Raises:
            ToolError: no model is configured, the image is damaged or too large, or a limit of the run has no room for
                it.
            ProviderError: the model is unreachable, refuses, has no vision, or says nothing.
        """
        if lacking := self.missing_setup():
            raise ToolError("{text}", code="not_configured", text=lacking)
        name, _slash, model = self.model.partition("/")
        server = await self._provider(name)
        try:
            image = await fitted(
                ImagePart(data=base64.b64encode(data).decode(), media_type=media_type), picture_limits(server)
            )
        except UnusablePicture as unfit:
            code = (
                "too_large"
                if unfit.code in ("bomb", "too_large")
                else unfit.code
                if unfit.code == "timeout"
                else "broken"
            )
            raise ToolError("The picture {reason}.", code=code, reason=UNFIT.get(unfit.code, UNFIT["broken"])) from None
        message = ChatMessage(role=Role.USER, content=prompt or PROMPT, images=(image,))
        request = ChatRequest(model=model, messages=(message,), max_tokens=MAX_TOKENS)
        info = await self._facts(name, model)
        # One at a time per run: two concurrent ones would both find the same room.
        async with self._turns.setdefault(spending.run_id, asyncio.Lock()):
            prompt_tokens = estimate_request(request)
            async with spending.room(info, prompt_tokens, MAX_TOKENS) as (room, settle, check_again):
                began = self._clock.monotonic()
                received = ReceivedReply(room)

                async def used(
                    received: ReceivedReply = received,
                    began: float = began,
                    settle: Used = settle,
                ) -> None:
                    duration_ms = round((self._clock.monotonic() - began) * 1000)
                    await settle(received.reply.model or model, received.usage(prompt_tokens, info), duration_ms)

                asked = request.model_copy(update={"max_tokens": room})
                try:
                    await received.read(watched(server.stream(asked), self._clock, SILENCE_S), check_again)
                except BaseException as error:
                    if received.charged(error):
                        await to_the_end(used())
                    raise
                await used()
                text = received.reply.content.strip()
        if not text:
            raise ProviderError(N_("The model did not answer; try another one."), code="empty_reply")
        return text
