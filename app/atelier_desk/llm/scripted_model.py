"""A scripted model for tests, replays and examples. It uses no network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReasoningDelta,
    ReplyDone,
    TextDelta,
    ToolCall,
    Usage,
)

Step = str | ChatReply | Exception | Sequence[ToolCall] | Callable[[ChatRequest], "Step"]
"""A text reply, a complete reply, an error to raise, tool calls, or a function of the request that returns one of
these.
"""


class UnexpectedModelCall(AssertionError):
    """The model was called after the end of the script."""


class ScriptedModel:
    """Answers each request with the next step of its script.

    Attributes:
        requests: received requests, in order.
        chunk: characters per text delta.
        gate: if set, each reply waits for this event after its first delta, so that a test can act in between.
        delay_s: seconds between deltas, for demonstrations; 0 in tests.
    """

    def __init__(
        self, steps: Sequence[Step], *, chunk: int = 16, gate: asyncio.Event | None = None, delay_s: float = 0.0
    ) -> None:
        self._steps = list(steps)
        self.requests: list[ChatRequest] = []
        self.chunk = chunk
        self.gate = gate
        self.delay_s = delay_s

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        self.requests.append(request)
        if not self._steps:
            raise UnexpectedModelCall(f"call number {len(self.requests)} was not in the script")
        reply = self._reply(self._steps.pop(0), request)
        first = True
        for kind, text in ((ReasoningDelta, reply.reasoning), (TextDelta, reply.content)):
            for start in range(0, len(text), self.chunk):
                yield kind(content=text[start : start + self.chunk])
                if first and self.gate is not None:
                    await self.gate.wait()
                first = False
                await asyncio.sleep(self.delay_s)
        if first and self.gate is not None:
            await self.gate.wait()
        yield ReplyDone(reply=reply)

    def _reply(self, step: Step, request: ChatRequest) -> ChatReply:
        if callable(step) and not isinstance(step, (str, ChatReply, Exception)):
            return self._reply(step(request), request)
        if isinstance(step, Exception):
            raise step
        usage = Usage(tokens_input=sum(len(m.content) for m in request.messages) // 4, tokens_output=8)
        if isinstance(step, str):
            return ChatReply(content=step, usage=usage, model=request.model)
        if isinstance(step, ChatReply):
            return step
        return ChatReply(
            tool_calls=tuple(step), usage=usage, finish_reason=FinishReason.TOOL_CALLS, model=request.model
        )

    def assert_complete(self) -> None:
        """Fail if steps of the script were not used."""
        assert not self._steps, f"{len(self._steps)} steps of the script were not used"
