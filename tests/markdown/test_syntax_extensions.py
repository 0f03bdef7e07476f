"""Extensions of Markdown used by models are rendered; what only resembles them stays as written."""

from __future__ import annotations

import pytest

from atelier_desk.desktop.chat.markdown.plain_text import plain_text
from atelier_desk.markdown.parser import Block, MarkdownStream, parse
from atelier_desk.markdown.syntax_extensions import parser


def inline(text: str) -> list[tuple[str, str]]:
    """Type and content of every inline token; the content of a link is its address."""
    found = []
    for block in parse(text):
        for token in block.tokens:
            found += [(each.type, str(each.attrGet("href") or each.content)) for each in token.children or []]
    return found


def code(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if block.kind == "code"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see http://localhost:3000/ now", "http://localhost:3000/"),
        ("(https://example.com/a_(b))", "https://example.com/a_(b)"),
        ("https://example.com/a?b=1&c=2#d, then", "https://example.com/a?b=1&c=2#d"),
        ("**https://example.com/x**", "https://example.com/x"),
        ("见https://example.com/路径。后文", "https://example.com/%E8%B7%AF%E5%BE%84"),
        ("访问https://example.com查看", "https://example.com"),
        ("http://[::1]:8080/x.", "http://[::1]:8080/x"),
        ("see www.example.com.", "http://www.example.com"),
        ("(WWW.example.com:80/a_(b)?c#d)", "http://WWW.example.com:80/a_(b)?c#d"),
        ("见www.example.com。后文", "http://www.example.com"),
        ("Write to a.b+c@d-e.example.org.", "mailto:a.b+c@d-e.example.org"),
        ("_me@example.com_", "mailto:me@example.com"),
        ("| a |\n|---|\n| <br>me@example.com: |", "mailto:me@example.com"),
        ("mailto:me@example.com", "mailto:me@example.com"),
    ],
)
def test_a_bare_address_is_a_link(text: str, address: str) -> None:
    assert [each for kind, each in inline(text) if kind == "link_open"] == [address]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "README.md and main.py",
            "`https://example.com`",
            "ftp://example.com",
            "xhttps://example.com",
            "file:///etc",
            "https://",
        ),
        *("awww.example.com", "www.", "www..com", "file://www.example.com", "www.a.b_c", "`www.example.com`"),
        *("react@18.2.0 @types/node@20.1", "git@example.com:team/app.git", "a@b", "a@b.c@d.e", "a.b-c_@a.b-", "a@b.c_"),
    ],
)
def test_other_addresses_are_not_links(text: str) -> None:
    assert not [each for kind, each in inline(text) if kind == "link_open"]


@pytest.mark.parametrize("words", ["https://bank.example", "www.bank.example", "me@bank.example"])
def test_a_link_keeps_its_own_address(words: str) -> None:
    assert [each for kind, each in inline(f"[{words}](https://evil.example)") if kind == "link_open"] == [
        "https://evil.example"
    ]


def test_only_the_address_is_linked_and_no_word_is_lost() -> None:
    found = inline("a **www.example.com**, b@example.org and c@example.org!")
    words = ["a ", "www.example.com", ", ", "b@example.org", " and ", "c@example.org", "!"]
    assert [each for kind, each in found if kind == "text" and each] == words


@pytest.mark.parametrize(
    ("text", "bold"),
    [
        ("**注意：**正文", "注意："),
        ("含**「重点」**内容", "「重点」"),
        ("**日本語の文章（括弧付き）。**この文", "日本語の文章（括弧付き）。"),
        ("含**“重点”**内容", "“重点”"),
        ("这是**粗体**文字", "粗体"),
    ],
)
def test_bold_text_beside_cjk_punctuation(text: str, bold: str) -> None:
    kinds = inline(text)
    begin = kinds.index(("strong_open", ""))
    assert kinds[begin + 1] == ("text", bold)
    assert kinds[begin + 2][0] == "strong_close"


@pytest.mark.parametrize("text", ["foo**(bar)**baz", "2**3**4 and a ** b", "约** 多 **字"])
def test_emphasis_elsewhere_is_that_of_commonmark(text: str) -> None:
    from markdown_it import MarkdownIt

    plain = MarkdownIt("commonmark").parseInline(text)[0].children or []
    assert [kind for kind, _content in inline(text)] == [each.type for each in plain]


def test_a_line_break_in_a_cell_is_a_line_there_and_a_space_in_plain_text() -> None:
    text = "| a |\n|---|\n| one<br>two<BR />three |"
    assert [kind for kind, _content in inline(text)] == ["text", "text", "hardbreak", "text", "hardbreak", "text"]
    assert plain_text(text) == "a\none two three"


README = "```markdown\n# T\n```bash\nls\n```\nmore\n```\nafter"


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (README, ["# T\n```bash\nls\n```\nmore"]),
        ("- item\n  ```md\n  ```py\n  x\n  ```\n  ```\n- next", []),
        ("```md\n```py\nx\n```\nthe outer one was never closed", ["```py\nx"]),
        ("```python\n```bash\n```\nafter", ["```bash"]),
        ("````md\n```ruby\nputs 1\n```\n````\nafter", ["```ruby\nputs 1\n```"]),
        ("> ```md\n> ```py\n> x\n\nafter the quote", []),
    ],
)
def test_a_fence_in_a_fence(text: str, blocks: list[str]) -> None:
    assert code(parse(text)) == blocks


def test_a_streamed_fence_is_not_closed_early() -> None:
    stream, seen = MarkdownStream(), []
    for line in README.splitlines(keepends=True):
        stream.feed(line)
        seen += stream.advance()
        if not line.startswith("after"):
            assert len([*seen, *stream.open_blocks()]) == 1, line
    assert code(seen + stream.finish()) == ["# T\n```bash\nls\n```\nmore"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Water boils[^1].\n\n[^1]: At 100 °C.\n[^2]: note\nand more",
            "Water boils[1].\n\n[1] At 100 °C.\n\n[2] note and more",
        ),
        ("the pattern [^a-z]+ and [^x]", "the pattern [^a-z]+ and [^x]"),
        ("[^1](https://example.com)", "^1"),
        ("> [!NOTE]\n> Mind the gap.", "Note\nMind the gap."),
        ("> [!warning]\n>\n> Hot.", "Warning\nHot."),
        ("> [!NOTE] on the same line", "[!NOTE] on the same line"),
        ("> [!OTHER]\n> text", "[!OTHER] text"),
    ],
)
def test_footnotes_and_alerts_as_words(text: str, words: str) -> None:
    assert plain_text(text) == words


@pytest.mark.parametrize(
    "text",
    ["".join(f"{'  ' * level}- item {level}\n" for level in range(40)), "> " * 80 + "item 39"],
    ids=["lists", "quotes"],
)
def test_deeply_nested_text_is_not_lost(text: str) -> None:
    """The preset of CommonMark drops what is below 20 levels without a word."""
    tokens = parser().parse(text)
    assert "item 39" in " ".join(token.content for token in tokens)
