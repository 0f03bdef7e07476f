"""Colours have sufficient contrast."""

from __future__ import annotations

import pytest

from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, Tokens, blend, contrast


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        *[("text", ground) for ground in ("bg", "surface", "raised", "code", "user", "accent_soft", "sunken")],
        *[("muted", ground) for ground in ("bg", "surface", "raised", "code", "sunken")],
        *[(text, ground) for text in ("accent", "ok", "warn", "err") for ground in ("bg", "surface", "raised")],
        ("on_accent", "accent"),
        ("accent", "accent_soft"),
        ("ok_text", "ok_soft"),
        ("warn_text", "warn_soft"),
        ("err_text", "err_soft"),
        *[(text, "code") for text in ("keyword", "function", "ok", "number", "muted")],
    ],
)
def test_text_has_contrast(tokens: Tokens, text: str, ground: str) -> None:
    assert contrast(getattr(tokens, text), getattr(tokens, ground)) >= 4.5


def test_contrast_of_black_and_white() -> None:
    assert round(contrast("#000000", "#FFFFFF"), 1) == 21.0
    assert contrast("#777777", "#777777") == 1.0


def test_blend_ends_and_middle() -> None:
    assert blend("#FF0000", "#0000FF", 1) == "#FF0000"
    assert blend("#FF0000", "#0000FF", 0) == "#0000FF"
    assert blend("#FFFFFF", "#000000", 0.5) == "#808080"
