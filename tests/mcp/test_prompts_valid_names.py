"""Prompts listed by servers: those that cannot be called or stored are left out."""

from __future__ import annotations

import pytest
from mcp_types import Prompt, PromptArgument

from atelier_desk.mcp import prompts


@pytest.mark.parametrize(
    "prompt",
    [
        Prompt(name="a" + " " * 300 + "b"),
        Prompt(name="plan", arguments=[PromptArgument(name="n" * 300)]),
        Prompt(name="p\x1b[2J"),
        Prompt(name="  "),
    ],
)
def test_names_that_cannot_be_typed_are_not_listed(prompt: Prompt) -> None:
    assert prompts.listed(prompt) is None


def test_valid_names_are_listed() -> None:
    found = prompts.listed(Prompt(name="make plan", arguments=[PromptArgument(name="topic", required=True)]))
    assert found is not None
    assert (found.call, found.arguments[0].required) == ("make_plan", True)
