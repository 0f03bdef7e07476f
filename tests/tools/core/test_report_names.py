"""Names of reports are plain file names."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.tools.core.report_names import name_from_text, report_name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("audit", "audit"),
        ("audit.md", "audit"),
        ("Audit.MD", "Audit"),
        ("  Été 2026 (v1.2)  ", "Été 2026 (v1.2)"),
        ("e\u0301te\u0301", "été"),
    ],
)
def test_plain_names_are_stored_without_their_extension(given: str, name: str) -> None:
    assert report_name(given) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        ".md",
        "../secret",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "C:\\x",
        ".hidden",
        "..",
        "nul",
        "COM1.txt",
        "a\x00b",
        "a\nb",
        "a\ud800b",
        "what?",
        "a*b",
        "x.",
        "x" * 129,
        "é" * 128,
    ],
)
def test_paths_and_names_that_file_systems_refuse_are_refused(name: str) -> None:
    if name == "é" * 128:
        assert len((name + ".md").encode()) > 255
    with pytest.raises(UsageError):
        report_name(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Market survey\n\nText", "Market survey"),
        ("\n\n**Bold start** of text", "Bold start of text"),
        ("# a/b: c?", "a b c"),
        ("", "spare"),
        ("...\n///\n", "spare"),
        ("# con", "spare"),
        ("word " * 50, ("word " * 12).strip()),
    ],
)
def test_a_name_is_made_from_the_heading(text: str, name: str) -> None:
    assert name_from_text(text, "spare") == name
