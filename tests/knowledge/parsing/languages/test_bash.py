"""Shell scripts."""

from __future__ import annotations

from tests.knowledge.parsing.parse_helpers import docs, imports, project, read, references, relations, scopes

SOURCE = """
    #!/usr/bin/env bash
    source "$(dirname "$0")/lib/util.sh"
    . ./more.sh
    LIMIT=3
    # Saves it.
    save() { helper "$1"; local x=$(other); }
    function helper { echo hi; }
    save 1
"""


def test_functions_calls_and_sources() -> None:
    found = read("a.sh", SOURCE)
    assert scopes(found) == [("variable", "LIMIT", 4, 4), ("function", "save", 6, 6), ("function", "helper", 7, 7)]
    assert docs(found) == {"save": "Saves it."}
    assert imports(found) == [("util.sh", "", ""), ("./more.sh", "", "")]
    assert references(found) >= {("save", "helper"), ("save", "other"), ("", "save")}


def test_relations_through_sources() -> None:
    found = relations(project({"bin/a.sh": SOURCE, "bin/more.sh": "other() { true; }\n"}), "calls")
    assert found.keys() >= {
        ("bin/a.sh:save", "bin/a.sh:helper"),
        ("bin/a.sh:save", "bin/more.sh:other"),
        ("bin/a.sh", "bin/a.sh:save"),
    }
