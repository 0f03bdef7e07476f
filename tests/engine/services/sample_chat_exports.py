"""Exports of other programs, as small as their formats allow."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

ROOT = "00000000-0000-0000-0000-000000000000"


def gpt_node(
    id: str, parent: str | None, role: str, text: Any, time: Any = 1_700_000_000.0, **meta: Any
) -> dict[str, Any]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {
        "id": id,
        "author": {"role": role},
        "create_time": time,
        "content": content,
        "metadata": meta,
        "recipient": "all",
    }
    return {"id": id, "message": message, "parent": parent, "children": []}


def gpt_chat(*nodes: dict[str, Any], id: str = "c1", title: str = "Bread", current: str = "") -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {"root": root, **{node["id"]: node for node in nodes}}
    return {
        "conversation_id": id,
        "title": title,
        "create_time": 1.7e9,
        "mapping": mapping,
        "current_node": current or nodes[-1]["id"],
    }


def bread(*more: dict[str, Any], current: str = "") -> dict[str, Any]:
    """A question with two answers, the first of which was followed up; then the question was edited."""
    return gpt_chat(
        gpt_node("s", "root", "system", "You are ChatGPT"),
        gpt_node("u1", "s", "user", "How long does bread bake?", 1_700_000_000.5),
        gpt_node(
            "a1", "u1", "assistant", "Forty minutes. \ue200cite\ue202turn0\ue201", 1_700_000_010, model_slug="gpt-5"
        ),
        gpt_node("a2", "u1", "assistant", "An hour.", 1_700_000_020, model_slug="gpt-5"),
        gpt_node("u2", "a1", "user", "At what heat?", 1_600_000_000),
        gpt_node(
            "t",
            "u2",
            "assistant",
            {"content_type": "thoughts", "thoughts": [{"summary": "Heat", "content": "230 degrees?"}]},
        ),
        gpt_node("x", "t", "tool", "a result nobody sees"),
        gpt_node("a3", "x", "assistant", "At 230 °C."),
        *more,
        current=current or "a3",
    )


def claude() -> dict[str, Any]:
    def row(id: str, parent: str, sender: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
        time = "2025-03-01T10:00:00.5Z"
        said = {"uuid": id, "sender": sender, "text": "", "content": list(content), "created_at": time}
        return {**said, "parent_message_uuid": parent, "attachments": [], "files": [], **more}

    letter = [{"file_name": "letter.txt", "extracted_content": "Dear Sir"}]
    return {
        "uuid": "cl1",
        "name": "Letter",
        "created_at": "2025-03-01T10:00:00Z",
        "updated_at": "2025-03-01T10:00:00Z",
        "chat_messages": [
            row("h1", ROOT, "human", {"type": "text", "text": "Mend this letter"}, attachments=letter),
            row(
                "b1",
                "h1",
                "assistant",
                {"type": "thinking", "thinking": "Politely."},
                {"type": "text", "text": "Dear Madam"},
            ),
            row(
                "b2",
                "h1",
                "assistant",
                {"type": "tool_use", "name": "artifacts", "input": {"title": "New", "content": "Hello"}},
            ),
        ],
    }


def open_webui() -> dict[str, Any]:
    thought = '<details type="reasoning" done="true" duration="2">\n<summary>Thought</summary>\nHm.\n</details>\nBlue.'
    messages = {
        "m1": {"id": "m1", "parentId": None, "role": "user", "content": "A colour?", "timestamp": 1_720_000_000},
        "m2": {
            "id": "m2",
            "parentId": "m1",
            "role": "assistant",
            "content": thought,
            "model": "qwen3",
            "timestamp": 1_720_000_005,
        },
        "m3": {
            "id": "m3",
            "parentId": "m1",
            "role": "assistant",
            "content": "Red.",
            "model": "gemma3",
            "timestamp": 1_720_000_005,
        },
    }
    chat = {"title": "Colours", "history": {"messages": messages, "currentId": "m2"}, "messages": []}
    return {"id": "w1", "title": "Colours", "chat": chat, "updated_at": 1_720_000_009}


def librechat() -> dict[str, Any]:
    answer = {
        "messageId": "l2",
        "sender": "Mistral",
        "isCreatedByUser": False,
        "content": [{"type": "text", "text": {"value": "Paris."}}],
    }
    again = {
        "messageId": "l3",
        "sender": "Mistral",
        "isCreatedByUser": False,
        "text": "Paris, of course.",
        "children": [],
    }
    asked = {
        "messageId": "l1",
        "sender": "User",
        "isCreatedByUser": True,
        "text": "Capital of France?",
        "createdAt": "2025-05-05T05:05:05Z",
    }
    tree = [{**asked, "parentMessageId": ROOT, "children": [{**answer, "children": []}, again]}]
    return {"conversationId": "lc1", "title": "France", "branches": True, "recursive": True, "messagesTree": tree}


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def zipped(path: Path, files: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return path
