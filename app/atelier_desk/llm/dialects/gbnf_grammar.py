"""Build a GBNF grammar (llama.cpp) from tool schemas: a reply is text, or text and valid calls of the xml dialect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.llm.dialects.number_grammar import integer_rule, number_rule
from atelier_desk.llm.dialects.tool_call_limits import CALLS

_OPEN_WORD = "<tool_call"
_ANY_DEPTH = 3
"""Maximum nesting where a schema allows any JSON: enough for metadata, and it bounds small models."""
_REPEAT_MAX = 512
"""llama.cpp expands repetitions; longer ones are unbounded here and validated later."""
_ITEMS_MAX = 16

_BASICS = r"""
char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
boolean ::= "true" | "false"
null ::= "null"
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= integer ("." [0-9]{1,12})?
""".strip()


def literal(text: str) -> str:
    """Return a GBNF literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _json_literal(value: object) -> str:
    return literal(json.dumps(value, ensure_ascii=False))


def _either(options: Iterable[str]) -> str:
    unique = list(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


class _Rules:
    """Collects named rules for the schemas of one grammar.

    Args:
        max_string: maximum characters of any string; None uses each schema's own limit.
        max_items: maximum items of an array and members of a free-form object.
    """

    def __init__(self, max_string: int | None, max_items: int) -> None:
        self.rules: dict[str, str] = {}
        self.max_items = max_items
        self._max_string = max_string

    def add(self, name: str, body: str) -> str:
        """Define a rule; the name is made unique and valid for GBNF."""
        base = re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-").lower() or "rule"
        unique, number = base, 1
        while unique in self.rules:
            number += 1
            unique = f"{base}-{number}"
        self.rules[unique] = body
        return unique

    def any_json(self, depth: int = _ANY_DEPTH) -> str:
        """Return a rule for any JSON value nested at most ``depth`` levels."""
        name = f"any-{depth}"
        if name not in self.rules:
            string = self.string({})
            options = [string, "number", "boolean", "null"]
            if depth > 0:
                inner = self.any_json(depth - 1)
                member = f'{string} ": " {inner}'
                options.append(f'"{{" ({member} (", " {member}){{0,{self.max_items - 1}}})? "}}"')
                options.append(f'"[" ({inner} (", " {inner}){{0,{self.max_items - 1}}})? "]"')
            self.rules[name] = _either(options)
        return name

    def string(self, schema: dict[str, Any]) -> str:
        """Return a named rule for strings within a schema's limits.

        llama.cpp multiplies repetitions nested in one rule and refuses more than 2 000.
        """
        least = int(schema.get("minLength", 0))
        most = schema.get("maxLength")
        if self._max_string is not None:
            most = max(least, min(most or self._max_string, self._max_string))
        if most is None or most > _REPEAT_MAX:
            least = min(least, _REPEAT_MAX)
            repeat, name = (f"{{{least},}}" if least else "*"), f"string-{least}"
        else:
            repeat, name = f"{{{least},{most}}}", f"string-{least}-{most}"
        self.rules[name] = f'"\\"" char{repeat} "\\""'
        return name


class SchemaGrammar:
    """Converts one tool's JSON schema to rules.

    Supports what pydantic generates: objects, arrays, unions, enums, constants, references, and limits of strings,
    numbers and arrays. Patterns and formats are not enforced; arguments are validated afterwards anyway.
    """

    def __init__(self, rules: _Rules, schema: dict[str, object], prefix: str) -> None:
        self._rules = rules
        self._schema = schema
        self._prefix = prefix
        self._references: dict[str, str] = {}

    def rule(self) -> str:
        """Return the expression for the whole schema."""
        return self._expression(self._schema, self._prefix)

    def _expression(self, schema: dict[str, Any] | bool, name: str) -> str:
        if isinstance(schema, bool) or not schema:
            return self._rules.any_json()
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "const" in schema:
            return _json_literal(schema["const"])
        if "enum" in schema:
            return _either(_json_literal(value) for value in schema["enum"])
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return _either(
                    self._expression(option, f"{name}-{number}") for number, option in enumerate(schema[union])
                )
        if len(schema.get("allOf", ())) == 1:
            return self._expression(schema["allOf"][0], name)
        kind = schema.get("type")
        if isinstance(kind, list):
            return _either(self._expression({**schema, "type": one}, name) for one in kind)
        return self._typed(kind, schema, name)

    def _typed(self, kind: str | None, schema: dict[str, object], name: str) -> str:
        if kind == "object" or (kind is None and "properties" in schema):
            return self._rules.add(name, self._object(schema, name))
        if kind == "array":
            return self._rules.add(name, self._array(schema, name))
        if kind == "string":
            return self._rules.string(schema)
        if kind == "integer":
            return integer_rule(schema)
        if kind == "number":
            return number_rule(schema)
        if kind in ("boolean", "null"):
            return kind
        return self._rules.any_json()

    def _reference(self, reference: str) -> str:
        if reference not in self._references:
            target: Any = self._schema
            for part in reference.removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            name = self._rules.add(f"{self._prefix}-{reference.rsplit('/', 1)[-1]}", "null")
            self._references[reference] = name
            self._rules.rules[name] = self._expression(target, f"{name}-body")
        return self._references[reference]

    def _object(self, schema: dict[str, Any], name: str) -> str:
        properties: dict[str, Any] = schema.get("properties", {})
        if not properties:
            return self._map(schema, name)
        fixed = {key for key, value in properties.items() if "const" in value or len(value.get("enum", ())) == 1}
        # Constants are required and come first: the operation decides which other members make sense.
        required = [key for key in properties if key in fixed or key in schema.get("required", ())]
        required.sort(key=lambda key: key not in fixed)
        member = {
            key: f"{literal(json.dumps(key) + ': ')} {self._expression(value, f'{name}-{key}')}"
            for key, value in properties.items()
        }
        optional = [member[key] for key in properties if key not in required]
        if required:
            body = ' ", " '.join(member[key] for key in required) + "".join(f' (", " {one})?' for one in optional)
            return f'"{{" {body} "}}"'
        # No required member carries the commas: one alternative for each possible first member.
        tails = [
            one + "".join(f' (", " {later})?' for later in optional[number + 1 :])
            for number, one in enumerate(optional)
        ]
        return f'"{{" {_either(f"({tail})" for tail in tails)}? "}}"'

    def _map(self, schema: dict[str, Any], name: str) -> str:
        extra = schema.get("additionalProperties", True)
        if extra is False:
            return '"{}"'
        member = f'{self._rules.string({"minLength": 1})} ": " {self._expression(extra, f"{name}-value")}'
        return f'"{{" ({member} (", " {member}){{0,{self._rules.max_items - 1}}})? "}}"'

    def _array(self, schema: dict[str, Any], name: str) -> str:
        least = int(schema.get("minItems", 0))
        most = max(least, min(int(schema.get("maxItems", self._rules.max_items)), self._rules.max_items))
        if most == 0:
            return '"[]"'
        item = self._expression(schema.get("items", True), f"{name}-item")
        items = f'{item} (", " {item}){{{max(least - 1, 0)},{most - 1}}}'
        return f'"[" {items} "]"' if least else f'"[" ({items})? "]"'


def _text_rules() -> dict[str, str]:
    """Return rules for text without ``<tool_call``: after each prefix of the word, anything but its next letter."""
    rules = {"text": '([^<] | "<" after-1)+'}
    for length in range(1, len(_OPEN_WORD)):
        letter = _OPEN_WORD[length]
        last = length == len(_OPEN_WORD) - 1
        rules[f"after-{length}"] = f"[^<{letter}]" if last else f'[^<{letter}] | "{letter}" after-{length + 1}'
    return rules


def tools_grammar(
    tools: Sequence[ToolSpec],
    *,
    require_call: bool = False,
    max_calls: int = CALLS,
    max_string: int | None = None,
    max_items: int = _ITEMS_MAX,
) -> str:
    """Return a GBNF grammar: text without calls, or calls after optional text.

    Every call names one of ``tools``, and its arguments match that tool's schema (or one of its ``variants``) as far as
    ``SchemaGrammar`` supports it.

    Args:
        tools: at least one.
        require_call: the reply is exactly one call.
        max_calls: maximum calls per reply.
        max_string: maximum characters of a string argument, because small models do not stop by themselves. None uses
            the schemas' own limits.
        max_items: maximum items of an array, unless a schema requires more.

    Raises:
        ValueError: no tools.
    """
    if not tools:
        raise ValueError("a grammar needs at least one tool")
    rules = _Rules(max_string, max_items)
    options = []
    for tool in tools:
        schemas = tool.variants or (tool.parameters,)
        arguments = _either(SchemaGrammar(rules, schema, f"args {tool.name}").rule() for schema in schemas)
        name = literal(tool.name + '">')
        options.append(f"{name} {arguments}")
    opening, closing = literal(_OPEN_WORD + ' name="'), literal("</tool_call>")
    call = f"{opening} {_either(options)} {closing}"
    if require_call:
        head = {"root": "call", "call": call}
    else:
        head = {
            "root": "text calls? | calls",
            "calls": f'call ("\\n"? call){{0,{max_calls - 1}}}',
            "call": call,
            **_text_rules(),
        }
    lines = [f"{name} ::= {body}" for name, body in {**head, **rules.rules}.items()]
    return "\n".join([*lines, _BASICS]) + "\n"
