"""Terminal colours: any text is parsed, colours are found, and all are readable in both themes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.desktop.chat.markdown import ansi
from atelier_desk.desktop.chat.markdown.ansi import PLAIN, Span, Style, colours, read
from atelier_desk.desktop.theme.design_tokens import DARK, LIGHT, Tokens, contrast

PIECES = st.sampled_from(
    [
        "a",
        "é😀",
        "\n",
        "\x1b",
        "\x1b[",
        "31",
        ";",
        ":",
        "m",
        "\x1b[1;31m",
        "\x1b[38;5;200m",
        "\x1b[48;2;1;2;3m",
        "\x1b[0m",
    ]
)
STYLES = st.builds(
    Style,
    colour=st.none() | st.integers(0, 15) | st.from_regex(r"#[0-9A-F]{6}", fullmatch=True),
    ground=st.none() | st.integers(0, 15) | st.from_regex(r"#[0-9A-F]{6}", fullmatch=True),
    faint=st.booleans(),
    inverse=st.booleans(),
)


@pytest.mark.parametrize(
    ("numbers", "style"),
    [
        ("31", Style(colour=1)),
        ("1;4;92", Style(colour=10, bold=True, underline=True)),
        ("38;5;9", Style(colour=9)),
        ("38;5;196", Style(colour="#FF0000")),
        ("38;5;244;1", Style(colour="#808080", bold=True)),
        ("48;2;1;2;255", Style(ground="#0102FF")),
        ("38:2::10:20:30", Style(colour="#0A141E")),
        ("38:5:3;3", Style(colour=3, italic=True)),
        ("7;2;9;104", Style(ground=12, inverse=True, faint=True, struck=True)),
        ("31;39;1;22;44;49", PLAIN),
        ("31;", PLAIN),
        ("", PLAIN),
        ("38;2;999;0;0", PLAIN),
        ("38", PLAIN),
        ("777;73", PLAIN),
        ("4:3", Style(underline=True)),
    ],
)
def test_an_escape_sequence_selects_a_style(numbers: str, style: Style) -> None:
    text, spans = read(f"a\x1b[{numbers}mb")
    assert text == "ab"
    assert spans == ((Span(1, 2, style),) if style != PLAIN else ())


@pytest.mark.parametrize(
    "text", ["\x1b[31m\x1b[0m" * 50_000, "\x1b[31ma\x1b[32mb" * 50_000], ids=["nothing else", "a colour a letter"]
)
def test_only_the_first_of_very_many_colour_changes_are_parsed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    parsed: list[str] = []

    def chosen(_style: Style, numbers: str) -> Style:
        parsed.append(numbers)
        return Style(colour=1)

    monkeypatch.setattr(ansi, "_chosen", chosen)
    plain, spans = read(text + "end\x1b[7m.")
    assert plain == text.replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[0m", "") + "end."
    assert len(parsed) <= ansi.MOST_SEQUENCES
    assert len(spans) <= ansi.MOST_SPANS


@given(st.text() | st.lists(PIECES, max_size=60).map("".join))
def test_any_text_is_parsed(text: str) -> None:
    plain, spans = read(text)
    assert not set(plain) & set(map(chr, [*range(9), 11, 12, *range(14, 32), 127]))
    places = [place for span in spans for place in (span.start, span.end)]
    assert places == sorted(places)
    assert all(span.start < span.end <= len(plain) for span in spans)
    assert read(plain)[0] == plain


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
@given(style=STYLES)
def test_every_colour_is_readable(tokens: Tokens, style: Style) -> None:
    colour, ground = colours(style, tokens)
    assert contrast(colour, ground or tokens.code) >= 4.5
