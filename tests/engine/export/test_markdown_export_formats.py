"""Markdown exported to formats that other programs open."""

from __future__ import annotations

import re
import time
from io import BytesIO

import pytest
from docx import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH

from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.export.markdown_export_formats import exported
from atelier_desk.engine.export.markdown_to_html import page, part
from atelier_desk.workspace.documents.extraction_process import answer

TEXT = """# Title

Some **bold** *it* ~~gone~~ `code` [link](https://a.example/x) ![pic](https://evil.example/x.png) $x^2$ [^1] \
<script>alert(1)</script>

1. one
2. two
   - inner

     more

text

1. again

- [x] done

> quote

| a | b |
|---|---|
| 1 | **2** |

---

```python
print(1)
```

[x](javascript:alert(1)) \x07
"""


def test_a_word_document_has_styles_restarting_lists_and_tables() -> None:
    read = answer(exported(TEXT, "T\x07", "docx"), "docx", 1, 1, 10_000)["pages"][0]
    assert read == (
        "# Title\n\nSome bold it gone code [link](https://a.example/x) [pic] $x^2$ [1] <script>alert(1)</script>\n\n"
        "1. one\n2. two\n- inner\n\nmore\n\ntext\n\n1. again\n- ☒ done\n\nquote\n\n| a | b |\n| --- | --- |\n| 1 | 2 "
        "|\n\nprint(1)\n\n"
        "[x](javascript:alert(1))"
    )


def test_bold_italic_and_struck_words_are_formatted_runs() -> None:
    made = Document(BytesIO(exported(TEXT, "A title", "docx")))
    runs = {run.text: run for paragraph in made.paragraphs for run in paragraph.runs}
    assert (runs["bold"].bold, runs["it"].italic, runs["gone"].font.strike, runs["code"].font.name) == (
        True,
        True,
        True,
        "Consolas",
    )
    assert (made.core_properties.title, made.core_properties.author) == ("A title", "")
    assert [each.text for each in made.tables[0].rows[0].cells] == ["a", "b"]
    assert made.tables[0].rows[0].cells[0].paragraphs[0].runs[0].bold


def test_columns_of_a_table_keep_their_alignment() -> None:
    made = Document(BytesIO(exported("| a | b | c |\n|---|---:|:-:|\n| 1 | 2 | 3 |\n", "T", "docx")))
    for row in made.tables[0].rows:
        alignments = [cell.paragraphs[0].alignment for cell in row.cells]
        assert alignments == [None, WD_ALIGN_PARAGRAPH.RIGHT, WD_ALIGN_PARAGRAPH.CENTER]


def test_a_page_runs_no_script_and_loads_nothing() -> None:
    made = exported(TEXT, "<b>T</b>", "html").decode()
    assert "<script>" not in made
    assert 'href="javascript' not in made
    assert "evil.example" not in made
    assert "default-src 'none'" in made
    assert "<title>&lt;b&gt;T&lt;/b&gt;</title>" in made
    assert '<table border="1"' in made
    assert "<strong>bold</strong>" in made
    assert "<li>☒ done</li>" in made
    assert page("a", "b").count("<p>") == part("a").count("<p>") == 1


ELSEWHERE = [
    "smb://host/share",
    "ftp://host/x",
    "vscode://x",
    "ms-word:ofe|u|http://host/x",
    "//host/share",
    "\\\\host\\share",
]


@pytest.mark.parametrize("target", ELSEWHERE)
def test_only_web_and_mail_links_are_exported(target: str) -> None:
    made = part(f"[words]({target}) and [web](https://a.example/)")
    assert made.count("href=") == 1
    assert 'href="https://a.example/"' in made


FILES = ["attach=/etc/passwd", "attachment=/etc/passwd", "cc=c@d.example&amp;Attach=/etc/passwd"]


@pytest.mark.parametrize("fields", FILES)
@pytest.mark.parametrize("link", ["[write](mailto:a@b.example?{})", "<mailto:a@b.example?{}>"])
def test_a_mail_link_in_a_document_attaches_no_file(link: str, fields: str) -> None:
    text = link.format(fields)
    assert not re.findall("href=[^>]*passwd", exported(text, "T", "html").decode())
    made = Document(BytesIO(exported(text, "T", "docx")))
    links = [each.target_ref for each in made.part.rels.values() if each.is_external]
    assert len(links) == 1
    assert links[0].startswith("mailto:a@b.example")
    assert "passwd" not in links[0]
    assert exported(text, "T", "md").decode() == text


def test_markdown_is_unchanged() -> None:
    assert exported(TEXT, "T", "md").decode() == TEXT


@pytest.mark.parametrize(
    ("format", "says"), [("pdf", "only in Atelier's window. Use docx"), ("exe", "allowed: docx, html, md")]
)
def test_an_unknown_format_is_refused_with_the_known_ones(format: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        exported("a", "b", format)


@pytest.mark.parametrize(
    "text", ["", "\ud800", "| a |\n|---|", "- [ ] ", "> > > x", "1. - 2. x\n\n   y", "[^1]: x", "$$\nx"]
)
def test_no_text_makes_an_export_fail(text: str) -> None:
    for format in ("docx", "html", "md"):
        assert isinstance(exported(text, text, format), bytes)


def test_the_time_grows_in_proportion_to_the_length() -> None:
    def seconds(times: int) -> float:
        start = time.process_time()
        exported(TEXT * times, "T", "docx")
        return time.process_time() - start

    seconds(1)
    assert seconds(80) < 40 * max(seconds(8), 0.02)


def test_equal_links_of_a_document_share_one_address() -> None:
    made = Document(
        BytesIO(exported("[a](https://a.example) [b](https://b.example) [c](https://a.example)", "T", "docx"))
    )
    links = [each.target_ref for each in made.part.rels.values() if each.is_external]
    assert links == ["https://a.example", "https://b.example"]
    assert [each.address for each in made.paragraphs[0].hyperlinks] == [*links, links[0]]


def test_the_time_of_a_document_grows_in_proportion_to_its_links() -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        exported("\n\n".join(f"[a](https://a.example/{number})" for number in range(count)), "T", "docx")
        return time.process_time() - start

    seconds(1)
    assert seconds(2_000) < 16 * max(seconds(250), 0.02)
