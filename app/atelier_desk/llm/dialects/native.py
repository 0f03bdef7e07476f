"""The native dialect: the provider transports calls; here their arguments are parsed, repaired and limited."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, FinishReason, ReplyDone, ToolCall
from atelier_desk.llm.dialects.argument_parsing import parse_arguments
from atelier_desk.llm.dialects.call_ids import CallIds
from atelier_desk.llm.dialects.tool_call_limits import CALLS, REPAIR_BYTES
from atelier_desk.llm.interfaces import ChatModel
from atelier_desk.llm.replies.redaction import REPEATED_KEY

TOO_MANY = (
    f"One reply may make at most {CALLS} calls. This call and those after it were not run; make them in the next reply."
)


class NativeModel:
    """Passes deltas through and finalises the calls of the complete reply.

    A provider returns a call either with ``arguments`` (an object, or text that parsed) or with the text in ``raw``,
    which is parsed here as in ``argument_parsing``.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, ReplyDone) and delta.reply.tool_calls:
                    calls = await settle_calls(delta.reply, CallIds(request))
                    yield ReplyDone(reply=delta.reply.model_copy(update={"tool_calls": tuple(calls)}))
                else:
                    yield delta


async def settle_calls(reply: ChatReply, ids: CallIds, *, first: int = 0) -> list[ToolCall]:
    """Return the reply's calls, each parsed or marked with an error, with unique ids, limited in number.

    Args:
        first: position of the first of them in the reply.
    """
    cut = reply.finish_reason is FinishReason.LENGTH
    last = len(reply.tool_calls) - 1
    ids_in_use = set(ids.used)
    calls = []
    for position, call in enumerate(reply.tool_calls[: CALLS + 1]):
        identifier = call.id if call.id and call.id not in ids_in_use else ids.at(first + position)
        ids_in_use.add(identifier)
        if position == CALLS:
            calls.append(call.model_copy(update={"id": identifier, "error": TOO_MANY}))
        else:
            calls.append(await _settle(call.model_copy(update={"id": identifier}), truncated=cut and position == last))
    return calls


async def _settle(call: ToolCall, *, truncated: bool) -> ToolCall:
    if call.raw is None:
        return call
    if call.error == REPEATED_KEY:
        return call.model_copy(update={"raw": call.raw[:REPAIR_BYTES]})
    parsed = await parse_arguments(call.raw, truncated=truncated)
    return call.model_copy(
        update={
            "arguments": parsed.arguments,
            "repaired": call.repaired or parsed.repaired,
            "error": parsed.error,
            "raw": call.raw[:REPAIR_BYTES] if parsed.error else None,
        }
    )
