"""Conversations as contents and parts: whatever their order, the server's rules are met."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatMessage, ChatRequest, ImagePart, Role
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.llm.google import message_conversion
from atelier_desk.llm.google.provider import GoogleProvider
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.google_rules import Issued, check
from tests.helpers.tool_calls import tool_call
from tests.llm.irregular_conversations import ANY, conversation
from tests.llm.provider_requests import ADD, ask, called, provider, result

GEMINI: Any = provider("google", "http://127.0.0.1:9", ManualClock())
MODELS = (
    "gemini-3.5-flash",
    "gemini-3-pro-preview",
    "gemini-3.1-pro-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash-lite",
    "other",
)
USER = ChatMessage(role=Role.USER, content="u")


def body_of(request: ChatRequest) -> dict[str, Any]:
    body = GoogleProvider.payload(GEMINI, request, frozenset())
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
    signed = {"text": "", "thought": True}, {"text": ""}
    issued = Issued([(model, "c2ln", "thought"), (model, "c2lm", "text")])
    layout = [
        {"type": "thought", **signed[0], "thoughtSignature": "c2ln"},
        {"type": "text", "length": 1, "thoughtSignature": "c2lm"},
    ]
    messages = conversation(kinds, model, {"parts": layout})
    options = {
        "tools": (ADD,) if tools else (), "enable_thinking": thinking, "effort": effort, "max_tokens": max_tokens,
        "stop": ("", "END"),
    }  # fmt: skip
    check(model, body_of(ask(*messages, model=model, **options)), issued)


@pytest.mark.parametrize(
    "kept", [None, 5, [], [None], *([{"type": "text", "length": odd}] for odd in (-1, "x", None, 2.5))]
)
def test_stored_data_of_another_server_does_no_harm(kept: Any) -> None:
    said = ChatMessage(
        role=Role.ASSISTANT, content="a", provider_data=ProviderData.pack("Server", "m", {"parts": kept})
    )
    _system, sent = message_conversion.contents([USER, said, USER], signed=True)
    assert sent[1]["parts"] == [{"text": "a"}]


def test_a_changed_text_loses_its_signature() -> None:
    layout = [{"type": "text", "length": 5, "thoughtSignature": "c2ln"}]
    said = ChatMessage(
        role=Role.ASSISTANT, content="short", provider_data=ProviderData.pack("Server", "m", {"parts": layout})
    )
    for message, signature in ((said, "c2ln"), (said.model_copy(update={"content": "shorter"}), None)):
        _system, sent = message_conversion.contents([USER, message], signed=True)
        assert sent[1]["parts"][0].get("thoughtSignature") == signature


def test_results_are_separate_and_ids_are_unique() -> None:
    picture, film = ImagePart(media_type="image/png", data="aGk="), ImagePart(media_type="image/gif", data="aGk=")
    seen = result("c").model_copy(update={"images": (picture, film)})
    failed = result("", content="no").model_copy(update={"success": False})
    both = ChatMessage(role=Role.ASSISTANT, content="let me", tool_calls=(tool_call("a b"), tool_call("b", "")))
    system, sent = message_conversion.contents(
        [ChatMessage(role=Role.SYSTEM, content="s"), USER, both, failed, seen,
        ChatMessage(role=Role.USER, content="and?"), called("c"),
         result("c")], signed=False
    )  # fmt: skip
    assert (system, [content["role"] for content in sent]) == ("s", ["user", "model", "user", "user", "model", "user"])
    first, second = (part["functionCall"] for part in sent[1]["parts"][1:])
    assert (first["name"], second["name"]) == ("a_b", "b")
    assert [part["functionResponse"] for part in sent[2]["parts"]] == [
        {"id": "c", "name": "a_b", "response": {"output": "2"}},
        {"id": second["id"], "name": "b", "response": {"error": "no"}}
    ]  # fmt: skip
    assert sent[3]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    assert "image/gif" in sent[3]["parts"][2]["text"], "a picture that the API refuses does not end the conversation"
    assert len({first["id"], second["id"], sent[4]["parts"][0]["functionCall"]["id"]}) == 3
    assert sent[5]["parts"][0]["functionResponse"]["id"] == sent[4]["parts"][0]["functionCall"]["id"]


def test_only_the_current_turn_needs_signatures() -> None:
    first, then = ("u", called("1"), result("1")), ("v", called("2"), result("2"), called("3"), result("3"))
    messages: list[ChatMessage | str] = [*first, ChatMessage(role=Role.ASSISTANT, content="a"), *then]
    body = body_of(ask(*messages, model="gemini-3.5-flash"))
    placed = [
        part.get("thoughtSignature")
        for content in body["contents"]
        for part in content["parts"]
        if "functionCall" in part
    ]
    assert placed == [None, message_conversion.UNSIGNED, message_conversion.UNSIGNED]
    body = body_of(ask(*messages, model="gemini-2.5-flash"))
    assert message_conversion.UNSIGNED not in json.dumps(body)
