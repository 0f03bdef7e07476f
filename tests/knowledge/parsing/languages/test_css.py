"""Style sheets."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import docs, imports, project, read, relations, scopes

SOURCE = """
    @import "base.css";
    :root { --main: red; }
    /* The head. */
    .head > a:hover, #top { color: var(--main); background: url(x.png); }
    @media (max-width: 3px) { .a { color: red } }
    @keyframes spin { from { top: 0 } to { top: 1px } }
"""


def test_rules_variables_and_imports() -> None:
    found = read("a.css", SOURCE)
    assert [(type_, name) for type_, name, _start, _end in scopes(found)] == [
        ("rule", ":root"),
        ("variable", ":root.--main"),
        ("rule", ".head > a:hover, #top"),
        ("media", "@media (max-width: 3px)"),
        ("rule", "@media (max-width: 3px)..a"),
        ("keyframes", "@keyframes spin"),
    ]
    assert docs(found) == {".head > a:hover, #top": "The head."}
    assert imports(found) == [("./base.css", "", "")]
    assert relations(project({"a.css": SOURCE, "base.css": ""}), "imports") == {("a.css", "base.css"): 1.0}
