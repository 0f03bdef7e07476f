"""Answers from tool results by template in the user's language. A model this small misstates even correct results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from atelier_desk.domain.model_messages import ChatMessage, ToolCall
from atelier_desk.llm.guided.actions import ADD, ASK, CALCULATE, DONE, LIST, RECALL, REMEMBER, Action
from atelier_desk.llm.guided.language_data import Language

_SHOWN = 10
"""Maximum tasks or memories listed in an answer; the panes show the rest."""
_RECALLED = 3
_ENOUGH = 0.5


def answer(call: ToolCall, result: ChatMessage, language: Language, action: Action | None) -> str:
    """Return sentences for the result of a call made by ``action``; for other calls (None), the plain result."""
    data = parse(result.content)
    if action is ASK:
        return _asked(call, data, language)
    if not data.get("success", result.success is not False):
        return language.text("error", error=data.get("error") or result.content)
    if action is CALCULATE:
        expression = str(data.get("expression", call.arguments.get("expression", "")))
        return language.text(
            "calculate", expression=spoken(expression, language), result=number(data.get("result"), language)
        )
    if action is ADD:
        return language.text("add", text=call.arguments.get("name", ""))
    if action is DONE:
        task = data.get("task")
        return language.text("done", text=task.get("name", "") if isinstance(task, dict) else "")
    if action is REMEMBER:
        return language.text("remember", text=call.arguments.get("content", ""))
    if action is LIST:
        return _listed("list", [_task(task, language) for task in _objects(data, "tasks")], language)
    if action is RECALL:
        found = _objects(data, "results", "memories", "hits")
        return _listed("recall", [_content(memory) for memory in found[:_RECALLED]], language)
    return str(data.get("message") or result.content)


def parse(content: str) -> dict[str, object]:
    """Return a result's JSON object; other text becomes an object with ``message``."""
    try:
        data = json.loads(content)
    except ValueError:
        return {"message": content}
    return data if isinstance(data, dict) else {"message": content}


def chosen(call: ToolCall, data: dict[str, Any]) -> list[str]:
    """Return the labels of the chosen options; an id without a label stands for itself."""
    labels = {}
    for option in call.arguments.get("options") or []:
        if isinstance(option, dict):
            labels[str(option.get("id"))] = str(option.get("label"))
    selected = data.get("selectedOptions") or []
    return [labels.get(str(option), str(option)) for option in selected]


def number(value: object, language: Language) -> str:
    """Format a number for the language: with its decimal sign, without ``.0`` and binary rounding noise."""
    if isinstance(value, float):
        value = float(f"{value:.12g}")
        text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    else:
        text = str(value)
    return text.replace(".", language.text("decimal"))


def spoken(expression: str, language: Language) -> str:
    """Return an expression with typographic signs."""
    text = expression.replace("**", "^").replace("*", " × ").replace("/", " ÷ ")
    text = " ".join(text.split())
    return text.replace(".", language.text("decimal"))


def open_task(data: dict[str, object], wanted: str) -> str | None:
    """Return the id of the open task that shares most words with ``wanted``, None if none shares half of the shorter's
    words.

    Words match by their first three to five letters (``buy``, ``buying``).
    """
    said = _words(wanted)
    best, found = 0.0, None
    for task in _objects(data, "tasks"):
        name = _words(str(task.get("name")))
        if task.get("status") == "completed" or not name or not said:
            continue
        share = sum(any(_same_stem(word, other) for other in said) for word in name) / min(len(name), len(said))
        if share > best:
            best, found = share, str(task.get("id"))
    return found if best >= _ENOUGH else None


def _words(text: str) -> list[str]:
    return re.findall(r"\w{3,}", text.casefold())


def _same_stem(first: str, second: str) -> bool:
    size = min(len(first), len(second), 5)
    return first[:size] == second[:size]


def _asked(call: ToolCall, data: dict[str, object], language: Language) -> str:
    if not data.get("success"):
        return (
            language.text("skipped")
            if data.get("code") in ("skipped", None)
            else language.text("error", error=data.get("error", ""))
        )
    parts = chosen(call, data)
    if text := data.get("textResponse") or data.get("response"):
        parts.append(str(text))
    return language.text("ask", answer=", ".join(parts))


def _listed(name: str, items: Iterable[str], language: Language) -> str:
    lines = [f"- {item}" for item in items if item]
    if not lines:
        return language.text(f"{name}_empty")
    more = [f"- … (+{len(lines) - _SHOWN})"] if len(lines) > _SHOWN else []
    return language.text(name, items="\n".join([*lines[:_SHOWN], *more]))


def _objects(data: dict[str, Any], *keys: str) -> list[dict[str, object]]:
    for key in keys:
        if isinstance(data.get(key), list):
            return [item for item in data[key] if isinstance(item, dict)]
    return []


def _task(task: dict[str, object], language: Language) -> str:
    status = language.data["status"].get(str(task.get("status")), str(task.get("status", "")))
    return f"{task.get('name', '')} ({status})"


def _content(memory: dict[str, object]) -> str:
    inner = memory.get("memory")
    source = inner if isinstance(inner, dict) else memory
    return str(source.get("content", ""))
