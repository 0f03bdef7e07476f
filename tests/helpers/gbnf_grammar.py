"""Read the subset of GBNF that Atelier writes: as a regular expression, and to generate samples."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r'\s*(?:(?P<literal>"(?:\\.|[^"\\])*")|(?P<chars>\[(?:\\.|[^\]\\])*\])|(?P<name>[a-z][a-z0-9-]*)|(?P<mark>[()|?*+]|\{[\d,]+\}))'
)
_ALPHABET = "abcdefzAZ0123456789 .,:<>/_-'éЖ😀\t\n\"\\[]{}"
_REPEATS = 3
"""Maximum repetitions in a sample beyond the minimum."""


@dataclass(frozen=True, slots=True)
class _Node:
    kind: str
    text: str = ""
    parts: tuple[_Node, ...] = ()
    least: int = 1
    most: int | None = 1


class _Reader:
    def __init__(self, body: str) -> None:
        self._tokens = []
        at = 0
        while body[at:].strip():
            token = _TOKEN.match(body, at)
            if token is None:
                raise ValueError(f"cannot read {body[at:]!r}")
            self._tokens.append((token.lastgroup or "", token[token.lastgroup or ""]))
            at = token.end()
        self._position = 0

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._position] if self._position < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._position += 1
        return token

    def alternatives(self) -> _Node:
        options = [self._sequence()]
        while self._peek()[1] == "|":
            self._next()
            options.append(self._sequence())
        return options[0] if len(options) == 1 else _Node("either", parts=tuple(options))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek()[0] != "end" and self._peek()[1] not in ("|", ")"):
            parts.append(self._repeated(self._item()))
        return _Node("sequence", parts=tuple(parts))

    def _item(self) -> _Node:
        kind, text = self._next()
        if text == "(":
            inner = self.alternatives()
            if self._next()[1] != ")":
                raise ValueError("a bracket is not closed")
            return inner
        if kind == "literal":
            plain = text[1:-1].replace("\\n", "\n").replace("\\r", "\r").replace('\\"', '"').replace("\\\\", "\\")
            return _Node("literal", plain)
        return _Node(kind, text)

    def _repeated(self, item: _Node) -> _Node:
        mark = self._peek()[1]
        if mark not in ("?", "*", "+") and not re.fullmatch(r"\{[\d,]+\}", mark):
            return item
        self._next()
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(mark) or self._numbers(mark)
        return _Node("repeat", parts=(item,), least=least, most=most)

    @staticmethod
    def _numbers(mark: str) -> tuple[int, int | None]:
        low, comma, high = mark[1:-1].partition(",")
        return int(low), (int(high) if high else None) if comma else int(low)


class Grammar:
    """A grammar without recursive rules.

    Raises:
        ValueError: a rule cannot be parsed.
    """

    def __init__(self, text: str) -> None:
        self._rules = {}
        for line in text.strip().splitlines():
            name, body = line.split(" ::= ", 1)
            self._rules[name] = _Reader(body).alternatives()

    def pattern(self) -> re.Pattern[str]:
        """The regular expression of the same language."""
        return re.compile(self._regex(self._rules["root"]), re.DOTALL)

    def matches(self, text: str) -> bool:
        return self.pattern().fullmatch(text) is not None

    def sample(self, source: random.Random) -> str:
        """A text that the grammar allows, short where it may be long."""
        return self._sample(self._rules["root"], source)

    def _regex(self, node: _Node) -> str:
        if node.kind == "literal":
            return re.escape(node.text)
        if node.kind == "chars":
            return node.text
        if node.kind == "name":
            return self._regex(self._rules[node.text])
        parts = [self._regex(part) for part in node.parts]
        if node.kind == "either":
            return f"(?:{'|'.join(parts)})"
        if node.kind == "repeat":
            return f"(?:{parts[0]}){{{node.least},{'' if node.most is None else node.most}}}"
        return "".join(parts)

    def _sample(self, node: _Node, source: random.Random) -> str:
        if node.kind == "literal":
            return node.text
        if node.kind == "chars":
            fitting = re.compile(node.text)
            return source.choice([char for char in _ALPHABET if fitting.fullmatch(char)])
        if node.kind == "name":
            return self._sample(self._rules[node.text], source)
        if node.kind == "either":
            return self._sample(source.choice(node.parts), source)
        if node.kind == "repeat":
            most = node.least + _REPEATS if node.most is None else min(node.most, node.least + _REPEATS)
            return "".join(self._sample(node.parts[0], source) for _ in range(source.randint(node.least, most)))
        return "".join(self._sample(part, source) for part in node.parts)
