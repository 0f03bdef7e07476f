"""Markdown: sections, links, pictures."""

from __future__ import annotations

from atelier_desk.knowledge.parsing.documents import markdown
from tests.knowledge.parsing.parse_helpers import read

SOURCE = """
    ---
    title: Front
    ---
    Before all.

    # One `code` *more*
    Text with [a link](b.md#part "t") and ![a cat](cat.png).

    ```
    # no heading
    ```

    ### Deep
    | a | b |
    |---|---|
    | [c](c.md) | d |

    Two
    ===
    <https://e.example/>
"""


def test_sections_are_nested_by_their_headings() -> None:
    found = read("a.md", SOURCE)
    assert (found.kind, found.language, found.lines) == ("document", "markdown", 20)
    assert [(each.title, each.level, each.parent, each.start_line, each.end_line) for each in found.sections] == [
        ("title: Front", 1, -1, 1, 5),
        ("One code more", 1, -1, 6, 12),
        ("Deep", 3, 1, 13, 17),
        ("Two", 1, -1, 18, 20),
    ]
    assert found.sections[1].text.startswith("Text with")
    assert "# no heading" in found.sections[1].text


def test_links_and_pictures_belong_to_their_sections() -> None:
    found = read("a.md", SOURCE)
    assert [(each.target, each.words, each.section, each.picture) for each in found.links] == [
        ("b.md#part", "a link", 1, False),
        ("cat.png", "a cat", 1, True),
        ("c.md", "c", 2, False),
        ("https://e.example/", "https://e.example/", 3, False),
    ]


def test_without_headings_paragraphs_are_grouped() -> None:
    found = read("a.md", "\n\n".join(f"Paragraph {number} " + "word " * 100 for number in range(20)))
    assert 3 <= len(found.sections) <= 10
    assert all(section.text for section in found.sections)
    assert found.sections[0].start_line == 1
    assert found.sections[-1].end_line == found.lines


def test_a_long_section_is_split() -> None:
    found = read("a.md", "# Long\n" + "word " * 30_000)
    assert [section.title for section in found.sections] == ["Long"] * len(found.sections)
    assert sum(len(section.text) for section in found.sections) >= 149_000
    assert max(len(section.text) for section in found.sections) <= 20_000


def test_of_a_huge_text_only_headings_are_read() -> None:
    found = markdown.read("# A [x](y)\n" + "[a](b) " * 40_000 + "\n## B\n")
    assert [section.title for section in found.sections if section.title.startswith("B")] == ["B"]
    assert found.links == []


def test_deeply_nested_quotes_and_brackets_are_parsed() -> None:
    for source in (">" * 20_000, "[" * 20_000, "![" * 10_000, "*a **b " * 5_000, "- " * 4_000 + "a", "![\n" * 20_000):
        assert markdown.read(source).kind == "document"
