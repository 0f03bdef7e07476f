"""Grammars (GBNF) that let a model say one of a few things, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(choices: Iterable[str]) -> str:
    """A grammar whose only sentences are a space and one of the choices.

    The space belongs to the reply because prompts must end without one: tokens begin with their space.
    """
    return "root ::= " + " | ".join(literal(f" {choice}") for choice in choices)


def literal(text: str) -> str:
    """A text as a GBNF literal; control characters become spaces."""
    safe = "".join(character if character.isprintable() else " " for character in text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
