"""HTML: sections by headings, links, pictures, scripts."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import imports, project, read, relations, scopes

SOURCE = """
    <!doctype html>
    <html><head><title>T &amp; x</title><link rel=stylesheet href="a.css"><script src="./a.js"></script>\
<style>p{}</style></head>
    <body><p>Before.
    <h1 id="top">First &eacute;</h1>
    <p>Text one <a href="other.html#x">other</a> and <img src="p.png" alt="A cat">.</p>
    <h2>Second</h2><p>More</p>
    <script>var x = "<h1>no</h1>";</script>
    </body></html>
"""


def test_sections_links_and_elements_with_an_id() -> None:
    found = read("a.html", SOURCE)
    assert found.kind == "document"
    assert [(each.title, each.level, each.parent) for each in found.sections] == [
        ("T & x", 1, -1),
        ("First é", 1, -1),
        ("Second", 2, 1),
    ]
    assert "Text one other and ." in found.sections[1].text
    assert "no" not in found.sections[2].text
    assert [(each.target, each.words, each.section, each.picture) for each in found.links] == [
        ("a.css", "", 0, False),
        ("./a.js", "", 0, False),
        ("other.html#x", "other", 1, False),
        ("p.png", "", 1, True),
    ]
    assert imports(found) == [("./a.css", "", ""), ("./a.js", "", "")]
    assert scopes(found) == [("element", "top", 4, 4)]


def test_links_lead_to_files_and_headings() -> None:
    resolver = project({"a.html": SOURCE, "a.css": "", "a.js": "", "other.html": "<h1>x</h1>", "p.png.txt": ""})
    assert relations(resolver, "links_to") == {
        ("a.html:T & x", "a.css"): 1.0,
        ("a.html:T & x", "a.js"): 1.0,
        ("a.html:First é", "other.html:x"): 1.0,
    }
    assert len(resolver.of("a.html")) == 5
