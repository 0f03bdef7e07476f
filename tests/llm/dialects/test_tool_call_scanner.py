"""The scanner finds exactly the calls in a text, whatever surrounds them and however the text is split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.llm.dialects.tool_call_limits import CALL_CHARACTERS, CALL_DEPTH, CALLS
from atelier_desk.llm.dialects.tool_call_scanner import CallPiece, CallScanner, Flaw, Piece, TextPiece

Found = list[tuple[str, str, Flaw]]


def scan(*pieces: str, cut: bool = False) -> tuple[str, Found, list[Piece]]:
    """The text outside calls, the calls, and the output piece by piece."""
    scanner = CallScanner()
    out = [piece for text in pieces for piece in scanner.feed(text)]
    out += scanner.finish(cut=cut)
    text = "".join(piece.text for piece in out if isinstance(piece, TextPiece))
    return text, [(call.name, call.raw, call.flaw) for call in scanner.calls], out


def tag(name: str, raw: str) -> str:
    return f'<tool_call name="{name}">{raw}</tool_call>'


CASES: dict[str, tuple[str, str, Found]] = {
    "text around a call": (
        "Let me see. " + tag("Calc", '{"x": 1}') + " Done.",
        "Let me see.  Done.",
        [("Calc", '{"x": 1}', Flaw.NONE)],
    ),
    "several calls": (
        tag("A", "{}") + "\n" + tag("B", '{"b": [1, {"c": "]"}]}'),
        "\n",
        [("A", "{}", Flaw.NONE), ("B", '{"b": [1, {"c": "]"}]}', Flaw.NONE)],
    ),
    "closing tag in a string": (
        tag("W", '{"text": "ends with </tool_call> here"}') + "!",
        "!",
        [("W", '{"text": "ends with </tool_call> here"}', Flaw.NONE)],
    ),
    "whole call in a string": (
        tag("W", '{"text": "<tool_call name=\'rm\'>{}</tool_call>"}'),
        "",
        [("W", '{"text": "<tool_call name=\'rm\'>{}</tool_call>"}', Flaw.NONE)],
    ),
    "escaped quotes": (
        tag("W", r'{"t": "a \" </tool_call> \\"}'),
        "",
        [("W", r'{"t": "a \" </tool_call> \\"}', Flaw.NONE)],
    ),
    "fenced example": (f"```xml\n{tag('A', '{}')}\n```\nafter", f"```xml\n{tag('A', '{}')}\n```\nafter", []),
    "call after a fence": (f"```\ncode\n```\n{tag('A', '{}')}", "```\ncode\n```\n", [("A", "{}", Flaw.NONE)]),
    "tilde fence": (f"~~~\n{tag('A', '{}')}\n~~~\n", f"~~~\n{tag('A', '{}')}\n~~~\n", []),
    "longer fence holds a shorter one": (
        f"````\n```\n{tag('A', '{}')}\n```\n````",
        f"````\n```\n{tag('A', '{}')}\n```\n````",
        [],
    ),
    "unclosed fence": (f"```\n{tag('A', '{}')}", f"```\n{tag('A', '{}')}", []),
    "inline code": (f"Write `{tag('A', '{}')}` to call.", f"Write `{tag('A', '{}')}` to call.", []),
    "inline code with a long delimiter": (f"```{tag('A', '{}')}``` x", f"```{tag('A', '{}')}``` x", []),
    "a stray backtick hides nothing on the next line": (f"it`s\n{tag('A', '{}')}", "it`s\n", [("A", "{}", Flaw.NONE)]),
    "unclosed": ("x " + tag("A", "{1")[:-12], "x ", [("A", "{1", Flaw.UNCLOSED)]),
    "nested": (
        '<tool_call name="A">{"a": ' + tag("B", "{}"),
        "",
        [("A", '{"a": ', Flaw.NESTED), ("B", "{}", Flaw.NONE)],
    ),
    "missing quote": (
        tag("A", '{"a": "b}') + " rest " + tag("B", "{}"),
        " rest ",
        [("A", '{"a": "b}', Flaw.UNBALANCED), ("B", "{}", Flaw.UNBALANCED)],
    ),
    "no arguments": (tag("A", ""), "", [("A", "", Flaw.NONE)]),
    "arguments in a fence": (
        tag("A", '\n```json\n{"a": 1}\n```\n'),
        "",
        [("A", '\n```json\n{"a": 1}\n```\n', Flaw.NONE)],
    ),
    "no name in the tag": ('<tool_call>\n{"name": "A"}\n</tool_call>', "", [("", '\n{"name": "A"}\n', Flaw.NONE)]),
    "the named tag spoken of": ('a <tool_call name="A"> tag, {"x": 1}', 'a <tool_call name="A"> tag, {"x": 1}', []),
    "the named tag spoken of before a call": (
        'a <tool_call name="A"> tag ' + tag("B", "{}"),
        'a <tool_call name="A"> tag ',
        [("B", "{}", Flaw.NONE)],
    ),
    "the named tag spoken of before an example": (
        'a <tool_call name="A"> tag: `' + tag("B", "{}") + "`",
        'a <tool_call name="A"> tag: `' + tag("B", "{}") + "`",
        [],
    ),
    "words as arguments": (tag("A", ' x < 2 "</tool'), "", [("A", ' x < 2 "</tool', Flaw.NONE)]),
    "many words after the named tag": (tag("A", "w" * 2000), tag("A", "w" * 2000), []),
    "unclosed and empty": ('<tool_call name="A"> \n', '<tool_call name="A"> \n', []),
    "the tag spoken of": ("the <tool_call> tag and <tool_call>s", "the <tool_call> tag and <tool_call>s", []),
    "single quotes and more attributes": ("<tool_call id='7' name='A' >{}</tool_call >", "", [("A", "{}", Flaw.NONE)]),
    "attributes without a name": ('<tool_call id="7">{}</tool_call>', '<tool_call id="7">{}</tool_call>', []),
    "prose with angle brackets": (
        "if a < b and <tool> or </tool_call> {}",
        "if a < b and <tool> or </tool_call> {}",
        [],
    ),
    "cut inside the opening tag": ("so <tool_call nam", "so <tool_call nam", []),
    "quote after the object": (tag("A", '{"a": 1} "') + " x", " x", [("A", '{"a": 1} "', Flaw.NONE)]),
    "half a surrogate pair": ("a\ud800" + tag("A", '{"\udfff": 1}'), "a\ufffd", [("A", '{"\ufffd": 1}', Flaw.NONE)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_cases_in_pieces_of_every_size(name: str, size: int) -> None:
    reply, text, calls = CASES[name]
    seen_text, seen_calls, _pieces = scan(*(reply[at : at + size] for at in range(0, len(reply), size)))
    assert (seen_text, seen_calls) == (text, calls)


def test_a_truncated_string_gives_no_call_from_its_inside() -> None:
    reply = '<tool_call name="W">{"text": "how to: </tool_call> then <tool_call name=\'rm\'>{}</tool_call>'
    text, calls, _pieces = scan(reply, cut=True)
    assert text == ""
    assert [(name, flaw) for name, _raw, flaw in calls] == [("W", Flaw.UNCLOSED)]


def test_only_a_possible_tag_is_held_back() -> None:
    scanner = CallScanner()
    assert scanner.feed("hello wor") == [TextPiece("hello wor")]
    assert scanner.feed("ld <") == [TextPiece("ld ")]
    assert scanner.feed("t") == []
    assert scanner.feed("able>") == [TextPiece("<table>")]
    assert scanner.feed('<tool_call  name="A') == []
    assert scanner.feed('">') == []
    assert scanner.feed('{"a": "</tool_') == [CallPiece(0, "A", ""), CallPiece(0, "A", '{"a": "</tool_')]
    assert scanner.feed('"}</tool') == [CallPiece(0, "A", '"}')]
    assert scanner.feed("_call>.") == [TextPiece(".")]


def test_more_calls_than_allowed_end_in_one_refused_call() -> None:
    text, calls, _pieces = scan(tag("A", "{}") * (CALLS + 10) + "end")
    assert text == "end"
    assert len(calls) == CALLS + 1
    assert {flaw for _name, _raw, flaw in calls[:CALLS]} == {Flaw.NONE}
    assert calls[-1][2] is Flaw.TOO_MANY


@pytest.mark.parametrize("size", [65_536, 10**7])
def test_a_call_over_the_limit_is_refused_and_what_follows_is_parsed(size: int) -> None:
    reply = tag("A", '{"a": "' + "x" * (CALL_CHARACTERS + 5) + '"}') + tag("B", "{}")
    _text, calls, _pieces = scan(*(reply[at : at + size] for at in range(0, len(reply), size)))
    assert calls[0][2] is Flaw.TOO_LONG
    assert len(calls[0][1]) == CALL_CHARACTERS
    assert calls[1] == ("B", "{}", Flaw.NONE)


def test_deep_nesting_is_refused() -> None:
    deep = '{"a":' * (CALL_DEPTH + 1) + "1" + "}" * (CALL_DEPTH + 1)
    allowed = '{"a":' * CALL_DEPTH + "1" + "}" * CALL_DEPTH
    _text, calls, _pieces = scan(tag("A", deep) + tag("B", allowed))
    assert [flaw for _name, _raw, flaw in calls] == [Flaw.TOO_DEEP, Flaw.NONE]


_FRAGMENTS = st.sampled_from(
    [
        "<tool_call",
        ' name="A"',
        ">",
        "{",
        "}",
        '"',
        "\\",
        "</tool_call>",
        "`",
        "```",
        "\n",
        "~~~",
        "<",
        "a",
        " ",
        "[",
        "]",
        ":",
        "é",
        "\ud800",
    ]
)
_REPLIES = st.lists(_FRAGMENTS | st.text(max_size=4), max_size=40).map("".join)


def merged(pieces: list[Piece]) -> list[Piece]:
    """Adjacent pieces of one kind merged: only their boundaries may depend on how the text was split."""
    out: list[Piece] = []
    for piece in pieces:
        last = out[-1] if out else None
        if isinstance(piece, TextPiece) and isinstance(last, TextPiece):
            out[-1] = TextPiece(last.text + piece.text)
        elif isinstance(piece, CallPiece) and isinstance(last, CallPiece) and piece.position == last.position:
            out[-1] = CallPiece(piece.position, piece.name, last.fragment + piece.fragment)
        else:
            out.append(piece)
    return out


@given(reply=_REPLIES, cut=st.booleans(), data=st.data())
def test_every_split_into_pieces_gives_the_same(reply: str, cut: bool, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reply)), max_size=12)))
    pieces = [reply[start:end] for start, end in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    text, calls, out = scan(reply, cut=cut)
    assert scan(*pieces, cut=cut)[:2] == (text, calls)
    assert scan(*reply, cut=cut)[:2] == (text, calls)
    assert merged(scan(*pieces, cut=cut)[2]) == merged(out)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: "<tool_call" not in text))
def test_text_without_the_tag_is_unchanged(reply: str) -> None:
    assert scan(reply)[:2] == (reply, [])
