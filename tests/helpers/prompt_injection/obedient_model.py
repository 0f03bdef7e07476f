"""The worst case of a model: it follows every text in its request that looks like an instruction, once."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    Role,
    ToolCall,
)

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Names of tools with their arguments."""
_ORDER = re.compile(r"\b(?:ORDER|TASK)-\w+")


class Obedient:
    """Makes the calls of every instruction in messages, results and tool descriptions.

    Afterwards it reports them all, like a sub-agent that passes on what it read.

    Attributes:
        orders: calls of each instruction. Contents have only its name, so that quoting does not matter.
        obeyed: instructions followed in any run.
        read: everything sent to the model, to search it for secrets.
    """

    def __init__(self, orders: dict[str, Calls]) -> None:
        self.orders = orders
        self.obeyed: set[str] = set()
        self.read: list[str] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        yield ReplyDone(reply=self._reply(request))

    def _reply(self, request: ChatRequest) -> ChatReply:
        texts = [*(message.content for message in request.messages), *(tool.description for tool in request.tools)]
        self.read += texts
        done = {
            call.id.partition(".")[0]
            for message in request.messages
            if message.role is Role.ASSISTANT
            for call in message.tool_calls
        }
        found = list(dict.fromkeys(name for text in texts for name in _ORDER.findall(text) if name in self.orders))
        new = [name for name in found if name not in done]
        self.obeyed.update(new)
        calls = [
            ToolCall(id=f"{name}.{number}", name=tool, arguments=dict(arguments))
            for name in new
            for number, (tool, arguments) in enumerate(self.orders[name])
        ]
        if not calls:
            return ChatReply(
                content=f"Done. I was told: {' '.join(name for name in found if name.startswith('ORDER'))}"
            )
        return ChatReply(tool_calls=tuple(calls), finish_reason=FinishReason.TOOL_CALLS)
