"""Formulas are recognized, prices are not, and task lists get boxes."""

from __future__ import annotations

import pytest

from atelier_desk.desktop.chat.markdown.plain_text import plain_text, spoken_text
from atelier_desk.markdown.math import body_of, is_math
from atelier_desk.markdown.parser import parse


def formulas(text: str) -> list[str]:
    found = []
    for block in parse(text):
        for token in block.tokens:
            found += [token.content] if token.type == "math_block" else []
            found += [child.content for child in token.children or [] if child.type == "math_inline"]
    return found


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "between $5 and $10/month, or $20-$30 a year",
        "from $1,000 to $2,500 (or 3$ less)",
        "US$5 and AU$7 and 5$ or 6$",
        "$5 million, and then $x",
        "set $HOME and $PATH, or $HOME/bin:$PATH",
        "the placeholder $name$ of a template",
        "$5 off (today only: 10$)",
        "a lone $ sign, a $$ too",
        "an escaped \\[bracket\\] in prose",
        "`$x^2$` in code",
        "\\$x^2\\$ escaped",
    ],
)
def test_prices_and_other_dollars_are_no_formulas(text: str) -> None:
    assert formulas(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so $x$ and $n-1$ and $f(x)$", ["$x$", "$n-1$", "$f(x)$"]),
        ("from $0$ to $3.14$, $a, b$", ["$0$", "$3.14$", "$a, b$"]),
        ("($\\alpha$) is $\\text{if it rains}$", ["$\\alpha$", "$\\text{if it rains}$"]),
        ("$E = mc^2$, which costs $5", ["$E = mc^2$"]),
        ("\\(a_1\\) and \\[b^2\\]", ["\\(a_1\\)", "\\[b^2\\]"]),
        ("text\n$$\na = b\n- c\n$$\nmore", ["$$\na = b\n- c\n$$"]),
        ("$$a$$ inside $$b$$ a line", ["$$a$$", "$$b$$"]),
        ("\\[\nx\n\\]", ["\\[\nx\n\\]"]),
        ("- item\n\n  $$y$$", ["$$y$$"]),
    ],
)
def test_formulas_are_recognized(text: str, expected: list[str]) -> None:
    assert formulas(text) == expected


def test_an_unclosed_block_does_not_include_the_rest() -> None:
    assert formulas("$$\nnever closed\n\nand more\n\n$$") == []


def test_math_delimiters_are_removed() -> None:
    found = [body_of(each) for each in ("$x$", "$$ x $$", "\\(x\\)", "\\[\nx\n\\]")]
    assert found == [("x", False), ("x", True), ("x", False), ("x", True)]


def test_task_boxes_are_moved_from_the_text_to_the_item() -> None:
    (block,) = parse("- [x] done\n- [ ] to **do**\n- [ ](link) no\n- [y] no\n")
    items = [token.meta.get("checked") for token in block.tokens if token.type == "list_item_open"]
    assert items == [True, False, None, None]
    assert (
        plain_text("- [x] done\n- [ ] to **do**\n\n1. one\n2. two\n   - in")
        == "- [x] done\n- [ ] to do\n\n1. one\n2. two\n  - in"
    )


def test_plain_and_spoken_text() -> None:
    text = (
        "# Title\n\nSome *words* and `code`, $x^2$.\n\n```python\na = 1\n```\n\n| a | b |\n|---|---|\n| **1** | 2 |\n"
    )
    assert plain_text(text) == "Title\n\nSome words and code, $x^2$.\n\na = 1\n\na\tb\n1\t2"
    assert "a = 1" not in spoken_text(text)


def test_a_very_long_word_is_parsed_only_once() -> None:
    assert not is_math("é" * 300_000)


def test_unclosed_formulas_are_not_searched_to_the_end_of_the_text() -> None:
    assert len(parse("\\[ a\n" * 5_000)) == 1
    assert len(parse("\\(" * 100_000)) == 1
    assert parse("\\[ a\n" + "+ b\n" * 50 + "\\]")[0].tokens[0].type == "math_block"
