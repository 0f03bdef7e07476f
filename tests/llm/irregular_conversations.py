"""Conversations in every order that compaction, interrupted runs, injected notes and other models produce; a
provider must bring them into a form its server accepts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from atelier_desk.domain.model_messages import ChatMessage, ImagePart, Role, ToolCall
from atelier_desk.domain.opaque_provider_data import ProviderData
from tests.helpers.tool_calls import tool_call
from tests.llm.provider_requests import called, result

KINDS = ("system", "user", "assistant", "thought", "call", "two calls", "result", "other result", "image", "odd call")
ANY = st.lists(st.sampled_from(KINDS), max_size=10)


def conversation(kinds: Sequence[str], model: str, thought: dict[str, Any]) -> list[ChatMessage]:
    """Messages of these kinds; ``thought`` is the data that the server of ``model`` needs back with its thinking
    messages.
    """
    data = ProviderData.pack("Server", model, thought)
    made = {
        "system": ChatMessage(role=Role.SYSTEM, content="s"),
        "user": ChatMessage(role=Role.USER, content="u"),
        "assistant": ChatMessage(role=Role.ASSISTANT, content="a"),
        "thought": ChatMessage(role=Role.ASSISTANT, content="a", provider_data=data),
        "call": called("call_1", expression="1"),
        "two calls": ChatMessage(role=Role.ASSISTANT, tool_calls=(tool_call("a", "call_1"), tool_call("b", "9"))),
        "result": result("call_1"),
        "other result": result("9"),
        "image": ChatMessage(role=Role.USER, images=(ImagePart(media_type="image/png", data="aGk="),)),
        "odd call": ChatMessage(
            role=Role.ASSISTANT, tool_calls=(ToolCall(id="?", name="functions.a b", raw="{x", error="bad"),)
        ),
    }
    return [made[kind].model_copy() for kind in kinds]


def _seventy() -> list[tuple[str, ...]]:
    """An empty one, each kind alone, typical remains of runs, and the rest drawn at random with a fixed seed."""
    known = [
        (), *((kind,) for kind in KINDS),
        ("system", "user", "call", "result", "assistant", "user"),
        ("user", "two calls", "result", "other result"),
        ("user", "two calls", "other result", "result", "user"),
        ("user", "two calls", "result", "user"),
        ("user", "call", "user", "result"),
        ("user", "call", "result", "call", "result", "call"),
        ("user", "thought", "thought", "user"),
        ("thought", "call", "result", "thought"),
        ("user", "call", "system", "result"),
        ("user", "odd call", "odd call", "user"),
        ("user", "assistant", "assistant", "image", "image"),
    ]  # fmt: skip
    source = random.Random(70)
    while len(known) < 70:
        drawn = tuple(source.choices(KINDS, k=source.randint(2, 9)))
        if drawn not in known:
            known.append(drawn)
    return known


SHAPES = _seventy()
