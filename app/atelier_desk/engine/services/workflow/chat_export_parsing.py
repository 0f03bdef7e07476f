"""Parse exports of ChatGPT, Claude, Open WebUI and LibreChat. Pure.

An entry's structure tells its program (as in LibreChat's importers). No field is assumed to exist or to have its type:
odd parts are dropped, text of people and models is kept. Attached images and files are named; exports do not contain
their bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from atelier_desk.domain.imported_chat import Chat, ChatMessageNode
from atelier_desk.engine.services.workflow.chat_to_turns import in_order, linked
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.tools.calls.stable_record_ids import stable_id

TEXT_MOST = 1_000_000
"""Maximum characters of a message; more could not be displayed in reasonable time."""
_ID_MOST = 200
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,2000}+\ue201")
"""ChatGPT's citation marks, meaningful only in its own interface. No part of a text is searched from two beginnings."""
_REASONING, _SUMMARY = '<details type="reasoning"', re.compile(r"\s*+<summary>[^<]*+</summary>")
_REASONING_END = re.compile(r"</details>\s*+")
"""Open WebUI's representation of reasoning in a reply."""
_INDENTED_TIMES = 4
_YEARS = (datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
"""Plausible range of chat times."""


def chat_of(entry: object) -> Chat | None:
    """Return the chat of an entry; None if no known program's."""
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("chat_messages"), list):
        return _claude(entry)
    if isinstance(entry.get("mapping"), dict):
        return _chatgpt(entry)
    inner = entry.get("chat")
    if isinstance(inner, dict) and (isinstance(inner.get("history"), dict) or isinstance(inner.get("messages"), list)):
        return _open_webui(entry, inner)
    if "conversationId" in entry and (
        isinstance(entry.get("messages"), list) or isinstance(entry.get("messagesTree"), list)
    ):
        return _librechat(entry)
    return None


def _chat(source: str, id: object, title: object, nodes: Iterable[ChatMessageNode], current: str) -> Chat:
    ordered = in_order(nodes)
    own = _text(id)[:_ID_MOST]
    if not own:
        # An export without ids: a chat is identified by its beginning.
        first = ordered[0] if ordered else None
        begins = f"{_text(title)}\x00{first.text if first else ''}\x00{first.time if first else ''}"
        own = stable_id(begins.encode("utf-8", "backslashreplace").decode(), source)
    name = " ".join(_text(title).split())
    if not name and ordered:
        name = " ".join(ordered[0].text[:400].split())
    return Chat(source, own, name, ordered, current)


def _shown(current: object, parents: Mapping[str, str], messages: Mapping[str, object]) -> str:
    """Return the message that was displayed last, or its nearest ancestor with text; empty if unknown."""
    at = _text(current)
    return at if at in messages else linked({**parents, "": at}, {*messages, ""})[""]


def _chatgpt(entry: dict[str, Any]) -> Chat:
    mapping = {key: each for key, each in entry["mapping"].items() if isinstance(each, dict)}
    parents = {key: _text(each.get("parent")) for key, each in mapping.items()}
    messages = {
        key: made for key, each in mapping.items() if (made := _chatgpt_message(key, each.get("message"))) is not None
    }
    links = linked(parents, messages)
    nodes = [_with_parent(made, links[key]) for key, made in messages.items()]
    current = _shown(entry.get("current_node"), parents, messages)
    return _chat("chatgpt", entry.get("conversation_id") or entry.get("id"), entry.get("title"), nodes, current)


def _chatgpt_message(key: str, message: object) -> ChatMessageNode | None:
    if not isinstance(message, dict):
        return None
    meta, content = _dict(message.get("metadata")), _dict(message.get("content"))
    role = _dict(message.get("author")).get("role")
    kind = content.get("content_type")
    if meta.get("is_visually_hidden_from_conversation") is True or role not in ("user", "assistant", "tool"):
        return None
    text, reasoning = "", ""
    if kind == "thoughts":
        thoughts = [_dict(each) for each in _list(content.get("thoughts"))]
        reasoning = _joined(f"{_text(each.get('summary'))}\n{_text(each.get('content'))}".strip() for each in thoughts)
    elif kind == "code" or (role == "tool" and kind == "execution_output"):
        text = _fenced(_text(content.get("text")), _text(content.get("language")) if kind == "code" else "")
    elif role != "tool" and kind in ("text", "multimodal_text", None):
        text = _joined(map(_chatgpt_part, _list(content.get("parts"))))
        recipient = message.get("recipient")
        if role == "assistant" and isinstance(recipient, str) and recipient != "all":
            text = _fenced(text, "")
    text = _CITATION.sub("", text).strip()
    if not text and not reasoning:
        return None
    who = "user" if role == "user" else "assistant"
    return _node(key, "", who, text, reasoning, meta.get("model_slug"), message.get("create_time"))


def _chatgpt_part(part: object) -> str:
    if isinstance(part, str):
        return part
    part = _dict(part)
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if "image" in _text(part.get("content_type")):
        return "[" + _("Image") + "]"
    return "[" + _("Attachment") + "]" if part else ""


def _claude(entry: dict[str, Any]) -> Chat:
    rows = [each for each in entry["chat_messages"] if isinstance(each, dict)]
    ids = [_text(each.get("uuid")) or f"#{number}" for number, each in enumerate(rows)]
    known = set(ids)
    tree = any(_text(each.get("parent_message_uuid")) in known for each in rows)
    parents = [_text(each.get("parent_message_uuid")) for each in rows] if tree else ["", *ids][: len(ids)]
    nodes = {}
    for row, id, parent in zip(rows, ids, parents, strict=True):
        made = _claude_message(row, id, parent)
        if made is not None:
            nodes[id] = made
    above = dict(zip(ids, parents, strict=True))
    links = linked(above, nodes)
    current = _shown(entry.get("current_leaf_message_uuid"), above, nodes)
    return _chat(
        "claude",
        entry.get("uuid"),
        entry.get("name"),
        [_with_parent(each, links[id]) for id, each in nodes.items()],
        current,
    )


def _claude_message(row: dict[str, object], id: str, parent: str) -> ChatMessageNode | None:
    blocks = [_dict(each) for each in _list(row.get("content"))]
    said = _joined(map(_claude_block, blocks)) or _text(row.get("text"))
    thought = _joined(_text(each.get("thinking")) for each in blocks if each.get("type") == "thinking")
    attached = [_dict(each) for each in _list(row.get("attachments"))]
    named = [_dict(each) for each in _list(row.get("files"))]
    files = [_file(each.get("file_name"), each.get("extracted_content")) for each in attached]
    files += [_file(each.get("file_name"), "") for each in named]
    text = _joined([said, *files])
    who = {"human": "user", "user": "user", "assistant": "assistant"}.get(_text(row.get("sender")))
    if who is None or not (text or thought):
        return None
    return _node(id, parent, who, text, thought, row.get("model"), row.get("created_at"))


def _claude_block(block: dict[str, object]) -> str:
    match block.get("type"):
        case "text":
            return _text(block.get("text"))
        case "tool_use":
            given = _dict(block.get("input"))
            whole = given.get("content") if isinstance(given.get("content"), str) else None
            title = _text(given.get("title")) or _text(block.get("name"))
            return _joined([f"**{title}**" if title else "", _fenced(whole if whole is not None else _json(given), "")])
        case "tool_result":
            found = block.get("content")
            return _fenced(
                found if isinstance(found, str) else _joined(_text(_dict(each).get("text")) for each in _list(found)),
                "",
            )
    return ""


def _open_webui(entry: dict[str, object], chat: dict[str, object]) -> Chat:
    history = _dict(chat.get("history"))
    known = _dict(history.get("messages"))
    if known:
        rows = {key: each for key, each in known.items() if isinstance(each, dict)}
        parents = {key: _text(each.get("parentId")) for key, each in rows.items()}
    else:
        listed = [each for each in _list(chat.get("messages")) if isinstance(each, dict)]
        rows = {_text(each.get("id")) or f"#{number}": each for number, each in enumerate(listed)}
        tree = any(_text(each.get("parentId")) in rows for each in listed)
        before = ["", *rows]
        parents = {
            key: _text(each.get("parentId")) if tree else before[number]
            for number, (key, each) in enumerate(rows.items())
        }
    nodes = {key: made for key, each in rows.items() if (made := _open_webui_message(key, each)) is not None}
    links = linked(parents, nodes)
    title = entry.get("title") or chat.get("title")
    found = [_with_parent(each, links[key]) for key, each in nodes.items()]
    current = _shown(history.get("currentId"), parents, nodes)
    return _chat("openwebui", entry.get("id") or chat.get("id"), title, found, current)


def _open_webui_message(key: str, row: dict[str, object]) -> ChatMessageNode | None:
    who = {"user": "user", "assistant": "assistant"}.get(_text(row.get("role")))
    content = row.get("content")
    text = content if isinstance(content, str) else _joined(_text(_dict(each).get("text")) for each in _list(content))
    text, thoughts = _without_reasoning(text)
    thought = _joined([*thoughts, _text(row.get("reasoning_content"))])
    files = [_dict(each) for each in _list(row.get("files"))]
    text = _joined(
        [
            text,
            *(_file(each.get("name") or _dict(each.get("file")).get("filename"), "") for each in files),
        ]
    )
    if who is None or not (text or thought):
        return None
    return _node(key, "", who, text, thought, row.get("modelName") or row.get("model"), row.get("timestamp"))


def _without_reasoning(text: str) -> tuple[str, list[str]]:
    """Return a reply of Open WebUI without its reasoning, and the reasoning.

    The search never returns to a part that it has passed: one pattern for all would read the rest at each open tag.
    """
    rest: list[str] = []
    thoughts: list[str] = []
    at = 0
    while (begin := text.find(_REASONING, at)) >= 0 and (opened := text.find(">", begin)) >= 0:
        end = _REASONING_END.search(text, opened)
        if end is None:
            break
        thought = text[opened + 1 : end.start()]
        summary = _SUMMARY.match(thought)
        thoughts.append(thought[summary.end() :] if summary else thought)
        rest.append(text[at:begin])
        at = end.end()
    return "".join([*rest, text[at:]]), thoughts


def _librechat(entry: dict[str, object]) -> Chat:
    rows: dict[str, dict[str, object]] = {}
    parents: dict[str, str] = {}
    tree = isinstance(entry.get("messagesTree"), list)
    waiting: list[tuple[object, str]] = [
        (each, "") for each in reversed(_list(entry.get("messagesTree") if tree else entry.get("messages")))
    ]
    while waiting:
        row, above = waiting.pop()
        if not isinstance(row, dict):
            continue
        id = _text(row.get("messageId")) or f"#{len(rows)}"
        if id in rows:
            continue
        rows[id] = row
        parents[id] = _text(row.get("parentMessageId")) or above
        waiting += [(each, id) for each in reversed(_list(row.get("children")))]
    nodes = {id: made for id, row in rows.items() if (made := _librechat_message(id, row)) is not None}
    if not any(each in rows for each in parents.values()):  # an export without branches is a list
        parents = dict(zip(rows, ["", *rows], strict=False))
    links = linked(parents, nodes)
    found = [_with_parent(each, links[id]) for id, each in nodes.items()]
    # An export does not say which branch was displayed.
    return _chat("librechat", entry.get("conversationId"), entry.get("title"), found, "")


def _librechat_message(id: str, row: dict[str, object]) -> ChatMessageNode | None:
    parts = [_dict(each) for each in _list(row.get("content"))]
    said = _joined(_librechat_part(each) for each in parts if each.get("type") != "think") or _text(row.get("text"))
    thought = _joined(_value(each.get("think")) for each in parts if each.get("type") == "think")
    files = [_dict(each) for each in _list(row.get("files"))]
    text = _joined([said, *(_file(each.get("filename"), "") for each in files)])
    if not (text or thought):
        return None
    asked = row.get("isCreatedByUser")
    who = "user" if asked is True or (asked is None and _text(row.get("sender")).lower() == "user") else "assistant"
    return _node(
        id,
        "",
        who,
        text,
        thought,
        row.get("model") or (row.get("sender") if who == "assistant" else ""),
        row.get("createdAt"),
    )


def _librechat_part(part: dict[str, object]) -> str:
    if part.get("type") == "tool_call":
        call = _dict(part.get("tool_call"))
        return _joined(
            [
                f"**{_text(call.get('name'))}**",
                _fenced(_text(call.get("args")), ""),
                _fenced(_text(call.get("output")), ""),
            ]
        )
    return _value(part.get("text"))


def _node(id: str, parent: str, who: str, text: str, reasoning: str, model: object, time: object) -> ChatMessageNode:
    role = "user" if who == "user" else "assistant"
    return ChatMessageNode(id, parent, role, _cut(text), _cut(reasoning), _text(model)[:100], _time(time))  # type: ignore[arg-type]


def _with_parent(node: ChatMessageNode, parent: str) -> ChatMessageNode:
    return ChatMessageNode(node.id, parent, node.role, node.text, node.reasoning, node.model, node.time)


def _cut(text: str) -> str:
    if len(text) <= TEXT_MOST:
        return text
    note = ngettext(
        "[Truncated: {n} more character in the imported file]",
        "[Truncated: {n} more characters in the imported file]",
        len(text) - TEXT_MOST,
    )
    return f"{text[:TEXT_MOST]}\n\n{note}"


def _time(value: object) -> datetime | None:
    """Parse seconds since 1970, or ISO 8601; None for anything else, and for implausible times."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if _YEARS[0] <= found <= _YEARS[1] else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _value(value: object) -> str:
    return _text(value) or _text(_dict(value).get("value"))


def _json(value: object) -> str:
    """Return JSON with line breaks, without them if the indentation of deep values would multiply its size.

    Empty for a value nested deeper than Python writes.
    """
    if not value:
        return ""
    plain = ""
    pieces: list[str] = []
    try:
        plain = json.dumps(value, ensure_ascii=False)
        left = _INDENTED_TIMES * len(plain)
        for piece in json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(value):
            left -= len(piece)
            if left < 0:
                return plain
            pieces.append(piece)
    except RecursionError:
        return plain
    return "".join(pieces)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, (each.strip() for each in parts)))


def _fenced(text: str, language: str) -> str:
    """Return a text as a code block with a long enough fence."""
    if not text.strip():
        return ""
    fence = "`" * max(3, max((len(each[0]) for each in re.finditer("`++", text)), default=0) + 1)
    return f"{fence}{re.sub(r'[^A-Za-z0-9+#-]', '', language[:20])}\n{text}\n{fence}"


def _file(name: object, content: object) -> str:
    shown = " ".join(_text(name).split()) or _("Attachment")
    return _joined([f"[{shown}]", _fenced(_text(content), "")])
