"""What the style sheet puts on what: every pair of a text and its ground reaches 4.5:1, in both themes."""

from __future__ import annotations

import re

import pytest

from atelier_desk.desktop.theme.assets import resource_dir
from atelier_desk.desktop.theme.tokens import DARK, LIGHT, Tokens, contrast

TEXT = 4.5
"""Least contrast of text, WCAG 2.1, 1.4.3."""
FOUND = 3.0
"""Least of what must be found without its text: the edge of a focused field, WCAG 2.1, 1.4.11."""
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COLOUR = re.compile(r"(?<![-\w])(color|background|background-color):\s*@(\w+)")


def pairs() -> list[tuple[str, str, str]]:
    """Selector, text and ground of each rule that names both; a control that cannot be used is not measured (WCAG 1.4.3)."""
    sheet = re.sub(r"/\*.*?\*/", "", (resource_dir() / "style.qss").read_text("utf-8"), flags=re.DOTALL)
    sheet = re.sub(r"\$\{(\w+)\}", r"@\1", sheet)
    found = []
    for selector, body in _RULE.findall(sheet):
        named = {key.removesuffix("-color") if key != "color" else key: value for key, value in _COLOUR.findall(body)}
        if {"color", "background"} <= named.keys() and ":disabled" not in selector:
            found.append((" ".join(selector.split()), named["color"], named["background"]))
    return found


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_every_pair_of_the_style_sheet_can_be_read(tokens: Tokens) -> None:
    known = pairs()
    assert len(known) > 10
    weak = {
        selector: round(contrast(getattr(tokens, text), getattr(tokens, ground)), 2)
        for selector, text, ground in known
        if contrast(getattr(tokens, text), getattr(tokens, ground)) < TEXT
    }
    assert weak == {}


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
@pytest.mark.parametrize("ground", ["bg", "surface", "raised", "sunken", "hover"])
def test_text_can_be_read_on_every_ground(tokens: Tokens, ground: str) -> None:
    weak = {text: round(contrast(getattr(tokens, text), getattr(tokens, ground)), 2) for text in ("text", "muted")}
    assert all(value >= TEXT for value in weak.values()), weak


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
@pytest.mark.parametrize("ground", ["bg", "surface", "raised", "sunken"])
def test_focus_can_be_found(tokens: Tokens, ground: str) -> None:
    assert contrast(tokens.accent, getattr(tokens, ground)) >= FOUND
