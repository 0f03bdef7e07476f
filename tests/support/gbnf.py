"""Reads the part of GBNF that Atelier writes and turns it into a Python regular expression, to test grammars without a model."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r'\s*(?:(?P<literal>"(?:\\.|[^"\\])*")|(?P<chars>\[(?:\\.|[^\]\\])*\])|(?P<name>[a-z][a-z0-9-]*)|(?P<mark>[()|?*+]|\{[\d,]+\}))'
)


def _literal(token: str) -> str:
    text = token[1:-1].replace("\\n", "\n").replace("\\r", "\r").replace('\\"', '"').replace("\\\\", "\\")
    return re.escape(text)


def grammar_pattern(grammar: str, start: str = "root") -> re.Pattern[str]:
    """The regular expression of the same language.

    Raises:
        ValueError: a rule that is recursive, missing, or not in the part of GBNF known here.
    """
    rules = dict(line.split(" ::= ", 1) for line in grammar.strip().splitlines())

    def expand(name: str, above: tuple[str, ...]) -> str:
        if name in above or name not in rules:
            raise ValueError(f"rule {name} is recursive or missing")
        body, at, out = rules[name], 0, []
        while body[at:].strip():
            token = _TOKEN.match(body, at)
            if token is None:
                raise ValueError(f"cannot read {body[at:]!r}")
            at = token.end()
            if token["literal"]:
                out.append(f"(?:{_literal(token['literal'])})")
            elif token["chars"]:
                out.append(token["chars"])
            elif token["name"]:
                out.append(f"(?:{expand(token['name'], (*above, name))})")
            else:
                out.append(token["mark"].replace("(", "(?:"))
        return "".join(out)

    return re.compile(expand(start, ()), re.DOTALL)
