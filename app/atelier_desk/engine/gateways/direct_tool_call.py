"""A tool call made by a person or script, as an ordinary run: same registry, policy and journal.

The "model" of such a run reads the call from the user's message, makes it, and ends with its result. It is stateless,
so the run survives kills and questions like any other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    Role,
    ToolCall,
    Usage,
)
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.support.i18n import N_

PROVIDER = "direct-call"
"""Reserved name that no configured provider can have in a stored agent."""
WINDOW = 1_000_000


def direct_agent(tool: str, extra: tuple[str, ...] = ()) -> AgentConfig:
    """Return the agent of a direct call, with this tool and those its call may name or pass to sub-agents."""
    return AgentConfig(
        name="Direct call",
        provider=PROVIDER,
        model="call",
        system_prompt="Make the call in the user's message.",
        tools=(tool, *extra),
        tool_dialect=ToolDialect.NATIVE,
        # It writes nothing itself: this is the maximum for sub-agents of the call.
        max_tokens=limits.MAX_TOKENS[1],
        max_tool_iterations=limits.TOOL_ITERATIONS[1],
        question_timeout_s=0,
    )


def direct_message(tool: str, arguments: dict[str, object]) -> str:
    """Return the user message that requests the call."""
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


class DirectCallModel:
    """Makes the call requested by the last user message; once its result is there, repeats it and ends."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        result = ""
        asked: tuple[str, dict[str, object]] | None = None
        for message in reversed(request.messages):
            if message.role is Role.TOOL and not result:
                result = message.content
            elif message.role is Role.USER and (asked := _call(message.content)) is not None:
                break
        if asked is None:
            raise ProviderError(N_("The message contains no tool call to run."), code="direct_call")
        if result:
            # Also when the engine asks whether it is done.
            yield ReplyDone(reply=ChatReply(content=result, usage=Usage(), model=request.model))
            return
        tool, arguments = asked
        call = ToolCall(id="call_1", name=tool, arguments=arguments)
        yield ReplyDone(
            reply=ChatReply(
                tool_calls=(call,), usage=Usage(), finish_reason=FinishReason.TOOL_CALLS, model=request.model
            )
        )


def _call(content: str) -> tuple[str, dict[str, object]] | None:
    try:
        value = json.loads(content)
    except ValueError:
        return None
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("tool"), str)
        or not isinstance(value.get("arguments"), dict)
    ):
        return None
    return value["tool"], value["arguments"]


def direct_model(name: str) -> OpenModel:
    """Return the opened model of a direct call."""
    model = DirectCallModel()
    info = ModelInfo(
        provider=PROVIDER, name=name, context_window=WINDOW, supports_tools=True, price_input=0, price_output=0
    )
    return OpenModel(model=model, plain=model, info=info, dialect=ToolDialect.NATIVE)
