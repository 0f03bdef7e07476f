"""Requests the Responses API refuses, with its messages, from its documentation and user reports.

Stricter than the real one: outputs follow their calls at once, no text is empty, nothing may be stored, and
the reasoning of replies with calls is complete and in place, which the real one requires where call ids are
sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Those of the official client (3.54). The client is not imported: that takes seconds.
FIELDS = frozenset(
    {
        "access_programs",
        "background",
        "background_options",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
    }
    | {"instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls"}
    | {
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
    }
    | {
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
    }
    | {"top_logprobs", "top_p", "truncation", "user"}
)
REASONING = frozenset({"context", "effort", "generate_summary", "mode", "summary"})
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Refused(Exception):
    """Answers the request with 400 and this message; ``field`` is the invalid field."""

    def __init__(self, message: str, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.field, self.code = field, code


class Limits(NamedTuple):
    """Efforts that a model accepts (none if it does not reason), and temperature."""

    efforts: tuple[str, ...] = ()
    temperature: bool = False


_MODELS = (
    (r"gpt-[34]|gpt-5-chat", Limits(temperature=True)),
    (r"gpt-5-pro", Limits(("high",))),
    (r"gpt-5-codex|o\d", Limits(("low", "medium", "high"))),
    (r"gpt-5(-|$)", Limits(("minimal", "low", "medium", "high"))),
    (r"gpt-5", Limits(("none", "low", "medium", "high", "xhigh"))),
    (r"", Limits(("low", "medium", "high"), temperature=True)),
)


def limits_of(model: str) -> Limits:
    return next(limits for pattern, limits in _MODELS if re.match(pattern, model))


@dataclass
class Issued:
    """Data sent with replies: reasoning by model, phases of texts, order of replies with calls."""

    reasoning: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    phases: dict[str, str] = field(default_factory=dict)
    replies: dict[tuple[str, tuple[str, ...]], list[Any]] = field(default_factory=dict)

    def note(self, model: str, output: list[dict[str, Any]]) -> None:
        ids = tuple(item["call_id"] for item in output if item["type"] == "function_call")
        if ids:
            self.replies[model, ids] = _order(output)


def check(body: dict[str, Any], issued: Issued) -> None:
    """Raise ``Refused`` for an invalid request."""
    for name in sorted(set(body) - FIELDS):
        raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    for name in ("model", "input"):
        if not body.get(name):
            raise Refused(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
    if body.get("store") is not False:
        raise Refused("This organization has zero data retention: 'store' must be false.", "store")
    limits = limits_of(body["model"])
    _numbers(body, limits)
    _reasoning(body, limits)
    _tools(body.get("tools", []))
    _format(body.get("text", {}).get("format", {}))
    _items(body["input"])
    _thoughts(body["model"], body["input"], issued)


def _numbers(body: dict[str, Any], limits: Limits) -> None:
    most = body.get("max_output_tokens", 16)
    if most < 16:
        reason = f"integer below minimum value. Expected a value >= 16, but got {most} instead."
        raise Refused(f"Invalid 'max_output_tokens': {reason}", "max_output_tokens", "integer_below_min_value")
    if "temperature" in body and not limits.temperature:
        raise Refused("Unsupported parameter: 'temperature' is not supported with this model.", "temperature")
    if not 0 <= body.get("temperature", 1) <= 2:
        raise Refused("Invalid 'temperature': decimal above maximum value. Expected a value <= 2.", "temperature")
    if len(body.get("prompt_cache_key", "")) > 64:
        raise Refused(
            "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64.", "prompt_cache_key"
        )


def _reasoning(body: dict[str, Any], limits: Limits) -> None:
    reasoning = body.get("reasoning", {})
    for name in sorted(set(reasoning) - REASONING):
        raise Refused(f"Unknown parameter: 'reasoning.{name}'.", f"reasoning.{name}")
    for name in sorted(reasoning):
        if not limits.efforts:
            raise Refused(
                f"Unsupported parameter: 'reasoning.{name}' is not supported with this model.", f"reasoning.{name}"
            )
    effort = reasoning.get("effort")
    if effort is not None and effort not in limits.efforts:
        allowed = ", ".join(f"'{each}'" for each in limits.efforts)
        reason = f"'{effort}' is not supported with the '{body['model']}' model. Supported values are: {allowed}."
        raise Refused(f"Unsupported value: {reason}", "reasoning.effort", "unsupported_value")
    if "reasoning.encrypted_content" in body.get("include", ()) and not limits.efforts:
        raise Refused("Encrypted content is not supported with this model.", "include")


def _tools(tools: list[dict[str, Any]]) -> None:
    for number, tool in enumerate(tools):
        for name in ("type", "name", "parameters", "strict"):
            if name not in tool:
                raise Refused(f"Missing required parameter: 'tools[{number}].{name}'.", f"tools[{number}].{name}")
        if not NAME.fullmatch(tool["name"]):
            reason = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            raise Refused(f"Invalid 'tools[{number}].name': {reason}", f"tools[{number}].name")
        if tool["parameters"].get("type") != "object":
            reason = "schema must be a JSON Schema of 'type: \"object\"'"
            raise Refused(f"Invalid schema for function '{tool['name']}': {reason}", f"tools[{number}].parameters")
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        raise Refused("Tool names must be unique.", "tools")


def _format(form: dict[str, Any]) -> None:
    for schema in _objects(form.get("schema")) if form.get("strict") else ():
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(
            schema.get("properties", {})
        ):
            reason = "'additionalProperties' is required to be supplied and to be false."
            raise Refused(f"Invalid schema for response_format 'reply': {reason}", "text.format.schema")


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from _objects(value)


def _items(items: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    used: set[str] = set()
    for number, item in enumerate(items):
        at, kind = f"input[{number}]", item.get("type", "message")
        if kind == "function_call_output":
            if item["call_id"] not in waiting:
                raise Refused(f"No tool call found for function call output with call_id {item['call_id']}.", "input")
            waiting.remove(item["call_id"])
            continue
        if waiting and not (
            kind == "function_call" or (kind == "reasoning" and items[number - 1]["type"] == "function_call")
        ):
            raise Refused(f"No tool output found for function call {waiting[0]}.", "input")
        if kind == "message":
            _message(at, item)
        elif kind == "function_call":
            _call(at, item)
            if item["call_id"] in used:
                raise Refused(f"Duplicate call_id {item['call_id']}.", at)
            used.add(item["call_id"])
            waiting.append(item["call_id"])
        elif kind != "reasoning":
            raise Refused(f"Invalid value: '{kind}'.", f"{at}.type", "invalid_value")
    if waiting:
        raise Refused(f"No tool output found for function call {waiting[0]}.", "input")
    if items[0].get("role") != "user" or items[-1].get("role") == "assistant":
        raise Refused("The first item must be the user's, the last the user's or an output.", "input")


def _message(at: str, item: dict[str, Any]) -> None:
    if item["role"] == "assistant":
        if not isinstance(item["content"], str) or not item["content"].strip():
            raise Refused(f"Invalid '{at}.content': empty string.", f"{at}.content")
        return
    if item["role"] != "user":
        raise Refused(f"Invalid value: '{item['role']}'.", f"{at}.role", "invalid_value")
    parts = [{"type": "input_text", "text": item["content"]}] if isinstance(item["content"], str) else item["content"]
    if not parts:
        raise Refused(f"Invalid '{at}.content': empty array.", f"{at}.content", "empty_array")
    for place, part in enumerate(parts):
        if part["type"] not in ("input_text", "input_image"):
            reason = (
                f"Invalid value: '{part['type']}'. Supported values are: 'input_text', 'input_image' and 'input_file'."
            )
            raise Refused(reason, f"{at}.content[{place}]", "invalid_value")
        if part["type"] == "input_text" and not part["text"].strip():
            raise Refused(f"Invalid '{at}.content[{place}].text': empty string.", f"{at}.content[{place}].text")
        if part["type"] == "input_image" and not part["image_url"].startswith("data:image/"):
            raise Refused(
                f"Invalid '{at}.content[{place}].image_url'.", f"{at}.content[{place}].image_url", "invalid_value"
            )


def _call(at: str, item: dict[str, Any]) -> None:
    if "id" in item:
        raise Refused(
            f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false.", "input"
        )
    if not 0 < len(item["call_id"]) <= 64:
        reason = "string too long. Expected a string with maximum length 64."
        raise Refused(f"Invalid '{at}.call_id': {reason}", f"{at}.call_id", "string_above_max_length")
    if not NAME.fullmatch(item["name"]):
        raise Refused(f"Invalid '{at}.name': string does not match pattern.", f"{at}.name", "invalid_value")
    json.loads(item["arguments"])


def _thoughts(model: str, items: list[dict[str, Any]], issued: Issued) -> None:
    for number, item in enumerate(items):
        if item.get("type") != "reasoning":
            phase = issued.phases.get(item["content"]) if item.get("role") == "assistant" else None
            if phase is not None and item.get("phase") != phase:
                raise Refused(f"Item {number} of type 'message' was provided without its required 'phase'.", "input")
            continue
        if not item.get("encrypted_content"):
            reason = (
                "not found. Items are not persisted when `store` is set to false. Try again with `store` set to "
                "true, or remove this item"
            )
            raise Refused(f"Item with id '{item['id']}' {reason} from your input.", "input")
        if (model, item) not in issued.reasoning:
            reason = (
                f"The encrypted content {item['encrypted_content']} could not be verified. Reason: Encrypted content "
                f"could not be decrypted"
            )
            raise Refused(f"{reason} or parsed.", None, "invalid_encrypted_content")
        after = items[number + 1] if number + 1 < len(items) else {}
        if after.get("type") not in ("reasoning", "function_call") and after.get("role") != "assistant":
            raise Refused(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.", "input"
            )
    for reply in _replies(items):
        ids = tuple(item["call_id"] for item in reply if item["type"] == "function_call")
        sent = issued.replies.get((model, ids))
        if sent is not None and sent != _order(reply):
            reason = (
                f"Item 'fc_1' of type 'function_call' with call_id '{ids[0]}' was provided without its required "
                f"'reasoning' item."
            )
            raise Refused(reason, "input")


def _replies(items: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The model's replies: items between those of the user and outputs."""
    reply: list[dict[str, Any]] = []
    for item in [*items, {"role": "user"}]:
        if item.get("role") == "user" or item.get("type") == "function_call_output":
            if reply:
                yield reply
            reply = []
        else:
            reply.append(item)


def _order(items: list[dict[str, Any]]) -> list[Any]:
    return [item["encrypted_content"] if item["type"] == "reasoning" else item["type"] for item in items]
