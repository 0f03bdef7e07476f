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
from atelier_desk.llm.secrets import REDACTED, redact_reply, unfinished_secret

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
                    reply = reply_without_secrets(delta.reply)
                    yield ReplyDone(reply=reply, redacted=reply.content != delta.reply.content)
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


def reply_without_secrets(reply: ChatReply) -> ChatReply:
    """Hide secrets in a whole reply; a call with one in its arguments carries an error.

    Also for what a dialect made of a reply: text around a call that it took out may be a secret only now.
    """
    return reply.model_copy(
        update={
            "content": redact_reply(reply.content),
            "reasoning": redact_reply(reply.reasoning),
            "model": redact_reply(reply.model),
            "tool_calls": tuple([_call(call) for call in reply.tool_calls]),
        }
    )


def _call(call: ToolCall) -> ToolCall:
    arguments = value_without_secrets(call.arguments)
    raw = None if call.raw is None else redact_reply(call.raw)
    error = call.error
    # A text that is no JSON has an error already; without this one it would be repaired, and the call made.
    if raw != call.raw or (error is None and arguments != call.arguments):
        error = REPEATED_KEY
    return call.model_copy(
        update={
            "id": redact_reply(call.id),
            "name": redact_reply(call.name),
            "arguments": arguments,
            "raw": raw,
            "error": None if error is None else redact_reply(error),
        }
    )


def value_without_secrets(value: object) -> object:
    """Hide secrets in a JSON value that a server wrote, also in the names of its fields."""
    if isinstance(value, str):
        return redact_reply(value)
    if isinstance(value, dict):
        return {redact_reply(name): value_without_secrets(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    items = [value_without_secrets(each) for each in value]
    listed = ",".join(str(each) for each in items if isinstance(each, str | int))
    return items if redact_reply(listed) == listed else [REDACTED]  # a list of its characters
