"""Hide the program's own secrets in a server's reply, as it streams and as a whole: the server has seen the key."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ReasoningDelta,
    ReplyDone,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from atelier_desk.llm.secrets import redact_reply, unfinished_secret

REPEATED_KEY = "The arguments contain an API key or another secret of the user, so the call was not made."
"""For the model. The call is not made with other arguments than those it gave."""
_PIECES = (TextDelta, ReasoningDelta)
_TEXT: type[TextDelta | ReasoningDelta] = TextDelta


async def without_secrets(deltas: AsyncGenerator[ChatDelta, None]) -> AsyncGenerator[ChatDelta, None]:
    """Hide secrets in text, reasoning and calls; the end of a piece that may be the start of one waits for the next.

    An encoded secret that spans pieces is hidden in the whole reply only.
    """
    held, kind = "", _TEXT
    failure: ProviderError | None = None
    try:
        async with aclosing(deltas):
            async for delta in deltas:
                if isinstance(delta, _PIECES):
                    text = delta.content
                    if held and (type(delta) is not kind or _all_before(delta)):
                        yield kind(content=held)
                    elif held:
                        text = held + text
                    text = redact_reply(text)
                    end = unfinished_secret(text)
                    held, text = text[end:], text[:end]
                    if text == delta.content:
                        yield delta
                        continue
                    kind = type(delta)
                    if _all_before(delta):
                        yield ReasoningDelta(content=text, all_before=True)
                    elif text:
                        yield kind(content=text)
                    continue
                if held:
                    yield kind(content=held)
                    held = ""
                if isinstance(delta, ReplyDone):
                    yield ReplyDone(reply=_reply(delta.reply))
                elif isinstance(delta, ToolCallDelta):
                    update = {name: redact_reply(getattr(delta, name)) for name in ("id", "name", "arguments")}
                    yield delta.model_copy(update=update)
                else:
                    yield delta
    except ProviderError as error:
        failure = error
    if held:
        yield kind(content=held)
    if failure is not None:
        raise failure


def _all_before(delta: TextDelta | ReasoningDelta) -> bool:
    return isinstance(delta, ReasoningDelta) and delta.all_before


def _reply(reply: ChatReply) -> ChatReply:
    return reply.model_copy(
        update={
            "content": redact_reply(reply.content),
            "reasoning": redact_reply(reply.reasoning),
            "model": redact_reply(reply.model),
            "tool_calls": tuple([_call(call) for call in reply.tool_calls]),
        }
    )


def _call(call: ToolCall) -> ToolCall:
    arguments = _value(call.arguments)
    error = call.error
    if error is None and arguments != call.arguments:
        error = REPEATED_KEY
    return call.model_copy(
        update={
            "id": redact_reply(call.id),
            "name": redact_reply(call.name),
            "arguments": arguments,
            "raw": None if call.raw is None else redact_reply(call.raw),
            "error": None if error is None else redact_reply(error),
        }
    )


def _value(value: object) -> object:
    if isinstance(value, str):
        return redact_reply(value)
    if isinstance(value, dict):
        return {redact_reply(name): _value(each) for name, each in value.items()}
    return [_value(each) for each in value] if isinstance(value, list) else value
