"""Streamed Markdown equals Markdown parsed at once, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it.renderer import RendererHTML

from atelier_desk.desktop.chat.markdown.plain_text import excerpt_line, one_line
from atelier_desk.markdown.parser import Block, MarkdownStream, markdown, parse

PIECES = st.sampled_from(
    [
        "word ", "two words", "\n", "\n\n", "# Title\n", "- item\n", "  - inner\n", "1. one\n", "> quote\n",
        "```python\n", "```\n",
        "code = 1\n", "**bold** ", "*it* ", "`x` ", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "---\n", "===\n",
        "    indented\n",
        "<b>raw</b> ", "$x_1$ ", "$$\n", "$$", "x = y\n", "- [ ] box\n",
        "```markdown\n", "> ```md\n", "[^1] ", "[^1]: note\n", "> [!NOTE]\n", "**「", "」**", "https://x.y/a_b ",
        "a<br>b ",
        "\\[\n", "\\]\n", "~~~\n", "![i](a.png) ", "[l](http://x.y) ", "é", "🚀 ",
    ]
)  # fmt: skip


def html(blocks: list[Block]) -> str:
    tokens = [token for block in blocks for token in block.tokens]
    parser = markdown()
    assert isinstance(parser.renderer, RendererHTML)
    for rule in ("math_inline", "math_block", "footnote"):
        if rule not in parser.renderer.rules:
            parser.add_render_rule(rule, lambda _renderer, tokens, i, *_: tokens[i].content)
    return parser.renderer.render(tokens, parser.options, {})


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join), st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_every_chunking_gives_the_same_blocks_as_the_complete_text(text: str, cuts: list[int]) -> None:
    stream, frozen, position, turn = MarkdownStream(), [], 0, 0
    while position < len(text):
        step = cuts[turn % len(cuts)]
        stream.feed(text[position : position + step])
        frozen += stream.advance()
        stream.open_blocks()
        position, turn = position + step, turn + 1
    frozen += stream.finish()
    assert html(frozen) == html(parse(text))


def test_finished_blocks_are_removed_from_the_tail() -> None:
    stream = MarkdownStream()
    stream.feed("First.\n\nSecond.\n\nThi")
    assert [block.kind for block in stream.advance()] == ["prose"]
    assert stream.tail == "Second.\n\nThi"


def test_a_reference_has_its_complete_address_in_any_chunking() -> None:
    stream, frozen = MarkdownStream(), []
    for letter in "[r]: http://example.com/a\n\nsee [r]\n\nand [r]":
        stream.feed(letter)
        frozen += stream.advance()
        stream.open_blocks()
    assert html(frozen + stream.finish()).count('href="http://example.com/a"') == 2


def test_open_code_shows_complete_lines_only() -> None:
    stream = MarkdownStream()
    stream.feed("```python\na = 1\nb =")
    assert stream.advance() == []
    (block,) = stream.open_blocks()
    assert (block.kind, block.language, block.text) == ("code", "python", "a = 1")


@pytest.mark.parametrize(
    ("pieces", "headings"),
    [
        (("- outer\n  ", "-", " ", "inner", "\n  - ", "other\n"), 0),
        (("1. outer\n   ", "-", " inner\n"), 0),
        (("> - outer\n>   ", "-", " inner\n"), 0),
        (("a paragraph\n", "-", " an item\n"), 0),
        (("a paragraph\n", "-", "-", "-", "\n"), 1),
        (("a paragraph\n", "=", "==", "\n"), 1),
        (("a paragraph\n", "---", "> an arrow\n"), 0),
        (("a | b\n", "---", " | ---\n", "1 | 2\n"), 0),
        (("x = 1\n", "=", " 2\n"), 0),
    ],
)
def test_an_unfinished_line_makes_no_heading_of_the_line_above(pieces: tuple[str, ...], headings: int) -> None:
    stream, shown = MarkdownStream(), []
    for piece in pieces:
        stream.feed(piece)
        frozen = stream.advance()
        shown.append(html([*frozen, *stream.open_blocks()]))
    assert all("<h" not in each for each in shown[:-1]), shown
    assert shown[-1].count("<h") == headings


def test_a_line_of_dashes_at_the_end_is_shown_once_the_text_is_complete() -> None:
    stream = MarkdownStream()
    stream.feed("a paragraph\n---")
    assert html(stream.open_blocks()) == "<p>a paragraph</p>\n"
    assert html(stream.finish()) == "<h2>a paragraph</h2>\n"


def test_math_keeps_its_underscores_and_prices_are_no_math() -> None:
    (block,) = parse("$a_1 * b_1$ costs $5 or $10")
    kinds = [child.type for child in block.tokens[1].children or []]
    assert kinds == ["math_inline", "text"]


def test_raw_html_stays_text() -> None:
    (block,) = parse("<script>x</script>")
    assert block.kind == "prose"
    assert "".join(child.content for child in block.tokens[1].children or []) == "<script>x</script>"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**bold** and `code`\n\n- one\n- two", "bold and code one two"),
        ("# Title\n| a | b |\n|---|---|\n| 1 | 2 |", "Title a b 1 2"),
        ("![a *cat*](cat.png) and [a link](https://x.y)", "a *cat* and a link"),
        ("```python\nx = 1\n```", "x = 1"),
        ("2 * 3 * 4 <b>x</b>", "2 * 3 * 4 <b>x</b>"),
        ("", ""),
    ],
)
def test_a_one_line_text_has_no_markdown_syntax(text: str, words: str) -> None:
    assert one_line(text) == words


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ("…old** words\n## Title\n- `item", "…old words Title item"),
        ("a *word* and 2 * 3 is **bo…", "a word and 2 * 3 is bo…"),
        ("…| a | b |\n| 1 | 2", "…a b 1 2"),
        ("whole and #tag", "whole and #tag"),
    ],
)
def test_an_excerpt_has_no_partial_markdown_syntax(cut: str, words: str) -> None:
    assert excerpt_line(cut) == words
