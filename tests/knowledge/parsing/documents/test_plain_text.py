"""Other text: headings in several notations, otherwise paragraphs."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import read


def test_underlined_headings() -> None:
    found = read(
        "a.rst",
        """
        =====
        Title
        =====
        Intro, see `the site <https://a.example/b>`_ and https://c.example/d.

        Part
        ----
        Text.

        Point
        ~~~~~
        More.

        Other
        -----
        """,
    )
    assert [(each.title, each.level, each.parent, each.start_line) for each in found.sections] == [
        ("Title", 1, -1, 1),
        ("Part", 2, 0, 6),
        ("Point", 3, 1, 10),
        ("Other", 2, 0, 14),
    ]
    assert [(each.target, each.words, each.section) for each in found.links] == [
        ("https://a.example/b", "the site", 0),
        ("https://c.example/d", "", 0),
    ]


def test_numbered_and_marked_headings() -> None:
    found = read("a.txt", "1. First Part\n\ntext\n\n1.1 Inner Part\n\nmore\n\n2. Second Part\n\nend\n")
    assert [(each.title, each.level, each.parent) for each in found.sections] == [
        ("1. First Part", 1, -1),
        ("1.1 Inner Part", 2, 0),
        ("2. Second Part", 1, -1),
    ]
    assert [each.title for each in read("a.adoc", "= Title\n\ntext\n\n== Part\n\nmore\n").sections] == ["Title", "Part"]


def test_a_table_of_data_is_not_a_heading() -> None:
    found = read("a.csv", "name,size\n" + "a,1\n" * 2_000)
    assert [section.title for section in found.sections] == ["name,size"]
    assert found.lines == 2_001


def test_a_manifest_names_its_package() -> None:
    assert read("x/Cargo.toml", '[workspace]\n[package]\nedition = "2021"\nname = "a-b"\n').package == "a-b"
    assert read("go.mod", "module example.com/m\n\ngo 1.22\n").package == "example.com/m"
    assert read("package.json", '{\n  "name": "@me/x"\n}\n').package == "@me/x"
    assert read("other.toml", '[package]\nname = "a"\n').package == ""


def test_one_very_long_line_is_cut_into_sections() -> None:
    found = read("a.log", "x" * 100_000)
    assert len(found.sections) == 5
    assert "".join(section.text for section in found.sections) == "x" * 100_000
