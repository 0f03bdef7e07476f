"""Requests the Gemini API refuses, with its messages, from its documentation and user reports.

Stricter than the real one: results are alone in their content, ids and names of calls and results match, the
last content is the user's, and signatures of older turns are checked too.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Those of the official client (3.4). The client is not imported: that takes seconds.
FIELDS = frozenset(
    {"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "generationConfig"}
)
GENERATION = frozenset(
    {
        "temperature",
        "topP",
        "topK",
        "candidateCount",
        "maxOutputTokens",
        "stopSequences",
        "responseLogprobs",
        "logprobs",
        "seed",
    }
    | {
        "presencePenalty",
        "frequencyPenalty",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "responseModalities",
    }
    | {"mediaResolution", "speechConfig", "thinkingConfig"}
)
THINKING = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
PART = frozenset({"text", "thought", "thoughtSignature", "functionCall", "functionResponse", "inlineData"})
DATA = frozenset({"text", "functionCall", "functionResponse", "inlineData"})
DECLARATION = frozenset(
    {"name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"}
)
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
SKIPS = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
    "correctly, and missing "
    "thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}`, "
    "position {place}."
)


class Refused(Exception):
    """Answers the request with 400 and this message."""


class Limits(NamedTuple):
    """What a model accepts: thinking levels or budgets, system prompts, tools; context size, longest reply."""

    levels: frozenset[str] = frozenset()
    budget: tuple[int, int] | None = None
    off: bool = True
    signs: bool = False
    prompts: bool = True
    window: int = 1_048_576
    longest: int = 65_536

    @property
    def thinks(self) -> bool:
        return bool(self.levels) or self.budget is not None


ALL = frozenset({"MINIMAL", "LOW", "MEDIUM", "HIGH"})
_MODELS = (
    ("gemini-2.0", Limits(longest=8_192)),
    ("gemini-2.5-flash-lite", Limits(budget=(512, 24_576))),
    ("gemini-2.5-pro", Limits(budget=(128, 32_768), off=False)),
    ("gemini-2.5", Limits(budget=(1, 24_576))),
    ("gemma-3", Limits(prompts=False, window=131_072, longest=8_192)),
    ("gemini-3-pro", Limits(levels=frozenset({"LOW", "HIGH"}), signs=True)),
    ("gemini-3.1-pro", Limits(levels=ALL - {"MINIMAL"}, signs=True)),
    ("gemini", Limits(levels=ALL, signs=True)),
    ("", Limits(levels=ALL)),
)


def limits_of(model: str) -> Limits:
    return next(limits for start, limits in _MODELS if model.startswith(start))


OPAQUE = frozenset({"args", "response", "parametersJsonSchema", "responseJsonSchema"})


def camel(value: Any) -> Any:
    """A body with camelCase fields; the API accepts ``snake_case`` too."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name): each for name, each in value.items()}
    return {name: each if name in OPAQUE else camel(each) for name, each in named.items()}


@dataclass
class Issued:
    """Signatures sent with replies, with their model and content (without ids)."""

    signatures: list[tuple[str, str, Any]] = field(default_factory=list)

    def sign(self, model: str, part: dict[str, Any]) -> dict[str, Any]:
        """The part with a new signature.

        Only the kind of a text is recorded, because it is sent in pieces.
        """
        signature = base64.b64encode(f"û¿{len(self.signatures)}".encode()).decode()
        self.signatures.append((model, signature, said_by(part)))
        return {**part, "thoughtSignature": signature}


def said_by(part: dict[str, Any]) -> Any:
    call = part.get("functionCall")
    return [call["name"], call.get("args", {})] if call is not None else "thought" if part.get("thought") else "text"


def check(model: str, body: dict[str, Any], issued: Issued, skips: frozenset[str] = SKIPS) -> None:
    """Raise ``Refused`` for an invalid request. ``skips`` are accepted in place of a signature."""
    body = camel(body)
    _known(body, FIELDS, "")
    limits = limits_of(model)
    if not body.get("contents"):
        raise Refused("* GenerateContentRequest.contents: contents is not specified")
    if system := body.get("systemInstruction"):
        if not limits.prompts:
            raise Refused(f"Developer instruction is not enabled for models/{model}")
        if not all(part.get("text", "").strip() for part in system["parts"]):
            raise Refused("* GenerateContentRequest.system_instruction.parts: contents.parts must not be empty.")
    _tools(model, body, limits)
    _generation(body, limits, model)
    contents = _joined(body["contents"])
    _contents(contents)
    _signatures(model, contents, limits, issued, skips)


def _known(fields_sent: dict[str, Any], fields: frozenset[str], place: str) -> None:
    for name in sorted(set(fields_sent) - fields):
        raise Refused(
            f'Invalid JSON payload received. Unknown name "{name}"{f" at {place!r}" if place else ""}: Cannot find '
            f"field."
        )


def _tools(model: str, body: dict[str, Any], limits: Limits) -> None:
    declared = [each for tool in body.get("tools", ()) for each in tool["functionDeclarations"]]
    if body.get("tools") == [] or (body.get("tools") and not declared):
        raise Refused("* GenerateContentRequest.tools[0].function_declarations: must not be empty")
    if declared and not limits.prompts:
        raise Refused(f"Function calling is not enabled for models/{model}")
    for number, each in enumerate(declared):
        _known(each, DECLARATION, f"tools[0].function_declarations[{number}]")
        if not NAME.fullmatch(each["name"]):
            message = "Invalid function name. Must start with a letter or an underscore."
            raise Refused(f"* GenerateContentRequest.tools[0].function_declarations[{number}].name: {message}")
        if each.get("parametersJsonSchema", {"type": "object"}).get("type") != "object":
            raise Refused(f"tools[0].function_declarations[{number}].parameters schema should be of type OBJECT.")
    names = [each["name"] for each in declared]
    if len(set(names)) < len(names):
        raise Refused(f"Duplicate function declaration found: {names[0]}")


def _generation(body: dict[str, Any], limits: Limits, model: str) -> None:
    config = body.get("generationConfig", {})
    _known(config, GENERATION, "generation_config")
    most = config.get("maxOutputTokens", 1)
    if not 1 <= most <= limits.longest:
        raise Refused(
            f"Unable to submit request because it has a maxOutputTokens value of {most} but the supported "
            "range "
            f"is from 1 "
                      f"(inclusive) to {limits.longest + 1} (exclusive). Update the value and try again.")  # fmt: skip
    if not 0 <= config.get("temperature", 1) <= 2:
        raise Refused(
            "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0]."
        )
    stops = config.get("stopSequences", ())
    if len(stops) > 5 or not all(stops):
        raise Refused("* GenerateContentRequest.generation_config.stop_sequences: must be at most 5 and not be empty.")
    if "responseJsonSchema" in config and config.get("responseMimeType") != "application/json":
        raise Refused(
            "* GenerateContentRequest.generation_config.response_json_schema: only allowed with application/json"
        )
    if "responseJsonSchema" in config and not limits.prompts:
        raise Refused(f"JSON mode is not enabled for models/{model}")
    if "responseMimeType" in config and body.get("tools") and not limits.signs:
        raise Refused("Function calling with a response mime type: 'application/json' is unsupported")
    if "thinkingConfig" in config:
        _thinking(config["thinkingConfig"], limits)


def _thinking(config: dict[str, Any], limits: Limits) -> None:
    _known(config, THINKING, "generation_config.thinking_config")
    if not limits.thinks:
        raise Refused("Unable to submit request because Thinking is not supported by this model.")
    level, budget = config.get("thinkingLevel"), config.get("thinkingBudget")
    if level is not None and budget is not None:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if level is not None and not limits.levels:
        raise Refused("Thinking level is not supported for this model.")
    if level is not None and level not in limits.levels:
        raise Refused(
            f"Thinking level {level} is not supported for this model. Please retry with other thinking level."
        )
    if budget == 0 and not limits.off:
        raise Refused("Budget 0 is invalid. This model only works in thinking mode.")
    if budget and limits.budget is not None and not limits.budget[0] <= budget <= limits.budget[1]:
        raise Refused(
            f"The thinking budget {budget} is invalid. Please choose a value between {limits.budget[0]} and "
            f"{limits.budget[1]}."
        )
    if budget == 0 and config.get("includeThoughts"):
        raise Refused("Thinking_config.include_thoughts is only enabled when thinking is enabled.")


def _joined(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge consecutive contents of the model: the official client stores each piece of a stream."""
    out: list[dict[str, Any]] = []
    for content in contents:
        if out and content.get("role") == out[-1].get("role") == "model":
            out[-1] = {**content, "parts": [*out[-1]["parts"], *content["parts"]]}
        else:
            out.append(content)
    return out


def _contents(contents: list[dict[str, Any]]) -> None:
    waiting: list[tuple[str, str]] = []
    used: set[str] = set()
    for number, content in enumerate(contents):
        role, parts = content["role"], content["parts"]
        if role not in ("user", "model"):
            raise Refused("Please use a valid role: user, model.")
        if not parts:
            raise Refused(f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty.")
        _parts(number, role, parts)
        answers = [
            (part["functionResponse"]["id"], part["functionResponse"]["name"])
            for part in parts
            if "functionResponse" in part
        ]
        if answers and len(answers) != len(parts):
            raise Refused("Function response parts must be alone in their content.")
        if len(answers) != len(waiting):
            if not waiting:
                raise Refused("Please ensure that function response turn comes immediately after a function call turn.")
            raise Refused(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function "
                "call turn."
            )
        if sorted(answers) != sorted(waiting):
            raise Refused("Please ensure that ids and names of function responses are those of the function calls.")
        waiting = [
            (part["functionCall"]["id"], part["functionCall"]["name"]) for part in parts if "functionCall" in part
        ]
        ids = {id for id, _name in waiting}
        if len(ids) < len(waiting) or ids & used:
            raise Refused("Please ensure that ids of function calls are used once.")
        used |= ids
        if waiting and (not number or contents[number - 1]["role"] != "user"):
            raise Refused(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
    if contents[0]["role"] != "user" or contents[-1]["role"] != "user":
        raise Refused("Please ensure that multiturn requests begin and end with a user turn.")


def _parts(number: int, role: str, parts: list[dict[str, Any]]) -> None:
    for place, part in enumerate(parts):
        at = f"contents[{number}].parts[{place}]"
        _known(part, PART, at)
        data = set(part) & DATA
        if len(data) != 1 or (part.get("text") == "" and "thoughtSignature" not in part):
            raise Refused(
                f"* GenerateContentRequest.{at}.data: required oneof field 'data' must have one initialized field"
            )
        if ("functionResponse" in part and role != "user") or ("functionCall" in part and role != "model"):
            raise Refused(f"* GenerateContentRequest.{at}: not allowed in role {role}")
        for kind in ("functionCall", "functionResponse"):
            if kind in part and not NAME.fullmatch(part[kind]["name"]):
                raise Refused(f"* GenerateContentRequest.{at}.{kind}.name: Invalid function name.")
        if "inlineData" in part and part["inlineData"]["mimeType"] not in PICTURES:
            raise Refused(f"Unsupported MIME type: {part['inlineData']['mimeType']}")
        if "functionResponse" in part and not isinstance(part["functionResponse"]["response"], dict):
            raise Refused(
                f"Invalid value at '{at}.function_response.response' (type.googleapis.com/google.protobuf.Struct)"
            )


def _signatures(
    model: str, contents: list[dict[str, Any]], limits: Limits, issued: Issued, skips: frozenset[str]
) -> None:
    running = True
    for number in range(len(contents) - 1, -1, -1):
        content = contents[number]
        if content["role"] == "user":
            running = running and "functionResponse" in content["parts"][0]
            continue
        first = True
        for place, part in enumerate(content["parts"]):
            signature, call = part.get("thoughtSignature"), part.get("functionCall")
            plain = (signature or "").replace("-", "+").replace("_", "/")  # the client writes URL-safe base64
            if signature is not None and not (call is not None and first and signature in skips):
                if (model, plain, said_by(part)) not in issued.signatures:
                    raise Refused("Corrupted thought signature.")
            elif signature is None and call is not None and first and running and limits.signs:
                raise Refused(MISSING.format(name=call["name"], place=place))
            first = first and call is None
