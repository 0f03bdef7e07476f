"""Conversations as turns and blocks: whatever their order, the server's rules are met."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.anthropic import message_conversion
from atelier_desk.llm.anthropic.provider import AnthropicProvider
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.anthropic_rules import Issued, check
from tests.helpers.tool_calls import tool_call
from tests.llm.irregular_conversations import ANY, conversation
from tests.llm.provider_requests import ADD, ask, called, provider, result

CLAUDE: Any = provider("anthropic", "http://127.0.0.1:9", ManualClock())
THOUGHT = {"type": "thinking", "thinking": "because", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "EmwK"}
MODELS = (
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-sonnet-4-6",
    "claude-opus-4-5",
    "claude-haiku-4-5",
    "claude-3-haiku-20240307",
    "other",
)


def body_of(request: ChatRequest) -> dict[str, Any]:
    body = AnthropicProvider.payload(CLAUDE, request, frozenset())
    assert json.loads(json.dumps(body)) == body
    return body


@given(
    ANY,
    st.sampled_from(MODELS),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["low", "high", None]),
    st.integers(200, 9000),
)
def test_every_conversation_meets_the_rules(
    kinds: list[str], model: str, tools: bool, thinking: bool, effort: Any, max_tokens: int
) -> None:
    issued = Issued(thoughts=[(model, THOUGHT), (model, HIDDEN)])
    messages = conversation(kinds, model, {"blocks": [THOUGHT, HIDDEN, {"type": "text", "length": 1}]})
    options = {
        "tools": (ADD,) if tools else (),
        "enable_thinking": thinking,
        "effort": effort,
        "max_tokens": max_tokens,
        "stop": (" ", "END"),
    }
    check(body_of(ask(*messages, model=model, **options)), issued)


BLOCK = st.sampled_from(["thinking", "redacted_thinking", "text", "tool_use"])


@given(st.lists(BLOCK, max_size=8), st.text(max_size=12), st.integers(0, 3), st.integers(0, 4))
def test_any_order_of_blocks_is_sent_back_unchanged(kinds: list[str], text: str, calls: int, changed: int) -> None:
    """And where text or calls are no longer the original ones, the thinking comes first."""
    texts = [f"{text}{number}" for number in range(kinds.count("text"))]
    waiting = iter(texts)
    layout = [
        {**THOUGHT, "thinking": str(place)} if kind == "thinking" else {**HIDDEN,
        "data": str(place)} if kind == "redacted_thinking"
        else {"type": "text", "length": len(next(waiting))} if kind == "text" else {"type": kind}
        for place, kind in enumerate(kinds)
    ]  # fmt: skip
    made = kinds.count("tool_use") + (calls if changed == 0 else 0)
    said = ChatMessage(
        role=Role.ASSISTANT,
        content="".join(texts) + ("more" if changed == 1 else ""),
        tool_calls=tuple(tool_call("n", f"c{number}") for number in range(made)),
        provider_data=ProviderData.pack("Server", "m", {"blocks": layout}),
    )
    _system, sent = message_conversion.turns([ChatMessage(role=Role.USER, content="u"), said])
    contents = [turn["content"] for turn in sent if turn["role"] == "assistant"]
    blocks = contents[0] if contents else []
    thoughts = [block for block in layout if block["type"] in message_conversion.THOUGHTS]
    if not (said.content.strip() or made):
        assert blocks == [], "a reply that says nothing is not sent, and so are its thoughts"
        return
    assert [block for block in blocks if block["type"] in message_conversion.THOUGHTS] == thoughts
    assert [block["id"] for block in blocks if block["type"] == "tool_use"] == [call.id for call in said.tool_calls]
    assert "".join(block["text"] for block in blocks if block["type"] == "text").strip() == said.content.strip()
    same = not (changed == 0 and calls) and changed != 1
    if same and thoughts:
        shown = [kind for kind in kinds if kind != "text"]
        assert [block["type"] for block in blocks if block["type"] != "text"] == shown
    elif thoughts:
        assert blocks[: len(thoughts)] == thoughts


@pytest.mark.parametrize(
    "kept", [None, 5, [], [None], *([{"type": "text", "length": odd}, THOUGHT] for odd in (-1, "x", None, 2.5))]
)
def test_stored_data_of_another_server_does_no_harm(kept: Any) -> None:
    said = ChatMessage(
        role=Role.ASSISTANT, content="a", provider_data=ProviderData.pack("Server", "m", {"blocks": kept})
    )
    _system, sent = message_conversion.turns(
        [ChatMessage(role=Role.USER, content="u"), said, ChatMessage(role=Role.USER, content="v")]
    )
    assert sent[1]["content"][-1] == {"type": "text", "text": "a"}


def test_results_come_first_and_ids_are_unique() -> None:
    picture = ImagePart(media_type="image/png", data="aGk=")
    seen = result("call_1").model_copy(update={"images": (picture,)})
    failed = result("odd id!", content="no").model_copy(update={"success": False})
    both = ChatMessage(
        role=Role.ASSISTANT,
        content="let me",
        tool_calls=(tool_call("a", "call_1"), tool_call("b", "odd id!")),
    )
    system, sent = message_conversion.turns(
        [ChatMessage(role=Role.SYSTEM, content="s"), ChatMessage(role=Role.USER, content="u"), both, failed, seen,
         ChatMessage(role=Role.USER, content="and?"), called("call_1"), result("call_1")]
    )  # fmt: skip
    assert (system, [turn["role"] for turn in sent]) == ("s", ["user", "assistant", "user", "assistant", "user"])
    first, second = (block["id"] for block in sent[1]["content"][1:])
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "tool_result", "text", "image"]
    assert sent[2]["content"][:2] == [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "2"},
        {"type": "tool_result", "tool_use_id": second, "content": "no", "is_error": True},
    ]
    assert sent[2]["content"][3]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert len({first, second, sent[3]["content"][0]["id"]}) == 3
    assert sent[4]["content"][0]["tool_use_id"] == sent[3]["content"][0]["id"]


def test_a_conversation_with_calls_declares_their_tools_when_none_is_offered() -> None:
    body = body_of(ask("u", called("c", expression="1"), result("c"), model="claude-sonnet-5"))
    assert (body["tools"][0]["name"], body["tool_choice"]) == ("CalculatorTool", {"type": "none"})
    assert "tool_choice" not in body_of(ask("u", called("c"), result("c"), tools=(ADD,)))
    assert "tools" not in body_of(ask("u"))


def test_cache_markers() -> None:
    def marked(*messages: ChatMessage | str, **fields: Any) -> tuple[bool, bool, list[int]]:
        body = body_of(ask(ChatMessage(role=Role.SYSTEM, content="s"), *messages, **fields))
        in_turns = [place for place, turn in enumerate(body["messages"]) if "cache_control" in turn["content"][-1]]
        inner = itertools.chain.from_iterable(turn["content"][:-1] for turn in body["messages"])
        assert not any("cache_control" in block for block in inner)
        return (
            any("cache_control" in tool for tool in body.get("tools", ())),
            "cache_control" in body["system"][0],
            in_turns,
        )

    history = (
        "u",
        called("1"),
        result("1"),
        called("2"),
        result("2"),
        ChatMessage(role=Role.ASSISTANT, content="a"),
        "v",
    )
    assert marked(*history, tools=(ADD,)) == (True, True, [4, 6])
    assert marked(*history[:3], tools=(ADD,)) == (True, True, [0, 2])
    assert marked("u", tools=(ADD,)) == (True, True, [0])
    assert marked("u") == (False, True, []), "a question that is asked once is not kept"
