"""Terminal colours: the text and its styled spans (ECMA-48, 8.3.117; xterm's 256 colours and RGB). No Qt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final

from atelier_desk.desktop.theme.design_tokens import Tokens, blend, contrast

LANGUAGE: Final = "ansi"
MOST_SPANS = 20_000
"""Maximum style changes shown; the rest stays plain."""
MOST_SEQUENCES = 40_000
"""Maximum escape sequences interpreted; later ones are only removed, at a hundredth of the cost."""
_READABLE = 4.5
_SEQUENCE = re.compile(r"\x1b(?:\[([\d;:]{0,64})m|\[[0-?]*[ -/]*[@-~]?|.)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]", re.DOTALL)
"""A style sequence with its numbers, or a sequence to be removed."""


@dataclass(frozen=True, slots=True)
class Style:
    """A text style. A colour is the number of one of the 16 named ones, ``#RRGGBB``, or None for the default."""

    colour: int | str | None = None
    ground: int | str | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False
    struck: bool = False


PLAIN = Style()
_ON: dict[int, dict[str, Any]] = {
    1: {"bold": True}, 2: {"faint": True}, 3: {"italic": True}, 4: {"underline": True}, 7: {"inverse": True},
    9: {"struck": True},
    21: {"underline": True}, 22: {"bold": False, "faint": False}, 23: {"italic": False}, 24: {"underline": False},
    27: {"inverse": False},
    29: {"struck": False}, 39: {"colour": None}, 49: {"ground": None},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """A styled part of a text, ``end`` exclusive."""

    start: int
    end: int
    style: Style


def read(text: str) -> tuple[str, tuple[Span, ...]]:
    """The text without escape sequences, and its spans in order; never raises."""
    plain: list[str] = []
    spans: list[Span] = []
    style, at, done = PLAIN, 0, 0
    for seen, found in enumerate(_SEQUENCE.finditer(text)):
        if seen == MOST_SEQUENCES or len(spans) == MOST_SPANS:
            return "".join([*plain, _SEQUENCE.sub("", text[done:])]), tuple(spans)
        piece = text[done : found.start()]
        plain.append(piece)
        if piece and style != PLAIN:
            spans.append(Span(at, at + len(piece), style))
        at, done = at + len(piece), found.end()
        if found[1] is not None:
            style = _chosen(style, found[1])
    piece = text[done:]
    if piece and style != PLAIN and len(spans) < MOST_SPANS:
        spans.append(Span(at, at + len(piece), style))
    return "".join([*plain, piece]), tuple(spans)


def _chosen(style: Style, numbers: str) -> Style:
    """The style after one sequence; unknown codes are ignored."""
    parts = iter(numbers.split(";"))
    for part in parts:
        within = iter(part.split(":"))
        code = _number(next(within))
        if code == 0:
            style = PLAIN
        elif code in (38, 48):
            # Colons group sub-parameters, semicolons separate parameters; an empty one may stand for the colour space.
            colour = _given(iter([each for each in within if each]) if ":" in part else parts)
            if colour is not None:
                style = replace(style, colour=colour) if code == 38 else replace(style, ground=colour)
        elif code == 4 and part == "4:0":
            style = replace(style, underline=False)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, colour=code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = replace(style, ground=code - 40 if code < 100 else code - 92)
        elif code in _ON:
            style = replace(style, **_ON[code])
    return style


def _given(numbers: Iterator[str]) -> int | str | None:
    kind = _number(next(numbers, ""))
    if kind == 5:
        return _of_256(_number(next(numbers, "")))
    if kind == 2:
        red, green, blue = (_number(next(numbers, "")) for _each in range(3))
        if max(red, green, blue) <= 255:
            return f"#{red:02X}{green:02X}{blue:02X}"
    return None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0


def _of_256(number: int) -> int | str | None:
    if number < 16:
        return number
    if number < 232:
        levels = (0, 95, 135, 175, 215, 255)
        red, green, blue = ((number - 16) // step % 6 for step in (36, 6, 1))
        return f"#{levels[red]:02X}{levels[green]:02X}{levels[blue]:02X}"
    if number < 256:
        grey = 8 + 10 * (number - 232)
        return f"#{grey:02X}{grey:02X}{grey:02X}"
    return None


def lines(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """The lines of a text, each with its part of the spans."""
    line_start = 0
    for line in text.split("\n"):
        end = line_start + len(line)
        inside = (span for span in spans if span.start < end and span.end > line_start)
        yield (
            line,
            tuple(
                Span(max(span.start, line_start) - line_start, min(span.end, end) - line_start, span.style)
                for span in inside
            ),
        )
        line_start = end + 1


def html(line: str, spans: Sequence[Span], tokens: Tokens) -> str:
    """A line as rich text for a label; if it was cut, only with the spans that remain."""
    out: list[str] = []
    done = 0
    for span in spans:
        out += [
            _escaped(line[done : span.start]),
            f'<span style="{_css(span.style, tokens)}">{_escaped(line[span.start : span.end])}</span>',
        ]
        done = span.end
    return "".join([*out, _escaped(line[done:])])


def _escaped(text: str) -> str:
    return escape(text).replace(" ", "&nbsp;")


def _css(style: Style, tokens: Tokens) -> str:
    colour, ground = colours(style, tokens)
    drawn = " ".join(word for word, on in (("underline", style.underline), ("line-through", style.struck)) if on)
    properties = {
        "color": colour,
        "background-color": ground,
        "font-weight": "bold" if style.bold else "",
        "font-style": "italic" if style.italic else "",
        "text-decoration": drawn,
    }
    return "; ".join(f"{name}: {value}" for name, value in properties.items() if value)


def colours(style: Style, tokens: Tokens) -> tuple[str, str]:
    """Foreground and background as ``#RRGGBB``, background empty for the default: theme colours, always readable."""
    usual = tokens.code
    colour = tokens.text if style.colour is None else _named(style.colour, tokens)
    ground = "" if style.ground is None else blend(_named(style.ground, tokens), usual, 0.3)
    if style.inverse:
        colour, ground = ground or usual, colour
    if style.faint:
        colour = blend(colour, ground or usual, 0.7)
    return _readable(colour, ground or usual), ground


def _named(colour: int | str, tokens: Tokens) -> str:
    if isinstance(colour, str):
        return colour
    dark, light = ("#000000", "#FFFFFF")
    eight = (
        dark,
        tokens.err,
        tokens.ok,
        tokens.warn,
        tokens.function,
        tokens.keyword,
        blend(tokens.ok, tokens.function, 0.5),
        light,
    )
    return tokens.muted if colour == 8 else eight[colour % 8]


def _readable(colour: str, ground: str) -> str:
    """The colour moved towards black or white until it is readable on the background."""
    end = max(("#000000", "#FFFFFF"), key=lambda each: contrast(each, ground))
    for step in range(11):
        found = blend(end, colour, step / 10)
        if contrast(found, ground) >= _READABLE:
            return found
    return end
