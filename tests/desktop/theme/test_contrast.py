"""Text colours of the style sheet: every pair of text and background reaches 4.5:1, in both themes."""

from __future__ import annotations

import re

import pytest

from atelier_desk.desktop.panes.timeline.paint import BAR_COLOURS
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, Tokens, contrast
from atelier_desk.desktop.theme.resource_paths_and_fonts import resource_dir
from atelier_desk.desktop.widgets.row_paint import quiet

TEXT = 4.5
"""Minimum contrast of text, WCAG 2.1, 1.4.3."""
FOUND = 3.0
"""Minimum contrast of non-text parts: the border of a focused field, WCAG 2.1, 1.4.11."""
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COLOUR = re.compile(r"(?<![-\w])(color|background|background-color):\s*@(\w+)")


def pairs() -> list[tuple[str, str, str]]:
    """Selector, text and background of each rule with both; disabled controls are exempt (WCAG 1.4.3)."""
    sheet = re.sub(r"/\*.*?\*/", "", (resource_dir() / "style.qss").read_text("utf-8"), flags=re.DOTALL)
    sheet = re.sub(r"\$\{(\w+)\}", r"@\1", sheet)
    found = []
    for selector, body in _RULE.findall(sheet):
        named = {key.removesuffix("-color") if key != "color" else key: value for key, value in _COLOUR.findall(body)}
        if {"color", "background"} <= named.keys() and ":disabled" not in selector:
            found.append((" ".join(selector.split()), named["color"], named["background"]))
    return found


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_every_pair_of_the_style_sheet_is_readable(tokens: Tokens) -> None:
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
def test_text_is_readable_on_every_background(tokens: Tokens, ground: str) -> None:
    weak = {text: round(contrast(getattr(tokens, text), getattr(tokens, ground)), 2) for text in ("text", "muted")}
    assert all(value >= TEXT for value in weak.values()), weak


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
@pytest.mark.parametrize("ground", ["bg", "surface", "raised", "sunken"])
def test_the_focus_border_has_contrast(tokens: Tokens, ground: str) -> None:
    assert contrast(tokens.accent, getattr(tokens, ground)) >= FOUND


PAINTED = (
    *((text, "accent_soft") for text in ("text", "muted_text", "accent", "ok_text", "warn_text", "err_text")),
    *((text, "hover") for text in ("text", "muted", "warn_text", "err_text")),
    *((text, ground) for text in ("accent", "ok", "warn", "err") for ground in ("bg", "surface")),
    *(
        (text, ground)
        for text in ("text", "keyword", "function", "number", "ok_text")
        for ground in ("ok_soft", "err_soft")
    ),
    *((text, "code") for text in ("text", "muted", "keyword", "function", "number", "ok")),
    *(("text", ground) for ground in ("ok_strong", "err_strong", "warn_soft", "user")),
    ("warn_text", "warn_soft"),
    ("ok_text", "ok_soft"),
    ("err_text", "err_soft"),
)
"""Text and background in delegates and painters: rows, bars of the timeline, code and diffs."""


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_painted_text_is_readable(tokens: Tokens) -> None:
    measured = {
        (text, ground): round(contrast(getattr(tokens, text), getattr(tokens, ground)), 2) for text, ground in PAINTED
    }
    assert {pair: value for pair, value in measured.items() if value < TEXT} == {}


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_the_bars_of_the_timeline_are_readable(tokens: Tokens) -> None:
    weak = {
        name: text
        for name, (ground, _edge, text) in BAR_COLOURS.items()
        if contrast(getattr(tokens, text), getattr(tokens, ground)) < TEXT
    }
    assert weak == {}


@pytest.mark.parametrize("selected", [True, False])
def test_muted_text_of_a_row_is_readable_on_its_background(selected: bool) -> None:
    tokens = theme().tokens
    assert contrast(getattr(tokens, quiet(selected)), tokens.accent_soft if selected else tokens.surface) >= TEXT
