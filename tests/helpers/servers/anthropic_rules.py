"""Requests the Messages API refuses, with its messages, from its documentation and user reports.

Stricter than the real one: turns must alternate (it merges them), results must come first, ids are unique.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Those of the official client (2.12), and of older models. The client is not imported: that takes seconds.
FIELDS = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "stop_sequences",
        "stream",
    }
    | {
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "metadata",
        "service_tier",
        "speed",
        "user_profile_id",
        "workspace_id",
    }
    | {"temperature", "top_p", "top_k"}
)
SAMPLING = frozenset({"temperature", "top_p", "top_k"})
"""Removed in version 2026-10-21, which the official client uses."""
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
THOUGHTS = ("thinking", "redacted_thinking")
MOST_MARKS = 4


class Refused(Exception):
    """Answers the request with 400 and this message."""


class Limits(NamedTuple):
    """What a model accepts: thinking, effort, temperature; context size, and longest reply."""

    thinking: frozenset[str]
    effort: bool = True
    temperature: bool = True
    window: int = 200_000
    longest: int = 64_000


_MODELS = (
    ("claude-3-haiku", Limits(frozenset({"disabled"}), effort=False, longest=4_096)),
    ("claude-(sonnet-4-5|haiku-4-5)", Limits(frozenset({"enabled", "disabled"}), effort=False)),
    ("claude-opus-4-5", Limits(frozenset({"enabled", "disabled"}))),
    ("claude-sonnet-4-6", Limits(frozenset({"adaptive", "enabled", "disabled"}), window=1_000_000)),
    ("claude-fable", Limits(frozenset({"adaptive"}), temperature=False, window=1_000_000, longest=128_000)),
    ("claude", Limits(frozenset({"adaptive", "disabled"}), temperature=False, window=1_000_000, longest=128_000)),
    ("", Limits(frozenset({"adaptive", "enabled", "disabled"}))),
)


def limits_of(model: str) -> Limits:
    return next(limits for pattern, limits in _MODELS if re.match(pattern, model))


@dataclass
class Issued:
    """Data sent with replies: thoughts by model, and complete replies with calls by model and call ids."""

    thoughts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    replies: dict[tuple[str, tuple[str, ...]], list[dict[str, Any]]] = field(default_factory=dict)

    def note(self, model: str, content: list[dict[str, Any]]) -> None:
        ids = tuple(sorted(block["id"] for block in content if block["type"] == "tool_use"))
        if ids:
            self.replies[model, ids] = content


def check(body: dict[str, Any], issued: Issued, version: str = "2023-06-01") -> None:
    """Raise ``Refused`` for an invalid request."""
    for name in sorted(set(body) - (FIELDS if version == "2023-06-01" else FIELDS - SAMPLING)):
        raise Refused(f"{name}: Extra inputs are not permitted")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise Refused(f"{name}: Field required")
    limits = limits_of(body["model"])
    _numbers(body, limits)
    _tools(body)
    _turns(body["messages"])
    _thinking(body, limits)
    _thoughts(body, issued)
    _marks(body)


def _numbers(body: dict[str, Any], limits: Limits) -> None:
    most, temperature = body["max_tokens"], body.get("temperature")
    if most > limits.longest:
        raise Refused(
            f"max_tokens: {most} > {limits.longest}, which is the maximum allowed number of output tokens for "
            f"{body['model']}"
        )
    if most < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    if temperature is not None and not limits.temperature:
        raise Refused("`temperature` is deprecated for this model.")
    if temperature is not None and not 0 <= temperature <= 1:
        raise Refused("temperature: range: 0..1")
    if any(not text.strip() for text in body.get("stop_sequences", ())):
        raise Refused("stop_sequences: each stop sequence must contain non-whitespace")
    config = body.get("output_config", {})
    if config.get("effort") is not None and not limits.effort:
        raise Refused("This model does not support the effort parameter.")
    for schema in _objects(config.get("format", {}).get("schema")):
        if schema.get("additionalProperties") is not False:
            raise Refused(
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from _objects(value)
    for value in schema if isinstance(schema, list) else ():
        yield from _objects(value)


def _tools(body: dict[str, Any]) -> None:
    tools, choice = body.get("tools", []), body.get("tool_choice", {"type": "auto"})
    names = [tool["name"] for tool in tools]
    for number, tool in enumerate(tools):
        if not NAME.fullmatch(tool["name"]):
            raise Refused(f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if tool["input_schema"].get("type") != "object":
            raise Refused(f"tools.{number}.custom.input_schema.type: Field required")
        if {"oneOf", "allOf", "anyOf"} & set(tool["input_schema"]):
            raise Refused(
                f"tools.{number}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the "
                f"top level"
            )
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    if "tool_choice" in body and not tools:
        raise Refused("tool_choice: tool_choice may only be specified while providing tools")
    if not tools and any(
        block["type"] in ("tool_use", "tool_result") for turn in body["messages"] for block in turn["content"]
    ):
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")
    if choice["type"] in ("any", "tool") and body.get("thinking", {}).get("type") in ("enabled", "adaptive"):
        raise Refused("Thinking may not be enabled when tool_choice forces tool use.")


def _turns(turns: list[dict[str, Any]]) -> None:
    if not turns:
        raise Refused("messages: at least one message is required")
    used: set[str] = set()
    open_ids: list[str] = []
    for number, turn in enumerate(turns):
        role = turn["role"]
        if role not in ("user", "assistant"):
            raise Refused(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"')
        if role != ("assistant" if number % 2 else "user"):
            raise Refused('messages: roles must alternate between "user" and "assistant", the first is the user\'s')
        if not turn["content"]:
            raise Refused(f"messages.{number}: all messages must have non-empty content")
        _blocks(number, role, turn["content"])
        results = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
        if extra := [id for id in results if id not in open_ids]:
            raise Refused(
                f"messages.{number}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {extra[0]}."
            )
        if missing := [id for id in open_ids if results.count(id) != 1]:
            raise Refused(
                f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{missing[0]}."
            )
        if [block["type"] for block in turn["content"][: len(results)]] != ["tool_result"] * len(results):
            raise Refused(f"messages.{number}: `tool_result` blocks must come first in the content")
        open_ids = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        if used & set(open_ids) or len(set(open_ids)) < len(open_ids):
            raise Refused(f"messages.{number}.content: `tool_use` ids must be unique")
        used |= set(open_ids)
    if turns[-1]["role"] != "user":
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _blocks(number: int, role: str, blocks: list[dict[str, Any]]) -> None:
    allowed = ("text", "image", "tool_result") if role == "user" else ("text", "tool_use", *THOUGHTS)
    for place, block in enumerate(blocks):
        at = f"messages.{number}.content.{place}"
        if block["type"] not in allowed:
            raise Refused(f"{at}: `{block['type']}` blocks can not be in `{role}` messages")
        if block["type"] == "text" and not block["text"].strip():
            raise Refused("messages: text content blocks must contain non-whitespace text")
        if block["type"] == "tool_use" and not (
            ID.fullmatch(block["id"]) and NAME.fullmatch(block["name"]) and isinstance(block["input"], dict)
        ):
            raise Refused(f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if block["type"] == "tool_result" and block.get("is_error") and not block["content"]:
            raise Refused(f"{at}: content cannot be empty if `is_error` is true")
        if block["type"] == "image" and set(block["source"]) != {"type", "media_type", "data"}:
            raise Refused(f"{at}.image.source: Field required")
    if role == "assistant" and blocks[-1]["type"] in THOUGHTS:
        raise Refused(f"messages.{number}: The final block in an assistant message cannot be `thinking`.")


def _thinking(body: dict[str, Any], limits: Limits) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking["type"]
    if kind not in limits.thinking:
        if kind == "adaptive":
            raise Refused("adaptive thinking is not supported on this model")
        advice = (
            ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
            if kind == "enabled"
            else ""
        )
        raise Refused(f'"thinking.type.{kind}" is not supported for this model.{advice}')
    budget = thinking.get("budget_tokens")
    if (kind == "enabled") is not (budget is not None):
        raise Refused("thinking.enabled.budget_tokens: Field required")
    if budget is not None and budget < 1024:
        raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget is not None and budget >= body["max_tokens"]:
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if kind != "disabled" and body.get("temperature", 1) != 1:
        raise Refused("`temperature` may only be set to 1 when thinking is enabled.")


def _thoughts(body: dict[str, Any], issued: Issued) -> None:
    """Check thoughts: unchanged, complete and in place within the current turn, which begins with one."""
    model, on = body["model"], body.get("thinking", {}).get("type", "disabled")
    on = "adaptive" if on == "disabled" and "disabled" not in limits_of(model).thinking else on
    running, first = True, None
    for number in range(len(body["messages"]) - 1, -1, -1):
        turn = body["messages"][number]
        content = [
            {field: value for field, value in block.items() if field != "cache_control"} for block in turn["content"]
        ]
        if turn["role"] == "user":
            running = running and content[0]["type"] == "tool_result"
            continue
        for place, block in enumerate(content):
            if block["type"] in THOUGHTS and (model, block) not in issued.thoughts:
                raise Refused(f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block")
        if running:
            first = (number, content)
            ids = tuple(sorted(block["id"] for block in content if block["type"] == "tool_use"))
            sent = issued.replies.get((model, ids))
            if on != "disabled" and sent is not None and _order(sent) != _order(content):
                raise Refused(
                    f"messages.{number}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
                    f"message cannot be "
                    "modified. These blocks must remain as they were in the original response."
                )
    if on == "enabled" and first is not None and first[1][0]["type"] not in THOUGHTS:
        raise Refused(
            f"messages.{first[0]}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first[1][0]['type']}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block."
        )


def _order(content: list[dict[str, Any]]) -> list[Any]:
    return [block if block["type"] in THOUGHTS else block["type"] for block in content]


def _marks(body: dict[str, Any]) -> None:
    blocks = [
        *body.get("tools", ()),
        *body.get("system", ()),
        *(block for turn in body["messages"] for block in turn["content"]),
    ]
    marked = [block for block in blocks if "cache_control" in block]
    if len(marked) > MOST_MARKS:
        raise Refused(f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marked)}.")
    for block in marked:
        if block["cache_control"].get("type") != "ephemeral" or block.get("type") in THOUGHTS:
            raise Refused("cache_control cannot be set for this block")
