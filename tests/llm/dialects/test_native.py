"""The native dialect normalises a provider's calls: arguments, identifiers, number of calls."""

from __future__ import annotations

from atelier_desk.domain.agent import ToolDialect
from atelier_desk.domain.model_messages import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    Role,
    TextDelta,
    ToolCall,
)
from atelier_desk.llm.dialects import with_dialect
from atelier_desk.llm.dialects.argument_parsing import CUT
from atelier_desk.llm.dialects.tool_call_limits import CALLS
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.helpers.tool_calls import tool_call

REQUEST = ChatRequest(model="m", messages=(ChatMessage(role=Role.USER, content="hi"),))


async def reply_to(step: Step, request: ChatRequest = REQUEST) -> ChatReply:
    deltas = [delta async for delta in with_dialect(ScriptedModel([step]), ToolDialect.NATIVE).stream(request)]
    assert isinstance(deltas[-1], ReplyDone)
    return deltas[-1].reply


async def test_a_reply_without_calls_passes_unchanged() -> None:
    model = ScriptedModel(["hello"], chunk=2)
    deltas = [delta async for delta in with_dialect(model, ToolDialect.NATIVE).stream(REQUEST)]
    assert [delta.content for delta in deltas if isinstance(delta, TextDelta)] == ["he", "ll", "o"]
    assert model.requests == [REQUEST]


async def test_raw_argument_text_is_parsed_repaired_or_refused() -> None:
    reply = await reply_to(
        [
            tool_call("A", "1", x=1),
            ToolCall(id="2", name="A", raw='{"x": 2}'),
            ToolCall(id="3", name="A", raw="{'x': 3,}"),
            ToolCall(id="4", name="A", raw="nonsense", error="the provider could not read it"),
        ]
    )
    one, two, three, four = reply.tool_calls
    assert (one.arguments, two.arguments, three.arguments) == ({"x": 1}, {"x": 2}, {"x": 3})
    assert [call.repaired for call in reply.tool_calls] == [False, False, True, False]
    assert (two.raw, three.raw, four.raw) == (None, None, "nonsense")
    assert "not valid JSON" in (four.error or "")


async def test_only_the_last_call_of_a_truncated_reply_is_suspect() -> None:
    calls = (ToolCall(id="1", name="A", raw="{'x': 1}"), ToolCall(id="2", name="A", raw='{"x": "cu'))
    reply = await reply_to(ChatReply(tool_calls=calls, finish_reason=FinishReason.LENGTH))
    assert reply.tool_calls[0].arguments == {"x": 1}
    assert reply.tool_calls[1].error == CUT


async def test_identifiers_are_unique_in_the_conversation() -> None:
    past = ChatMessage(role=Role.ASSISTANT, tool_calls=(tool_call("A", "call_0"),))
    result = ChatMessage(role=Role.TOOL, content="{}", tool_call_id="call_0", name="A")
    request = REQUEST.model_copy(update={"messages": (*REQUEST.messages, past, result)})
    calls = [
        tool_call("A", "call_0"),
        tool_call("A", ""),
        tool_call("A", "x"),
        tool_call("A", "x"),
    ]
    reply = await reply_to(calls, request)
    ids = [call.id for call in reply.tool_calls]
    assert len({*ids, "call_0"}) == 5
    assert ids[2] == "x"
    assert ids == [call.id for call in (await reply_to(calls, request)).tool_calls]


async def test_too_many_calls_end_in_one_refused_call() -> None:
    reply = await reply_to([tool_call("A", str(number)) for number in range(CALLS + 9)])
    assert len(reply.tool_calls) == CALLS + 1
    assert [call.error is None for call in reply.tool_calls] == [True] * CALLS + [False]
