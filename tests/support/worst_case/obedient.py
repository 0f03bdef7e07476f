"""The worst case of a model: whatever stands anywhere in its request and looks like an order, it does, at once and once."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, FinishReason, ReplyDone, Role, ToolCall

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Names of tools with their arguments."""
_ORDER = re.compile(r"\b(?:ORDER|TASK)-\w+")


class Obedient:
    """Makes the calls of every order it finds in messages, results and descriptions of tools; when none is left, it reports them all, as
    a sub-agent that hands on what it read.

    Attributes:
        orders: what each order stands for. Contents carry its name alone, so that no form of quoting gets in between.
        obeyed: the orders that were followed in any run.
        read: everything that the model was sent, for whoever looks for a secret in it.
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
        done = {call.id.partition(".")[0] for message in request.messages if message.role is Role.ASSISTANT for call in message.tool_calls}
        found = list(dict.fromkeys(name for text in texts for name in _ORDER.findall(text) if name in self.orders))
        new = [name for name in found if name not in done]
        self.obeyed.update(new)
        calls = [
            ToolCall(id=f"{name}.{number}", name=tool, arguments=dict(arguments))
            for name in new
            for number, (tool, arguments) in enumerate(self.orders[name])
        ]
        if not calls:
            return ChatReply(content=f"Done. I was told: {' '.join(name for name in found if name.startswith('ORDER'))}")
        return ChatReply(tool_calls=tuple(calls), finish_reason=FinishReason.TOOL_CALLS)
