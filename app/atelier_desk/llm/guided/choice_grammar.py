"""GBNF grammars that restrict a model to a few choices."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(choices: Iterable[str]) -> str:
    """Return a grammar whose only sentences are a space followed by one of the choices.

    The space is part of the reply because prompts must end without one: tokens begin with their space.
    """
    return "root ::= " + " | ".join(literal(f" {choice}") for choice in choices)


def literal(text: str) -> str:
    """Return a text as a GBNF literal; control characters become spaces."""
    safe = "".join(character if character.isprintable() else " " for character in text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
