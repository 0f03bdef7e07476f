"""Hostile exports are parsed in time proportional to their size, and lose nothing that is meant to be read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.engine.services.workflow.chat_export_parsing import chat_of
from tests.engine.services.sample_chat_exports import gpt_chat, gpt_node

OPEN, CLOSE = '<details type="reasoning">', "</details>"


def _open_webui(text: str) -> dict[str, Any]:
    return {"id": "w", "chat": {"history": {"messages": {"a": {"id": "a", "role": "assistant", "content": text}}}}}


def _chatgpt(text: Any) -> dict[str, Any]:
    return gpt_chat(gpt_node("u", "root", "user", text))


def _long(current: str) -> dict[str, Any]:
    nodes = [gpt_node(f"m{n}", f"m{n - 1}" if n else "root", "user", "x", 1.7e9 + n) for n in range(10_000)]
    return gpt_chat(*nodes, current=current)


HOSTILE: dict[str, Callable[[], Any]] = {
    "reasoning that never ends": lambda: _open_webui(OPEN * 4_000),
    "tags that never end": lambda: _open_webui(OPEN[:-1] * 4_000),
    "summaries that never end": lambda: _open_webui(f"{OPEN}<summary>" * 4_000),
    "blanks before no summary": lambda: _open_webui(f"{OPEN}{' ' * 200_000}" + OPEN * 4_000),
    "ends without beginnings": lambda: _open_webui(f"{CLOSE}{' ' * 100} x" * 4_000),
    "citations that never end": lambda: _chatgpt("\ue200" * 1_000_000),
    "backticks of many lengths": lambda: _chatgpt(
        {"content_type": "code", "text": "".join("`" * n + " " for n in range(1_000))}
    ),
    "a language of a megabyte": lambda: _chatgpt({"content_type": "code", "language": "." * 1_000_000, "text": "x"}),
    "many messages, none of which was displayed": lambda: _long("gone"),
    "many messages, of which one without text was displayed": lambda: _long("root"),
    "many messages after missing ones": lambda: {
        "uuid": "x",
        "chat_messages": [{"sender": "human", "text": "x", "parent_message_uuid": "gone"} for _ in range(10_000)],
    },
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_text_does_not_hold_up_the_window(what: str) -> None:
    entry = HOSTILE[what]()
    began = time.thread_time()
    chat = chat_of(entry)
    assert time.thread_time() - began < 1, "the time is not proportional to the size"
    assert chat is not None
    assert chat.nodes, "what cannot be interpreted is shown as it is"


@pytest.mark.parametrize(
    ("text", "shown", "reasoning"),
    [
        (f"{OPEN}\n<summary>Thought</summary>\nHm.\n{CLOSE}\n\nBlue.", "Blue.", "Hm."),
        (f"Wait. {OPEN}One{CLOSE} {OPEN[:-1]} done='true'>Two{CLOSE}Blue.", "Wait. Blue.", "One\n\nTwo"),
        (f"Blue. {OPEN}{OPEN}Hm.{CLOSE}", "Blue.", f"{OPEN}Hm."),
        (f"Blue. {OPEN}Hm.", f"Blue. {OPEN}Hm.", ""),
        (f"{CLOSE}Blue.", f"{CLOSE}Blue.", ""),
        (f"{OPEN}<summary>Not <b>closed</summary>{CLOSE}Blue.", "Blue.", "<summary>Not <b>closed</summary>"),
    ],
)
def test_reasoning_is_separated_from_the_reply(text: str, shown: str, reasoning: str) -> None:
    chat = chat_of(_open_webui(text))
    assert chat is not None
    assert [(node.text, node.reasoning) for node in chat.nodes] == [(shown, reasoning)]


def test_only_complete_citation_marks_are_removed() -> None:
    chat = chat_of(_chatgpt("\ue200 Rye \ue200cite\ue202turn0\ue201bread"))
    assert chat is not None
    assert [node.text for node in chat.nodes] == ["\ue200 Rye bread"]


def _tool_use(value: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "name": "search", "input": value}
    return {"uuid": "x", "chat_messages": [{"sender": "assistant", "content": [block]}]}


def test_the_input_of_a_tool_is_indented() -> None:
    chat = chat_of(_tool_use({"query": "rye", "sites": ["a", "b"]}))
    assert chat is not None
    assert chat.nodes[0].text == '**search**\n\n```\n{\n "query": "rye",\n "sites": [\n  "a",\n  "b"\n ]\n}\n```'


@pytest.mark.parametrize("depth", [100, 900])
def test_the_indentation_of_a_deep_value_does_not_multiply_its_size(depth: int) -> None:
    text = "[" * depth + "1, " * 1_000 + "1" + "]" * depth
    chat = chat_of(_tool_use({"x": json.loads(text)}))
    assert chat is not None
    assert len(chat.nodes[0].text) < 5 * len(text)


def test_a_value_deeper_than_python_writes_is_left_out() -> None:
    value: list[Any] = []
    for _ in range(2_000):
        value = [value]
    chat = chat_of(_tool_use(value))
    assert chat is not None
    assert "search" in chat.nodes[0].text
