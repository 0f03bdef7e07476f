"""Conversations as items: whatever their order, the server's rules are met."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.openai_responses import message_conversion
from atelier_desk.llm.openai_responses.provider import ResponsesProvider
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai_responses_rules import Issued, check
from tests.helpers.tool_calls import tool_call
from tests.llm.irregular_conversations import ANY, conversation
from tests.llm.provider_requests import ADD, ask, called, provider, result

OPENAI: Any = provider("responses", "http://127.0.0.1:9", ManualClock())
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
MODELS = ("gpt-5.5", "gpt-5-mini", "gpt-5-pro", "gpt-4.1", "o4-mini", "other")
USER = ChatMessage(role=Role.USER, content="u")


def body_of(request: ChatRequest) -> dict[str, Any]:
    body = ResponsesProvider.payload(OPENAI, request, frozenset())
    assert json.loads(json.dumps(body)) == body
    return body


@given(
    ANY,
    st.sampled_from(MODELS),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["low", "medium", "high", None]),
    st.integers(1, 9000),
)
def test_every_conversation_meets_the_rules(
    kinds: list[str], model: str, tools: bool, thinking: bool, effort: Any, max_tokens: int
) -> None:
    messages = conversation(kinds, model, {"items": [THOUGHT, {"type": "text", "length": 1}]})
    options = {
        "tools": (ADD,) if tools else (),
        "enable_thinking": thinking,
        "effort": effort,
        "max_tokens": max_tokens,
    }
    check(body_of(ask(*messages, model=model, **options)), Issued([(model, THOUGHT)]))


@given(st.lists(st.sampled_from(["reasoning", "text", "tool_use"]), max_size=8), st.integers(0, 3))
def test_any_order_of_items_is_sent_back_unchanged(kinds: list[str], changed: int) -> None:
    """And where the text is no longer the original one, the reasoning comes first; it is never last."""
    layout = [
        {**THOUGHT, "id": f"rs_{place}"} if kind == "reasoning" else {"type": kind, "length": 1}
        for place, kind in enumerate(kinds)
    ]
    said = ChatMessage(
        role=Role.ASSISTANT,
        content="x" * kinds.count("text") + ("more" if changed == 1 else ""),
        tool_calls=tuple(tool_call("n", f"c{number}") for number in range(kinds.count("tool_use"))),
        provider_data=ProviderData.pack("Server", "m", {"items": layout}),
    )
    _system, sent = message_conversion.items([USER, said])
    names = {"message": "text", "function_call": "tool_use", "reasoning": "reasoning"}
    found = [names[item["type"]] for item in sent[1:] if item["type"] in names and item.get("role") != "user"]
    if not (said.content.strip() or said.tool_calls):
        assert found == []
        return
    whole = (
        kinds
        if changed != 1
        else [*(kind for kind in kinds if kind == "reasoning"), "text", *["tool_use"] * len(said.tool_calls)]
    )
    while whole[-1] == "reasoning":
        whole = whole[:-1]
    assert found == whole


@pytest.mark.parametrize(
    "kept", [None, 5, [], [None], *([{"type": "text", "length": odd}] for odd in (-1, "x", None, 2.5))]
)
def test_stored_data_of_another_server_does_no_harm(kept: Any) -> None:
    said = ChatMessage(
        role=Role.ASSISTANT, content="a", provider_data=ProviderData.pack("Server", "m", {"items": kept})
    )
    _system, sent = message_conversion.items([USER, said, USER])
    assert sent[1] == {"type": "message", "role": "assistant", "content": "a"}


def test_outputs_follow_their_calls_and_ids_are_unique() -> None:
    picture = ImagePart(media_type="image/png", data="aGk=")
    seen = result("c").model_copy(update={"images": (picture,)})
    both = ChatMessage(
        role=Role.ASSISTANT,
        content="let me",
        tool_calls=(tool_call("a b"), tool_call("b", "odd id!")),
    )
    system, sent = message_conversion.items(
        [ChatMessage(role=Role.SYSTEM, content="s"), USER, both, result("odd id!", content="no"), seen,
        called("c", expression="1"),
         result("c")]
    )  # fmt: skip
    kinds = [
        "message",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
    ]
    assert (system, [item["type"] for item in sent]) == ("s", [*kinds, "function_call", "function_call_output"])
    first, second, third = (item for item in sent if item["type"] == "function_call")
    assert (first["name"], first["arguments"], third["arguments"]) == ("a_b", "{}", '{"expression": "1"}')
    assert [(item["call_id"], item["output"]) for item in sent if item["type"] == "function_call_output"] == [
        (first["call_id"], "2"), (second["call_id"], "no"), (third["call_id"], "2")
    ]  # fmt: skip
    assert len({first["call_id"], second["call_id"], third["call_id"]}) == 3
    assert sent[6]["content"][1] == {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
